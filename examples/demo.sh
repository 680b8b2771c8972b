#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Starts the example program and traces it for some seconds: examples/demo.sh BUILD
set -u
here=$(dirname "$0")
build=${1:-build}
if [ "$(id -u)" != 0 ]; then
    echo "examples/demo.sh: tracing needs root. Run: sudo $0 $build" >&2
    exit 1
fi
"$build/examples/demo" &
demo=$!
script=$here/demo.bt rest=
trap 'kill $demo 2>/dev/null; rm -f "$rest"' EXIT
# Where the kernel's tracepoints cannot be reached the rest of the script still can.
why=$("$build/spoor" --check -e 'tracepoint:syscalls:sys_enter_pwrite64 { }' 2>&1)
if [ -n "$why" ]; then
    printf '%s\n' "$why" | grep -E 'ERROR|WARNING|HINT' >&2
    echo "examples/demo.sh: going on without the tracepoint of the script" >&2
    rest=$(mktemp --suffix=.bt) && sed '/^tracepoint:/,/^}/d' "$script" >"$rest" && script=$rest
fi
echo "\$ $build/examples/demo &"
echo "\$ $build/spoor $script $build/examples/demo"
echo
"$build/spoor" "$script" "$build/examples/demo"
