#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tracing what does not hold still: programs that start, fork, execute others, open libraries and end while probes are put
# into them and taken away; processes that end just when they are asked for; thousands of probes at once.
#   tests/programs/churn.sh BUILD
set -u
build=$(cd "${1:?usage: churn.sh BUILD}" && pwd) || exit 1
if [ "$(id -u)" != 0 ]; then
    echo "skip everything: needs root"
    exit 0
fi
spoor=$build/spoor
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-churn.XXXXXX") || exit 1
tracer=
trap 'touch "$dir/stop" 2>/dev/null; [ -z "$tracer" ] || kill -KILL $tracer 2>/dev/null; wait; rm -rf "$dir"' EXIT
cp "$build/targets/opens" "$build/targets/greeter.so" "$dir"
cd "$dir" || exit 1

check() { # NAME COMMAND…
    local name=$1
    shift
    if "$@"; then echo "ok $name"; else echo "not ok $name" && tail -n 5 err; fi
}

# ---- attaching and detaching beneath running programs ----
churn() { # programs one after the other, until `stop` is there; writes how many did not end as they should
    local bad=0
    while [ ! -e stop ]; do ./opens ./greeter.so 3 >/dev/null 2>&1 || bad=$((bad + 1)); done
    echo $bad >"bad.$1"
}
churn 1 &
churn 2 &
rounds=12 good=0 hits=0
for ((i = 0; i < rounds; i++)); do
    timeout 60 "$spoor" -q --duration 10s -e 'usdt:./greeter.so:greeter:greet { @greets++; if (@greets > 20) { exit(); } }
        uprobe:./opens:main { @mains = count(); } uretprobe:./greeter.so:greeter_greet { @returns = count(); }
        tracepoint:sched:sched_process_exit { @ends = count(); }' >out 2>err </dev/null && good=$((good + 1))
    [ "$(sed -n 's/^@greets: //p' out)" -gt 20 ] && hits=$((hits + 1))
done
check "attached and detached $rounds times beneath running programs" [ $good = $rounds ]
check "and saw them each time" [ $hits = $rounds ]

# Processes that end when they are asked for: a trace or a clear error, never anything else.
odd=0
for ((i = 0; i < 12; i++)); do
    ./opens ./greeter.so 1 >/dev/null &
    victim=$!
    timeout 60 "$spoor" -q -p $victim -e 'usdt:./greeter.so:greeter:greet { @ = count(); } uprobe:./opens:main { }' >out 2>err </dev/null
    status=$?
    [ $status = 0 ] || { [ $status = 1 ] && grep -q ERROR err; } || odd=$((odd + 1))
    wait $victim || odd=$((odd + 1))
done
check "processes that end while they are attached to" [ $odd = 0 ]
touch stop
wait
check "no program was disturbed" [ "$(cat bad.*)" = "0
0" ]

# ---- nothing is missed of what is followed ----
cat >family <<'END'
for i in 1 2 3 4 5 6 7 8 9 10; do
    ./opens ./greeter.so 2 &
    (./opens ./greeter.so 1; exec ./opens ./greeter.so 1)
done
wait
END
timeout 120 "$spoor" -q --follow -c 'sh family' -e 'usdt:./greeter.so:greeter:greet { @ = count(); }' >out 2>err </dev/null
check "all of a family that forks and executes is seen" [ "$(sed -n 's/^@: //p' out)" = 40 ]

# ---- thousands of probes ----
{
    for i in $(seq 3000); do echo "__attribute__((noinline, noipa)) void many_$i(void) { __asm__ volatile(\"\"); }"; done
    echo 'int main(void) {'
    for i in $(seq 3000); do echo "many_$i();"; done
    echo 'return 0; }'
} >many.c
${CC:-gcc} -O0 -o many many.c
timeout 120 "$spoor" -q -c ./many -e 'uprobe:./many:many_* { @ = count(); @each[probe] = count(); }
    end { printf("%d\n", len(@each)); clear(@each); }' >out 2>err </dev/null
check "3000 probes" [ "$(sed -n 's/^@: //p' out)" = 3000 -a "$(grep -c '^3000$' out)" = 1 ]
"$spoor" -e 'uprobe:./many:many_* { @ = count(); }' >out 2>err </dev/null &
tracer=$!
# While it compiles or attaches, but not before it takes signals (by a descriptor, so they are blocked): a shell's child in
# the background ignores this one.
listens() { [ "$(cat /proc/$1/comm)" = spoor ] && grep -q '^SigBlk:.*[2367abef]$' /proc/$1/status; }
until listens $tracer || [ ! -e /proc/$tracer ]; do :; done
kill -INT $tracer
check "Ctrl-C at the beginning" timeout 60 tail --pid=$tracer -f /dev/null
