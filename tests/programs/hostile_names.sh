#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A terminal is not commanded by what is traced: whatever others can name is named with escapes, line breaks and marks that turn
# the direction of text, and each command is run on a terminal. JSON has none of them wherever it goes.
#   tests/programs/hostile_names.sh BUILD
set -u
build=$(cd "${1:?usage: hostile_names.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(id -u)" != 0 ]; then
    echo "skip everything: needs root"
    exit 0
fi
if ! command -v python3 >/dev/null; then
    echo "skip everything: there is no python3"
    exit 0
fi
dir=$(mktemp -d /tmp/spoor-names.XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
. "$root/tests/programs/recording.bash"
compile_spdk spdk_writer
cp "$build/targets/hostile_names" names || exit 1
unset SPOOR_TRACE SPOOR_TRACE_DIR
./spdk_writer "spoor_names_$$" 20 0 </dev/null >out || exit 1
mv "$(head -n 1 out)" spdk || exit 1
mkdir work && cd work || exit 1
python3 "$root/tests/programs/hostile_names.py" "$root" "$build/spoor" ../names ../spdk
