#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A tracer and its children take hardly more memory at the end than early on.
#   tests/programs/soak.sh BUILD [MINUTES]
# With MINUTES: at most 10 % more than in minute 5, or in the first third where that is earlier; each minute is told, or each third
# of the time. It begins when as many processes have come and gone as may be known. Without: memory is not looked at, for some seconds.
#
# Meanwhile a program calls a function without a pause; short processes come and go, some of programs and libraries that are written
# anew each time, and fire probes; keys come and go, stacks and texts are kept, printed and thrown away; a process opens and closes a
# library, and records objects that begin and end, from threads that come and go; others record and end. Five tracers look on:
#   every     keeps all of its output, in files of limited size; every line and every hit is counted
#   newest    keeps its newest files only, has a limit of memory, and ends by --duration, where there are MINUTES
#   later     waits for libraries that a process opens
#   mixed     reads its recording and the kernel
#   replayed  reads its recording alone
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: soak.sh BUILD [MINUTES]}" && pwd) || exit 1
minutes=${2:-}
spoor=$build/spoor
[ "$(id -u)" = 0 ] || { echo "skip everything: needs root"; exit 0; }
WARM=0 PERIOD=4 PERIODS=1 BASE=1 LOOKS=4 MOST= # percent
if [ -n "$minutes" ]; then
    WARM=60000 # processes: more than are known
    PERIODS=$((minutes > 3 ? minutes : 3)) BASE=$((minutes / 3)) MOST=10
    PERIOD=$((minutes * 60 / PERIODS))
    [ $BASE -le 5 ] || BASE=5
    [ $BASE -ge 1 ] || BASE=1
fi
LIMIT=256M
# Sanitizers keep what was freed, and take all addresses that there are: with them it is the counts that are checked.
if [ ! -e "$build/gen/hardening.mk" ]; then
    MOST= LIMIT=
    export ASAN_OPTIONS=detect_leaks=0
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-soak.XXXXXX") || exit 1
names=(every newest later mixed replayed)
declare -A tracer=() early=() now=()
storm= lives= churn=()
# shellcheck disable=SC2317,SC2086 # called by the trap; numbers
finish() {
    touch "$dir/stop"
    kill -KILL $storm $lives "${tracer[@]}" 2>/dev/null
    wait
    rm -rf "$dir"
}
trap finish EXIT
cp "$build/targets/storm" "$build/targets/opens" "$build/targets/greeter.so" "$dir"
cd "$dir" || exit 1
# shellcheck disable=SC2086
${CC:-gcc} -std=gnu11 -D_GNU_SOURCE -O2 -g -I"$root/include" -o soak "$root/tests/programs/soak.c" "$build/libspoor.a" -lpthread \
    ${SAN:+-fsanitize=address,undefined} || exit 1
export SPOOR_TRACE_DIR=$dir SPOOR_MISSING_PROBES=ignore
cat >every.bt <<'END'
uprobe:./storm:storm_call { @hits = count(); @sum = sum(arg0); @by[arg0 % 4000] = count(); @living[arg0] = arg0; if (arg0 >= 1000) { delete(@living, arg0 - 1000); } }
usdt:./greeter.so:greeter:greet { @greets = count(); @pids[pid, str(arg0)] = arg1; @stacks[ustack(5)] = count(); printf("greeted %d %s\n", pid, str(arg0)); }
interval:s:1 { print(@stacks, 3); clear(@stacks); clear(@pids); clear(@by); }
end { printf("living %d\n", len(@living)); clear(@living); }
END
cat >newest.bt <<'END'
usdt:./greeter.so:greeter:greet { @stacks[ustack(), comm] = count(); @last[pid] = nsecs; }
tracepoint:syscalls:sys_enter_exit_group /comm == "fresh"/ { @ends[ustack()] = count(); }
interval:ms:500 { print(@stacks); print(@last, 100); print(@ends, 10); clear(@stacks); clear(@last); clear(@ends); }
END
cat >later.bt <<'END'
usdt:*:greet { @greets[probe] = count(); @stacks[ustack(4)] = count(); if (arg1 % 200 == 0) { print(@stacks); clear(@stacks); } }
usdt:*:no_such_probe, usdt:*:nor_this { @never[probe] = count(); }
END
cat >mixed.bt <<'END'
trace:soak:STEP_BEGIN { @begun[owner_name] = count(); @seen[object] = nsecs; }
trace:soak:STEP_END { @lives = hist(lifetime); delete(@seen, object); }
usdt:./greeter.so:greeter:greet { @greets[ustack(4)] = count(); }
interval:s:1 { print(@begun, 3); print(@greets); clear(@begun); clear(@greets); clear(@seen); }
END
cat >replayed.bt <<'END'
trace:soak:STEP_BEGIN { @begun[owner_name, args.text] = count(); }
trace:soak:STEP_END { @lives[args.n % 10] = hist(lifetime); }
interval:s:1 { print(@begun, 3); clear(@begun); print(@lives); clear(@lives); }
END

