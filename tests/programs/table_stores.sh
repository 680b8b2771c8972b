#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The statements of docs/fleet.md, in DuckDB and in ClickHouse, over ten recordings: the answers are those of report --stats.
#   tests/programs/table_stores.sh BUILD
set -u
build=$(cd "${1:?usage: table_stores.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "skip everything: there is no python3" && exit 0; }
if [ ! -e "$build/libspoor.a" ]; then
    echo "skip everything: $build/libspoor.a is not built"
    exit 0
fi
. "$root/tests/programs/recording.bash"
begin_test stores
export SPOOR_TRACE_DIR=$dir LC_ALL=C.UTF-8
cp "$build/targets/recording" . || exit 1
machine=(unshare --uts)
[ "$(id -u)" = 0 ] || machine+=(--map-root-user)
"${machine[@]}" true 2>/dev/null || { echo "skip everything: no namespace can be made here" && exit 0; }
for host in 0 1 2 3 4 5 6 7 8 9; do
    # Each on a machine of its own, as far as names go.
    "${machine[@]}" sh -c 'echo "$0" >/proc/sys/kernel/hostname && exec "$@"' web$host \
        ./recording prog $((100 + 70 * host)) 2 0 $([ $host != 3 ] || echo 64) </dev/null >out || exit 1
    mv "$(head -n 1 out)" web$host.spoor || exit 1
    "$build/spoor" report --stats -j web$host.spoor >web$host.stats 2>>notes || exit 1
done
PATH=$build:$PATH python3 "$root/tests/programs/table_stores.py" "$root/docs/fleet.md"
