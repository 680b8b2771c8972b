#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A program under load that records in SPDK's format, and knows what it recorded (spdk_load.c): what `report --follow --stats`,
# a live script and `record` bring and what they say is lost are together what was recorded, to the slot; and no object has a
# time that spans a gap.
#   tests/programs/spdk_load.sh BUILD [REQUESTS_PER_SECOND SECONDS SLOTS]…
set -u
build=$(cd "${1:?usage: spdk_load.sh BUILD [REQUESTS_PER_SECOND SECONDS SLOTS]…}" && pwd) || exit 1
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor
. "$root/tests/programs/recording.bash"
begin_test load
unset SPOOR_TRACE_DIR
need_shared_memory
compile_spdk spdk_load
mkfifo hold

# until FILE TEXT: it is in the file.
until_there() {
    for _ in $(seq 1500); do
        grep -qs "$2" "$1" && return 0
        sleep 0.02
    done
    return 1
}
follow() { # NAME COMMAND…: in the background, with its output and its messages
    local name=$1
    shift
    timeout 120 "$@" >"$name" 2>"$name.errors" 9>&- &
    readers+=($!)
}
# The counts of a reader as "name count", from JSON of --stats; and how many slots it says are lost.
cat >counts.py <<'END'
import json, sys
for tracepoint in json.load(open(sys.argv[1]))["tracepoints"]:
    print(tracepoint["name"], tracepoint["count"])
END
# Each event of -j against what the program did: on each lcore it makes one request after the other, whose ten events it knows
# by heart. So an event is the next one, or lies as many slots behind it as are said to be lost before it, counted from the
# first slot that was ever written (what was cut to a span of time begins anywhere); and its time, where it has one, is the age
# that the program gave it.
cat >each.py <<'END'
import json, sys
BEGINS = [5 * 64, 3 * 64, 16 * 64, 14 * 64, 15 * 64]
ENDS = [5 * 64 + 12, 3 * 64 + 1, 16 * 64 + 1, 14 * 64 + 1, 15 * 64 + 2]
ORDER, POOL, SLOTS = BEGINS + ENDS[::-1], 256, 15
FIRST = [sum(2 if i < 5 else 1 for i in range(n)) for n in range(10)]  # slot of each event in its request
slots, count, timed = {}, 0, 0
for line in sys.stdin:
    if not line.startswith('{"lcore"'):
        continue
    event = json.loads(line.rstrip(",\n"))
    lcore, place = event["lcore"], ORDER.index(event["tpoint"])
    value = event["object"]["value"] - 0x200000000000 - (lcore << 40) - (min(place, 9 - place) << 32)
    if lcore not in slots and sys.argv[1] == "cut":
        slots[lcore] = value // 0x180 * SLOTS + FIRST[place] - event.get("lost_before", 0)
    at = slots.get(lcore, 0) + event.get("lost_before", 0)
    if at % SLOTS != FIRST[place] or value != at // SLOTS % POOL * 0x180:
        sys.exit("slot %d of lcore %d is %s" % (at, lcore, line))
    if "time" in event["object"]:
        timed += 1
        if event["object"]["time"] != event["args"][0]:
            sys.exit("a wrong time: " + line)
    slots[lcore] = at + (2 if place < 5 else 1)
    count += 1
