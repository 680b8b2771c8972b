#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# --openmetrics: what a scraper reads is what the script counted, and nothing that a scraper, a disk or a key does harms the
# trace. tests/programs/openmetrics.sh BUILD [PART]
set -u
build=$(cd "${1:?usage: openmetrics.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "skip everything: there is no python3" && exit 0; }
. "$root/tests/programs/recording.bash"
begin_test openmetrics
cp "$build/targets/recording" . || exit 1
mkdir kept
SPOOR_TRACE_DIR=$dir/kept ./recording prog 500 2 0 1024 </dev/null >out || exit 1
mv "$(head -n 1 out)" kept.spoor || exit 1
python3 "$root/tests/programs/openmetrics.py" "$root" "$build" "${@:2}"
