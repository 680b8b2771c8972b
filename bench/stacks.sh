#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Naming the stacks of PostgreSQL: bench/stacks.sh TRACER OUTPUT. TRACER is spoor's path or bpftrace. A private server
# serves 4 clients that connect anew for each of 34 transactions, so that each stack is that of another process, most
# of which have ended when the stacks are printed: about 100,000 keys. Prints: seconds from the interrupt to the end,
# peak memory in KB, keys, frames, frames without a name. BENCH_TRANSACTIONS of each client, BENCH_SECONDS to wait for
# the end.
set -u
tracer=${1:?usage: stacks.sh TRACER OUTPUT} output=${2:?usage: stacks.sh TRACER OUTPUT}
server=$(ls -d /usr/lib/postgresql/*/bin/postgres /usr/bin/postgres 2>/dev/null | sort -V | tail -n 1)
[ -n "$server" ] && id postgres >/dev/null 2>&1 || exit 77
bin=$(dirname "$server")
pgbench=$(ls "$bin/pgbench" /usr/bin/pgbench 2>/dev/null | head -n 1)
[ -n "$pgbench" ] || exit 77
dir=$(mktemp -d /tmp/spoor-stacks.XXXXXX) || exit 1
chown postgres "$dir"
as() { (cd "$dir" && exec setpriv --reuid postgres --regid postgres --init-groups env LC_ALL=C TZ=UTC "$@"); }
finish() {
    as "$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null 2>&1
    rm -rf "$dir"
}
trap finish EXIT
as "$bin/initdb" -D "$dir/data" --no-sync -A trust -U postgres >/dev/null 2>&1 || exit 1
as "$bin/pg_ctl" -D "$dir/data" -w -l "$dir/log" -o "-c listen_addresses='' -c unix_socket_directories='$dir' -c fsync=off -c autovacuum=off" \
    start >/dev/null 2>&1 || exit 1
as "$pgbench" -h "$dir" -U postgres -i -q -s 1 postgres >/dev/null 2>&1 || exit 1

export BPFTRACE_MAP_KEYS_MAX=400000 SPOOR_MAX_MAP_KEYS=400000
env -u SPOOR_SHOW_DEBUG_INFO "$tracer" -e "uprobe:$server:palloc { @[ustack] = count(); }" >"$output" 2>"$dir/errors" &
pid=$!
for _ in $(seq 200); do
    cat "$output" "$dir/errors" | grep -q '^Attach' && break
    sleep 0.05
done
sleep 1
as "$pgbench" -h "$dir" -U postgres -n -C -c 4 -j 1 -t "${BENCH_TRANSACTIONS:-34}" postgres >/dev/null 2>&1
begin=$(date +%s%N)
kill -INT $pid
peak=0
while kill -0 $pid 2>/dev/null && [ $((($(date +%s%N) - begin) / 1000000000)) -lt "${BENCH_SECONDS:-300}" ]; do
    now=$(awk '/^VmHWM/ { print $2 }' /proc/$pid/status 2>/dev/null)
    [ "${now:-0}" -gt $peak ] && peak=$now
    sleep 0.02
done
end=$(date +%s%N)
kill -KILL $pid 2>/dev/null
wait $pid 2>/dev/null
awk -v ns=$((end - begin)) -v peak=$peak '/^@\[/ { keys++ } /^ +[^ ]/ { frames++ } /^ +0x/ { unnamed++ }
    END { printf "%.2f %d %d %d %d\n", ns / 1e9, peak, keys, frames, unnamed }' "$output"
