#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# spoor serve: scripts come, change, fail and go while their metrics are read. tests/programs/serve.sh BUILD [PART]
set -u
build=$(cd "${1:?usage: serve.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "skip everything: there is no python3" && exit 0; }
[ "$(id -u)" = 0 ] || { echo "skip everything: needs root" && exit 0; }
. "$root/tests/programs/recording.bash"
begin_test serve
python3 "$root/tests/programs/serve.py" "$build" "${@:2}"