ok=0
check() { # NAME CONDITION…
    local name=$1
    shift
    if [ "$@" ]; then echo "ok $name"; else
        echo "not ok $name"
        ok=1
        return 1
    fi
}
trace() { # NAME OPTION…
    local name=$1
    shift
    "$spoor" "$@" "$name.bt" 2>"$name.err" 7>&- 8>&- 9<&- &
    tracer[$name]=$!
    until grep -qs '^Attached' "$name.err"; do
        kill -0 "${tracer[$name]}" 2>/dev/null || { cat "$name.err"; echo "not ok $name begins"; exit 1; }
        sleep 0.05
    done
}
end() { # NAME [SIGNAL]
    [ -z "${2:-}" ] || kill -"$2" "${tracer[$1]}"
    wait "${tracer[$1]}"
    local status=$?
    unset "tracer[$1]"
    check "$1 ends as it should" $status = 0
}
forks() { sed -n 's/^processes //p' /proc/stat; }
resident() { # PID: a line of each process, it and its children: what it has resident, in kB
    # shellcheck disable=SC2046 # numbers
    awk '$1 == "Name:" { if (has) print has; has = $2 } /^(VmRSS|RssAnon|RssFile|RssShmem):/ { has = has " " $1 " " $2 } END { if (has) print has }' \
        $(printf '/proc/%s/status ' "$1" $(cat "/proc/$1/task/$1/children")) 2>/dev/null
}
# measure AGE: for a period; leaves in the file NAME.AGE what each process has. The least counts: a tracer that gets no processor
# for a while has more until it has read what came meanwhile.
measure() {
    local name look sum
    now=()
    for look in $(seq $LOOKS); do
        sleep $((PERIOD / LOOKS))
        for name in "${names[@]}"; do
            resident "${tracer[$name]}" >look
            sum=$(awk '{ sum += $3 } END { print sum + 0 }' look)
            [ "$sum" = 0 ] || [ "${now[$name]:-$sum}" -lt "$sum" ] || { now[$name]=$sum && cp look "$name.$1"; }
        done
    done
    all=0
    for name in "${names[@]}"; do all=$((all + ${now[$name]:-0})); done
}
count() { awk -v at="$1:" '$1 == at { print $2 }' "${@:2}"; }

