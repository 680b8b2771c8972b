#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Counts that agree over the whole way: probes, system calls, tracepoints and the recorder fire at drawn rates on all CPUs, tracer,
# traced and reader stand still now and then, rings, maps and disks are full; what was delivered and what was told as lost is
# what was fired. Each trace is drawn from a seed, which its failure names.
#   tests/programs/counts.sh BUILD [SECONDS [SEED]]
set -u
build=$(cd "${1:?usage: counts.sh BUILD [SECONDS [SEED]]}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "${4:-}" != inside ]; then
    [ "$(id -u)" = 0 ] || { echo "skip everything: needs root"; exit 0; }
    unshare -m true 2>/dev/null || { echo "skip everything: no mount namespace of its own"; exit 0; }
    exec unshare -m --propagation private bash "$0" "$build" "${2:-6}" "${3:-1}" inside
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-counts.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
mkdir small rings
mount -t tmpfs -o size=1200k none rings || exit 1
mount -t tmpfs -o size=256k none small || exit 1
cp "$build/targets/counts" .
unset SPOOR_HOST SPOOR_TRACE SPOOR_TRACE_DIR
python3 "$root/tests/programs/counts.py" "$build" "$2" "$3"
status=$?
umount small rings
exit $status
