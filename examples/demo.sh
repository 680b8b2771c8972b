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
trap 'kill $demo 2>/dev/null' EXIT
echo "\$ $build/examples/demo &"
echo "\$ $build/spoor $here/demo.bt $build/examples/demo"
echo
"$build/spoor" "$here/demo.bt" "$build/examples/demo"