mkfifo hold answers rest
./storm call 1 <hold >answers &
storm=$!
./soak lives ./greeter.so <rest >steps &
lives=$!
exec 7>rest 8>hold 9<answers
until ls soak.*.spoor >/dev/null 2>&1; do sleep 0.05; done
trace every -o every --rotate-size 256K
trace newest -o newest --rotate-size 128K --keep 3 ${LIMIT:+--max-memory $LIMIT} ${minutes:+--duration "${minutes}m"}
trace later -v -o later --rotate-size 128K --keep 2 -p $lives
trace mixed -o mixed --rotate-size 128K --keep 2 -p $lives
trace replayed -o replayed --rotate-size 128K --keep 2 -p $lives
until grep -q '^Attached \(later\|[1-9]\)' later.err; do sleep 0.05; done
echo go >&8
read -r _ <&9
begun=$(forks)
(while [ ! -e stop ]; do ./opens ./greeter.so 3 >/dev/null 2>&1; done) &
churn+=($!)
(while [ ! -e stop ]; do for _ in $(seq 50); do (:); done; sleep 0.1; done) &
churn+=($!)
(
    while [ ! -e stop ]; do # another file each time
        mkdir -p own && cp opens own/fresh && cp greeter.so own/own.so && own/fresh own/own.so 3
        rm -rf own
    done >/dev/null 2>&1
) &
churn+=($!)
(
    while [ ! -e stop ]; do
        "$spoor" -q -e 'trace:soak:STEP_END { @ended = count(); }' -c './soak records 300' >recorded.out 2>recorded.err
        count @ended recorded.out >>recorded
        find . -maxdepth 1 -name 'soak.*.spoor' ! -name "soak.$lives.spoor" -delete 2>/dev/null
        sleep 0.5
    done
) &
churn+=($!)
kill -STOP $storm # processes come and go faster without it
./soak forks $WARM
kill -CONT $storm
for period in $(seq "$PERIODS"); do
    kill -0 "${tracer[newest]}" 2>/dev/null || break
    measure "$([ "$period" -gt $BASE ] && echo late || echo early)"
    [ "$period" != $BASE ] || for name in "${names[@]}"; do early[$name]=${now[$name]}; done
    [ -z "$minutes" ] || echo "after $((period * PERIOD)) s: $all kB (${names[*]}: ${now[every]} ${now[newest]} ${now[later]} ${now[mixed]}" \
        "${now[replayed]}) after $(($(forks) - begun)) processes"
    files=$(find . -maxdepth 1 -name 'newest.*[0-9]' 2>/dev/null | wc -l)
    [ "$files" -le 3 ] || check "there are $files files of the newest output" "$files" -le 3
done
[ -z "$MOST" ] || for name in "${names[@]}"; do
    check "$name takes at most $MOST % more at the end than early on: ${early[$name]:-0} kB, then ${now[$name]} kB" \
        $((now[$name] * 100)) -le $((${early[$name]:-0} * (100 + MOST))) || diff "$name.early" "$name.late"
done
if [ -n "$minutes" ]; then end newest; else end newest INT; fi
touch stop
wait "${churn[@]}"
exec 7>&-
wait $lives
lives=
end later
end mixed
end replayed
echo stop >&8
read -r _ hits <&9
end every INT
exec 8>&-
wait $storm
storm=
cat every.*[0-9] >printed
lines=$(grep -c '^greeted ' printed)
greets=$(count @greets printed)
lost=$(awk '/^Lost/ { n += $2 } END { print n + 0 }' every.err)
check "$(count @hits printed) of $hits hits are counted" "$(count @hits printed)" = "$hits"
check "their sum is right" "$(count @sum printed)" = $((hits * (hits - 1) / 2))
check "$(awk '/^living/ { print $2 }' printed) keys live" "$(awk '/^living/ { print $2 }' printed)" = 1000
check "$lines lines and $lost lost of $greets greetings, in $(find . -maxdepth 1 -name 'every.*[0-9]' | wc -l) files" $((lines + lost)) = "$greets"
check "no file is larger than it may be" "$(find . -maxdepth 1 -name 'every.*[0-9]' -size +257k | wc -l)" = 0
check "what short recordings hold is counted, in each of $(wc -l <recorded)" "$(sort -u recorded)" = 300
check "a library that a process opened again and again has its probe" "$(cat later.*[0-9] | grep -c '@greets\[usdt:.*greet\]: [1-9]')" -gt 0
[ $ok = 0 ] || sort ./*.err | uniq -c | sort -rn | head -n 20
exit $ok
