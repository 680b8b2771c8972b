#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# spoor top on a real terminal (tmux's): what is seen is what the script counted, what keys do, how it ends, and what it does
# where there is no screen. tests/programs/top.sh BUILD [PART]
set -u
build=$(cd "${1:?usage: top.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(id -u)" != 0 ]; then
    echo "skip everything: needs root"
    exit 0
fi
for needed in tmux python3; do
    command -v "$needed" >/dev/null || { echo "skip everything: there is no $needed" && exit 0; }
done
. "$root/tests/programs/recording.bash"
begin_test top
compile_spdk spdk_writer
cp "$build/targets/calls" "$build/targets/objects" . || exit 1
python3 "$root/tests/programs/top.py" "$root" "$build" "${@:2}"
