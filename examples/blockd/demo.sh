#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A block server that records, a real NBD client, and what spoor makes of it: examples/blockd/demo.sh BUILD
# Shows the last requests as they went through both layers, the latencies, and the three slowest with their stories.
set -u
build=$(cd "${1:-build}" && pwd) || exit 1
for tool in nbdcopy qemu-io; do
    command -v $tool >/dev/null || { echo "examples/blockd/demo.sh: $tool is missing: tools/setup check installs it" >&2 && exit 1; }
done
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-demo.XXXXXX") || exit 1
server=
finish() {
    [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null
    rm -rf "$dir"
}
trap finish EXIT
show() {
    echo
    echo "\$ $1"
    shift
    "$@"
}

SPOOR_TRACE_DIR=$dir "$build/examples/blockd" --socket "$dir/nbd" --memory disk:8M --threads 2 --trace all >"$dir/log" 2>&1 &
server=$!
for _ in $(seq 100); do
    [ -S "$dir/nbd" ] && break
    sleep 0.05
done
echo "\$ blockd --socket nbd --memory disk:8M --threads 2 --trace all &"
address="nbd+unix:///disk?socket=$dir/nbd"
head -c 8M /dev/urandom >"$dir/image"
show "nbdcopy image 'nbd+unix:///disk?socket=nbd'" nbdcopy "$dir/image" "$address" || exit 1
show "qemu-io -f raw -c 'read 0 64k' -c 'write 64k 4k' -c flush 'nbd+unix:///disk?socket=nbd'" \
    qemu-io -f raw -c 'read 0 64k' -c 'write 64k 4k' -c flush "$address" || exit 1
recording=$(ls "$dir"/*.spoor | head -n 1)
show "spoor report -f ${recording##*/} | tail -n 24" bash -c "'$build/spoor' report --width 160 -f '$recording' | tail -n 24"
show "spoor report -f ${recording##*/} --stats" "$build/spoor" report --width 160 -f "$recording" --stats
show "spoor report -f ${recording##*/} --slowest 3 tcp_request" "$build/spoor" report --width 160 -f "$recording" --slowest 3 tcp_request