print(count, timed, sum(slots.values()))
sys.exit(count < 100 or timed < count / 3)
END
each() { # NAME FILE whole|cut: every event of it is in its place
    local counted
    counted=$("$spoor" report -f "$2" -j --whole 2>errors | python3 each.py "$3" 2>>errors)
    check "$1: every event in its place, with its time: ${counted:-none}" [ $? = 0 ]
}
lost() { grep -oE '[0-9]+ (older )?entries were overwritten' "$1" | awk '{ s += $1 } END { print s }'; }
# account NAME COUNTS LOST: delivered and lost are together what the program recorded, and nothing came that it did not.
account() {
    local missing
    missing=$(awk 'NR == FNR { came[$1] = $2; next } NF == 3 { s += ($2 - came[$1]) * $3 / $2 } END { printf "%d", s }' "$2" wrote)
    check "$1: of $(awk 'NF == 3 { s += $2 } END { print s }' wrote) events $(awk '{ s += $2 } END { print s }' "$2") came, $missing slots are missing, ${3:-0} are said to be lost" \
        awk -v lost="${3:-0}" 'NR == FNR { came[$1] = $2; next }
            NF == 3 { missing = $2 - came[$1]; if (missing < 0) bad = 1; slots += missing * $3 / $2 }
            END { exit bad || slots != lost }' "$2" wrote
}

observe() { # REQUESTS_PER_SECOND SECONDS SLOTS
    local what="$1 requests a second, rings of $3" script
    rm -f out recorded script.errors # what the round before left would be taken for a script that has begun
    readers=()
    ./spdk_load "spoor_load_$$" "$1" "$2" "$3" >out <hold &
    program=$!
    exec 9>hold
    wait_for_file
    until [ "$(wc -l <out)" -ge 2 ]; do sleep 0.01; done
    # The program knows each object's age in ticks of its counter.
    script="trace:* { @n[probe] = count(); \$off = (int64)lifetime - (int64)(args.age * 1000000000 / $(sed -n 2p out));
        if (\$off > 2 || \$off < -2) { @wrong[probe] = count(); } }"
    follow stats "$spoor" report -f "$file" --follow --stats -j
    follow script "$spoor" -f "$file" -e "$script"
    follow record "$spoor" record -f "$file" -o recorded
    until [ -s recorded ]; do sleep 0.02; done
    until_there script.errors '^Attached' || echo "not ok the script begins"
    echo go >&9
    sleep 0.5 # the load, after which there are events of more than 50 ms
    "$spoor" ctl -f "$file" dump 50ms dump 2>errors
    "$spoor" report -f "$file" >snapshot 2>errors
    [ "$3" -gt 65536 ] || each "$what: -j while it records" "$file" whole
    echo enough >&9
    until_there out '^end$' || echo "not ok the program ends"
    exec 9>&-
    wait "$program" "${readers[@]}"
    program=
    grep ' ' out >wrote
    python3 counts.py stats >counts
    account "$what: --follow --stats" counts "$(lost stats.errors)"
    sed -nE 's/^@n\[trace:[^:]*:([^]]*)\]: ([0-9]+)$/\1 \2/p' script >counts
    account "$what: a live script" counts "$(lost script.errors)"
    check "$what: no time in it is wrong" sh -c '! grep -q "^@wrong" script'
    "$spoor" report -f recorded --stats -j >all 2>errors
    python3 counts.py all >counts
    account "$what: record" counts "$(lost errors)"
    [ "$3" -gt 65536 ] || each "$what: -j of what ctl dump wrote" dump cut
    [ "$(awk 'NF == 3 { s += $2 } END { print s }' wrote)" -gt 1000000 ] || each "$what: -j of what record wrote" recorded whole
    for copy in recorded dump; do
        "$spoor" -f $copy -e "$script" >script 2>errors
        check "$what: no time in $copy is wrong" sh -c 'grep -q "^@n" script && ! grep -q "^@wrong" script'
    done
    # A reader that has to wait for a CPU finds nothing of what it began to read, where rings hold a few milliseconds.
    [ $(($3 * 1000 / ($1 * 7))) -lt 50 ] ||
        check "$what: what it holds now is read while it records: $(wc -l <snapshot) lines" [ "$(wc -l <snapshot)" -gt 1000 ]
    rm -f "$file" recorded dump
}
if [ $# = 0 ]; then
    set -- 20000 1 32768 500000 1 32768 500000 1 2048
fi
while [ $# -ge 3 ]; do
    observe "$1" "$2" "$3"
    shift 3
done
exit 0
