#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A real program: a private PostgreSQL cluster under pgbench, looked at through the USDT probes of its server.
# What spoor counts must be what pgbench says it did. tests/programs/postgres.sh BUILD
set -u
build=$(cd "${1:?usage: postgres.sh BUILD}" && pwd) || exit 1
spoor=$build/spoor
transactions=300 clients=3

ok() { echo "ok $1"; }
not_ok() {
    echo "not ok $1"
    shift
    printf '  %s\n' "$@"
}
leave() { # every check of this program is left out
    echo "skip all: $1"
    exit 0
}

[ "$(id -u)" = 0 ] || leave "needs root"
server=$(ls -d /usr/lib/postgresql/*/bin/postgres /usr/bin/postgres 2>/dev/null | sort -V | tail -n 1)
[ -n "$server" ] || leave "PostgreSQL is not installed"
bin=$(dirname "$server")
pgbench=$(ls "$bin/pgbench" /usr/bin/pgbench 2>/dev/null | head -n 1)
[ -n "$pgbench" ] || leave "pgbench is not installed"
id postgres >/dev/null 2>&1 || leave "there is no user postgres"
"$spoor" -l "usdt:$server:*" 2>/dev/null | grep -q 'transaction__start\|transaction-start' || leave "this server was built without probes"

dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-postgres.XXXXXX") || exit 1
chown postgres "$dir"
as() { (cd "$dir" && exec setpriv --reuid postgres --regid postgres --init-groups env LC_ALL=C TZ=UTC "$@"); }
finish() {
    as "$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null 2>&1
    rm -rf "$dir"
}
trap finish EXIT

as "$bin/initdb" -D "$dir/data" --no-sync -A trust -U postgres >"$dir/initdb.log" 2>&1 || { cat "$dir/initdb.log" && exit 1; }
# No background work that has transactions of its own.
as "$bin/pg_ctl" -D "$dir/data" -w -l "$dir/log" \
    -o "-c listen_addresses='' -c unix_socket_directories='$dir' -c fsync=off -c autovacuum=off -c max_parallel_workers=0" \
    start >/dev/null 2>&1 || { cat "$dir/log" && exit 1; }
sql() { as "$bin/psql" -h "$dir" -U postgres -qAt -c "$1" postgres; }
bench() { as "$pgbench" -h "$dir" -U postgres "$@" postgres 2>&1; }
bench -i -q -s 1 >"$dir/init.log" || { cat "$dir/init.log" && exit 1; }

# trace SCRIPT COMMAND…: runs the command while the script traces; its output is in $dir/traced, the command's in $dir/said.
trace() {
    local script=$1 tracer
    shift
    : >"$dir/errors" # of the trace before it
    "$spoor" -o "$dir/traced" -e "$script" 2>"$dir/errors" &
    tracer=$!
    while :; do
        grep -q '^Attached' "$dir/errors" && break
        kill -0 $tracer 2>/dev/null || break
        sleep 0.05
    done
    "$@" >"$dir/said" 2>&1
    kill -INT $tracer 2>/dev/null
    wait $tracer
}
value() { sed -n "s/^$1: //p" "$dir/traced"; }

# 1. Every transaction of pgbench, and its time.
trace "usdt:$server:transaction__start { @started = count(); @begin[pid] = nsecs; }
usdt:$server:transaction__commit { @committed = count(); }
usdt:$server:transaction__commit /@begin[pid]/ { @us = hist((nsecs - @begin[pid]) / 1000); delete(@begin, pid); }
usdt:$server:transaction__abort { @aborted = count(); }" \
    bench -n -c $clients -j 1 -t $((transactions / clients))
processed=$(sed -n 's|^number of transactions actually processed: \([0-9]*\)/.*|\1|p' "$dir/said")
[ "$processed" = $transactions ] && ok "pgbench ran $transactions transactions" || not_ok "pgbench" "$(cat "$dir/said")"
# pgbench asks the server some questions of its own before the load, each a transaction.
extra=$(($(value @committed) - processed))
[ "$extra" -ge 0 ] && [ "$extra" -le 20 ] && ok "commits are counted: pgbench's and $extra of its questions" ||
    not_ok "commits" "pgbench processed $processed, spoor counted $(value @committed)" "$(cat "$dir/errors")"
[ "$(value @started)" = "$(value @committed)" ] && ok "as many transactions begin as end" ||
    not_ok "starts" "started $(value @started), committed $(value @committed)"
rows=$(awk '/^@us:/ { on = 1; next } on && /\|/ { sub(/^.*[)\]]/, ""); n += $1 } END { print n + 0 }' "$dir/traced")
[ "$rows" = "$(value @committed)" ] && ok "the histogram of latencies holds every transaction" ||
    not_ok "histogram" "its rows add up to $rows, not $(value @committed)" "$(cat "$dir/traced")"

# 2. The same, exactly: only the processes' transactions that update the branches, told by the text of their queries.
trace "usdt:$server:query__start /strncmp(str(arg0), \"UPDATE pgbench_branches\", 23) == 0/ { @updates = count(); }
usdt:$server:query__start /strncmp(str(arg0), \"SELECT abalance\", 15) == 0/ { @selects = count(); }
usdt:$server:query__start { @words[str(arg0, 7)] = count(); }" \
    bench -n -c $clients -j 1 -t $((transactions / clients))
[ "$(value @updates)" = $transactions ] && [ "$(value @selects)" = $transactions ] &&
    ok "each transaction's queries are counted by their text" ||
    not_ok "query text" "updates $(value @updates), selects $(value @selects), of $transactions" "$(cat "$dir/traced" "$dir/errors")"

# 3. Query text as it was sent, whole.
trace "usdt:$server:query__start { printf(\"query %s\\n\", str(arg0)); }" sql "SELECT 'spoor was here', 40 + 2"
grep -qxF "query SELECT 'spoor was here', 40 + 2" "$dir/traced" && ok "query text is printed whole" ||
    not_ok "query text" "$(cat "$dir/traced" "$dir/errors")"

# 4. Somebody waits for a lock: one row, two transactions.
wait_for_lock() {
    local locks="pg_locks WHERE relation = 'pgbench_branches'::regclass AND mode = 'RowExclusiveLock'"
    sql "BEGIN; UPDATE pgbench_branches SET bbalance = 1;
        DO \$\$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_locks WHERE NOT granted) LOOP PERFORM pg_sleep(0.01); END LOOP; END \$\$;
        SELECT pg_sleep(0.1); COMMIT;" &
    until [ "$(sql "SELECT count(*) FROM $locks")" -gt 0 ]; do sleep 0.02; done
    sql "UPDATE pgbench_branches SET bbalance = 2"
    wait $!
}
trace "usdt:$server:lock__wait__start { @waits = count(); @since[pid] = nsecs; }
usdt:$server:lock__wait__done /@since[pid]/ { @longest_ms = max((nsecs - @since[pid]) / 1000000); delete(@since, pid); }" wait_for_lock
waited=$(value @longest_ms)
[ "$(value @waits)" -ge 1 ] 2>/dev/null && [ "${waited:-0}" -ge 50 ] && ok "a lock wait is seen, $waited ms long" ||
    not_ok "lock waits" "waits $(value @waits), longest ${waited:-none} ms" "$(cat "$dir/traced" "$dir/errors")"

# 5. Debian's server has no frame pointers: its stacks, of processes that were started meanwhile, reach its beginning.
if "$spoor" --info 2>/dev/null | grep -q '^ *loop  *yes' && "$spoor" --info 2>/dev/null | grep -q '^ *btf  *yes' && [ "$(uname -m)" = x86_64 ]; then
    trace "usdt:$server:query__start,usdt:$server:transaction__commit { @[dw_ustack] = count(); }" bench -n -c $clients -C -j 1 -t 5
    stacks=$(grep -c '^@\[' "$dir/traced") whole=$(grep -c '^ *_start+' "$dir/traced")
    [ "$stacks" -ge 5 ] && [ "$stacks" = "$whole" ] && ok "stacks are whole without frame pointers: $stacks" ||
        not_ok "stacks" "$whole of $stacks are whole" "$(grep -B1 '^]' "$dir/traced" | head -n 40)" "$(cat "$dir/errors")"
else
    echo "skip stacks: dw_ustack needs x86_64, bpf_loop and BTF"
fi

# 6. The same script in bpftrace counts the same.
if ! command -v bpftrace >/dev/null; then
    echo "skip bpftrace: not installed"
elif ! timeout 3 "$spoor" -q -e 'tracepoint:syscalls:sys_enter_getpid { } interval:ms:1 { exit(); }' >/dev/null 2>&1; then
    echo "skip bpftrace: it needs perf events, which this kernel does not give"
else
    timeout -s INT 60 bpftrace -e "usdt:$server:transaction__commit { @committed = count(); }" >"$dir/peer" 2>&1 &
    peer=$!
    for _ in $(seq 200); do
        grep -q '^Attaching' "$dir/peer" && break
        sleep 0.05
    done
    sleep 1
    trace "usdt:$server:transaction__commit { @committed = count(); }" bench -n -c $clients -j 1 -t $((transactions / clients))
    kill -INT $peer
    pkill -INT -P $peer 2>/dev/null
    wait $peer
    theirs=$(sed -n 's/^@committed: //p' "$dir/peer")
    [ "$theirs" = "$(value @committed)" ] && ok "bpftrace counts the same" ||
        not_ok "bpftrace" "it counted $theirs, spoor $(value @committed)" "$(tail -n 5 "$dir/peer")"
fi
