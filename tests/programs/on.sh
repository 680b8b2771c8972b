#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# spoor --on: ten machines, each a network namespace with an sshd of its own. tests/programs/on.sh BUILD [PART]
set -u
build=$(cd "${1:?usage: on.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
for command in python3 ssh ssh-keygen ip unshare sudo; do
    command -v $command >/dev/null || { echo "skip everything: there is no $command" && exit 0; }
done
[ -x /usr/sbin/sshd ] || { echo "skip everything: there is no sshd" && exit 0; }
[ "$(id -u)" = 0 ] || { echo "skip everything: needs root" && exit 0; }
unshare --net --mount true 2>/dev/null || { echo "skip everything: no namespaces can be made here" && exit 0; }
nm "$build/spoor" 2>/dev/null | grep -q __asan_init && { echo "skip everything: sanitizers are shared libraries" && exit 0; }
make -s -C "$root" BUILD="$build" static >/dev/null 2>&1 || { echo "not ok the static program is linked" && exit 1; }
. "$root/tests/programs/recording.bash"
begin_test on
# Processes, network and mounts are of namespaces of their own, so that nothing is left behind.
unshare --net --mount --pid --fork --kill-child python3 "$root/tests/programs/on.py" "$build" "${@:2}"
