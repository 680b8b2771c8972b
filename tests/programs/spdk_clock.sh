#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDK's clock and the kernel's: a program that records in SPDK's format makes a system call between every two events
# (spdk_clock.c), so that there is one right order of all. `report --merge` of the living program and of what `spoor record`
# made has that order, and says how exact it is; where the counter cannot be related it says why.
#   tests/programs/spdk_clock.sh BUILD [ROUNDS APART_NS]
set -u
build=$(cd "${1:?usage: spdk_clock.sh BUILD [ROUNDS APART_NS]}" && pwd) || exit 1
rounds=${2:-3000} apart=${3:-5000}
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor
. "$root/tests/programs/recording.bash"
if [ "$(id -u)" != 0 ]; then
    echo "skip everything: needs root"
    exit 0
fi
begin_test clock
unset SPOOR_TRACE_DIR SPOOR_HOST
need_shared_memory
compile_spdk spdk_clock
mkfifo hold

start() { # NAME: a program that waits; $program and $file say which
    rm -f "$file" out
    ./spdk_clock "$1" "$rounds" "$apart" >out <hold 9>&- &
    program=$!
    exec 9>hold
    wait_for_file
}
begin_work() { echo go >&9; }
end() {
    exec 9>&-
    wait "$program"
    program=
}
until_there() { # FILE TEXT
    for _ in $(seq 1500); do
        grep -qs "$2" "$1" && return 0
        sleep 0.02
    done
    echo "not ok $2 comes in $1"
    exit 1
}
# ordered FILE: lines of start, call and done, in that order and each of every round.
ordered() {
    sed -nE 's/.*BDEV_IO_START .*round: ([0-9]+).*/start \1/; s/.*BDEV_IO_DONE .*round: ([0-9]+).*/done \1/
        s/.*(start|call|done) ([0-9]+)$/\1 \2/p' "$1" >came
    for ((i = 0; i < rounds; i++)); do printf 'start %d\ncall %d\ndone %d\n' $i $i $i; done >wanted
    diff wanted came >errors
}
# bound: what the messages in `errors` say the times are right within, ns.
bound() { sed -nE "s/^NOTE: .*SPDK's counter was related to the boot clock within ±([0-9]+)\.([0-9]) us$/\1\200/p" "${1:-errors}" | sed 's/^0*//'; }
exact() { # FILE [TIMES]: its bound is less than events are apart, or so many times as much
    local within
    within=$(bound "$1")
    [ -n "$within" ] && [ "$within" -lt $((apart * ${2:-1})) ] || { cp "$1" errors && return 1; }
}
refused() { # TEXT COMMAND…: it fails with one message that says so
    local text=$1
    shift
    ! timeout 20 "$@" >nothing 2>errors && grep -q "$text" errors && [ "$(grep -c ERROR errors)" = 1 ]
}

# ---- merged lines ----
start "spoor_clock_$$"
if ! "$spoor" report --merge /dev/null -f "$file" >nothing 2>errors && grep -qE "this processor's counter" errors; then
    echo "skip everything: $(sed -n "s/.*does not say: //p" errors)"
    exit 0
fi
script='tracepoint:syscalls:sys_enter_close /args.fd >= 1000000 && args.fd < 2000000/ { printf("call %d\n", args.fd - 1000000); }'
timeout 60 "$spoor" -f json --times -o lines -p "$program" -e "$script" 2>tracer.errors 9>&- &
readers+=($!)
timeout 60 "$spoor" record -f "$file" -o recorded 2>record.errors 9>&- &
readers+=($!)
timeout 60 "$spoor" record -q -f "$file" -o part --rotate-size 20K 9>&- &
readers+=($!)
until_there lines attached_probes
until [ -s recorded ] && [ -s part.1 ]; do sleep 0.02; done
begin_work
until_there out "done"
kill -INT "${readers[0]}"
wait "${readers[0]}"
timeout 20 "$spoor" report --merge lines -f "$file" >merged 2>note
check "a living program's events and the kernel's: one order" ordered merged
check "and it says how exact that is" exact note
cp "$file" copy
check "a copy does not say when its events were" refused "what .spoor record. makes while the program lives can be" "$spoor" report --merge lines copy
"$spoor" ctl -f "$file" dump 60s dumped 2>errors
"$spoor" report -f "$file" >alone 2>errors
end
wait "${readers[1]}" "${readers[2]}"
readers=()
check "record says nothing of a relation that is kept" sh -c '! grep -q NOTE record.errors'
# A file of a rotation has what there is of some rounds: by how much is the call behind and before the events?
cat >parts.py <<'END'
import json, sys
rounds, apart, off = int(sys.argv[1]), int(sys.argv[2]), 1000
times = {"BDEV_IO_START": {}, "BDEV_IO_DONE": {}, "call": {}}
for part in sys.argv[3:]:
    document = json.load(open(part))
    names = {tracepoint["id"]: tracepoint["name"] for tracepoint in document["tpoints"]}
    if document["boot_clock"]["error_ns"] > off:
        sys.exit(f"{part}: {document['boot_clock']}")
    for entry in document["entries"]:
        if "merged" not in entry:
            times[names[entry["tpoint"]]][int(entry["args"][0])] = entry["time_ns"]
        elif entry["merged"]["type"] == "printf":
            times["call"][int(entry["merged"]["data"].split()[1])] = entry["time_ns"]
if any(sorted(each) != list(range(rounds)) for each in times.values()):
    sys.exit([len(each) for each in times.values()])
start, call, done = (times[name] for name in ("BDEV_IO_START", "call", "BDEV_IO_DONE"))
least = min(min(call[i] - start[i], done[i] - call[i]) for i in range(rounds))
if not apart - off <= least <= apart + off:
    sys.exit(f"{least} ns")
END
for part in part.*; do timeout 20 "$spoor" report --merge lines -j $part >$part.json 2>note; done
check "several files of a rotation: the call is where it was" sh -c "[ -e part.3 ] && python3 parts.py $rounds $apart part.*.json 2>errors"
timeout 20 "$spoor" convert --to spoor recorded converted 2>errors
timeout 20 "$spoor" report --merge lines converted >merged 2>note
check "what is converted to spoor's format keeps the relation: one order" ordered merged
"$spoor" convert --to spoor copy converted_copy 2>errors
check "and gets none where there is none" refused 'a clock of its own' "$spoor" report --merge lines converted_copy
for made in recorded dumped; do
    timeout 20 "$spoor" report --merge lines $made >merged 2>note
    check "$made, later: one order" ordered merged
    # A dump knows the clocks when it is made alone: what is older is less exact, the more so the longer all this took.
    check "$made, later: how exact that is" exact note $([ $made = recorded ] || echo 4)
done
check "the file of a program that has ended" refused "its program's counter alone" "$spoor" report --merge lines -f "$file"
"$spoor" record -f "$file" -o late 2>errors
check "what is recorded then has no relation, and that is said" grep -q 'NOTE: the file does not say when its events were: its program has ended' errors
check "nor is it merged" refused 'no relation to the boot clock' "$spoor" report --merge lines late
"$spoor" report recorded >alone_too 2>errors
check "without --merge, times are those of the file's own rate" cmp alone alone_too

# ---- one script over both ----
# mixed NAME OPTION…: the script runs while the program works; what it prints is in NAME.
both='tracepoint:syscalls:sys_enter_close /args.fd >= 1000000 && args.fd < 2000000/ { printf("call %d\n", args.fd - 1000000); @n = count(); @close[args.fd - 1000000] = nsecs; }
    trace:bdev:BDEV_IO_START { printf("start %d\n", args.round); @n = count(); }
    trace:bdev:BDEV_IO_DONE { printf("done %d\n", args.round); @n = count(); @us = max(lifetime / 1000); @after = min(nsecs - @close[args.round]); }
    end { clear(@close); }'
mixed() {
    local name=$1
    shift
    : >note # of the trace before it, before anybody looks
    timeout 60 "$spoor" -o "$name" "$@" -e "$both" 2>note 9>&- &
    readers=($!)
    until_there note '^Attached'
    begin_work
    until_there "$name" "^done $((rounds - 1))$" # what waits at the end may be left
    kill -INT "${readers[0]}"
    wait "${readers[0]}"
    readers=()
}
start "spoor_clock_$$"
mixed listing -p "$program" -f "$file"
check "a script over the kernel and a living program: one order" ordered listing
check "it says how exact that is" exact note
check "one map has counted all" grep -qx "@n: $((rounds * 3))" listing
after=$(sed -nE 's/^@after: ([0-9]+)$/\1/p' listing)
check "nsecs is the boot clock: the event that is $apart ns behind the call is ${after:-?} ns behind" [ "${after:-0}" -gt $((apart - 1000)) -a "${after:-0}" -lt $((apart + 3000)) ]
end
rm -f "$file"
# The program's recording is there before it records anything.
: >note
timeout 60 "$spoor" -o listing -c "./spdk_clock spoor_clock_$$ $rounds $apart" -e "$both" >out <hold 2>note 9>&- &
readers=($!)
exec 9>hold
until_there note '^Attached'
file=$(echo "/dev/shm/spoor_clock_${$}_trace.pid"*)
begin_work
until_there listing "^done $((rounds - 1))$"
exec 9>&-
wait "${readers[0]}"
readers=()
check "over the kernel and a command: one order" ordered listing
check "it says how exact that is, too" exact note
start "spoor_clock_$$"
cp "$file" copy
check "not with a copy" refused 'has ended' "$spoor" -f copy -e "$both"
check "nor with what was recorded" refused 'has ended' "$spoor" -f recorded -e "$both"
end

# ---- several recordings ----
for one in first second; do
    start "spoor_clock_$$"
    begin_work
    until_there out "done"
    "$spoor" ctl -f "$file" dump 60s $one 2>errors
    end
done
for ((i = 0; i < 2 * rounds; i++)); do echo $((i % rounds)); done >wanted
timeout 20 "$spoor" -f second -f first -e 'trace:bdev:BDEV_IO_START { printf("%d\n", args.round); }' 2>errors | grep . >came
check "a script over two recordings: what was recorded later comes later" cmp wanted came

# ---- what stands in the file ----
# doctor PYTHON: a copy of the recorded file whose relation (struct relation: check, count, since, …, then the readings, 40
# bytes each) is changed by it, as `words`; `stamp` is that of an event in the middle.
doctor() {
    python3 - "$1" "$rounds" <<'END'
import json, struct, subprocess, sys
data = bytearray(open("recorded", "rb").read())
words = list(struct.unpack_from("<2565Q", data, 88))
stamp = json.load(open("all.json"))["entries"][int(sys.argv[2])]["tsc"]
exec(sys.argv[1])
struct.pack_into("<2565Q", data, 88, *words)
open("doctored", "wb").write(data)
END
}
"$spoor" report -j recorded >all.json 2>errors
doctor 'words[2] = stamp'
timeout 20 "$spoor" report --merge /dev/null doctored >merged 2>note
check "what was recorded before the machine slept is not shown" test "$(wc -l <merged)" = $rounds
doctor 'words[2] = 2**63'
check "if all was, it is refused" refused 'has slept' "$spoor" report --merge lines doctored
doctor 'words[0] ^= 1'
check "a damaged relation" refused 'is damaged' "$spoor" report --merge lines doctored
doctor 'words[1] = 600; words[0] = 0x6e6f6974616c6572 ^ 600'
check "one of too many readings" refused 'is damaged' "$spoor" report --merge lines doctored
doctor 'for i in range(words[1]): words[5 + i * 5 + 4] ^= 1'
check "one without a reading that is whole" refused 'is damaged' "$spoor" report --merge lines doctored
doctor 'words[5 + 4] ^= 1; words[1] = 1; words[5:10] = words[10:15]; words[0] = 0x6e6f6974616c6572 ^ 1'
timeout 20 "$spoor" report --merge lines doctored >merged 2>note
check "one reading alone is as exact as the rate in the file: $(bound note) ns" test "$(bound note)" -gt 100000

# ---- a machine that has slept: its boot clock is ahead of the monotonic one ----
slept="unshare --time --boottime 1000 --"
if $slept true 2>errors; then
    start "spoor_clock_$$"
    timeout 60 $slept "$spoor" record -f "$file" -o awake 2>record.errors 9>&- &
    readers=($!)
    until [ -s awake ]; do sleep 0.02; done
    begin_work
    until_there out "done"
    check "the living program's counter may have stopped" refused 'has slept' $slept "$spoor" report --merge lines -f "$file"
    end
    wait "${readers[0]}"
    readers=()
    timeout 20 "$spoor" report --merge /dev/null awake >merged 2>note
    check "what was recorded since is whole" test "$(wc -l <merged)" = $((2 * rounds))
else
    echo "skip a machine that has slept: no namespace for clocks can be made"
fi

# ---- the wall clock ----
date +%s >now
timeout 20 "$spoor" report --export ctf -o exported recorded 2>note
check "an export says how exact its times are" exact note
check "and when they were" sh -c 'awk -v now="$(cat now)" "/offset_s/ { s = \$3 + 0 } /absolute = true/ { a = 1 } END { up = '"$(cut -d. -f1 /proc/uptime)"'; exit !(a && s + up >= now - 2 && s + up <= now + 2) }" exported/metadata'

# ---- what cannot be ----
rm -f "$file"
start "spoor_clock_$$"
begin_work
until_there out "done"
worked=$(date +%s%N)
mv "$file" "/dev/shm/spoor_clock_${$}_trace.7" && file=/dev/shm/spoor_clock_${$}_trace.7
timeout 20 "$spoor" report --merge lines -f "$file" >merged 2>note
check "a file without a process in its name: who has it mapped is found" exact note
cp "$file" "/dev/shm/spoor_clock_${$}_trace.8"
check "a copy in shared memory" refused 'no process is to be seen that has it mapped' "$spoor" report --merge lines -f "/dev/shm/spoor_clock_${$}_trace.8"
rm -f "/dev/shm/spoor_clock_${$}_trace.8"
poke() { # OFFSET_IN_FILE VALUE: eight bytes
    python3 -c 'import sys, struct
f = open(sys.argv[1], "r+b"); f.seek(int(sys.argv[2])); f.write(struct.pack("<Q", int(sys.argv[3])))' "$file" "$1" "$2"
}
peek() { python3 -c 'import sys, struct
f = open(sys.argv[1], "rb"); f.seek(int(sys.argv[2])); print(struct.unpack("<Q", f.read(8))[0])' "$file" "$1"; }
main=$(peek 16) # section 0
rate=$(peek "$main")
poke "$main" $((rate * 2))
check "a rate that is another counter's" refused 'not go at the rate' "$spoor" report --merge lines -f "$file"
check "nor beside the kernel's probes" refused 'is not known: its counter did not go on evenly, or not at the rate' "$spoor" -f "$file" -e "$both"
poke "$main" $((rate + rate / 400))
age=$(($(date +%s%N) - worked)) # at least; by the rounded rate times were off by a part of 400 of that
timeout 20 "$spoor" report --merge lines -f "$file" >merged 2>note
check "a rate that was rounded is no matter: ±$(bound note) ns for events of $((age / 1000000)) ms ago" test "$(bound note)" -lt $((age / 4000))
poke "$main" "$rate"
newest() { # LCORE: where its newest slot is, behind the history and its counts
    local ring next
    ring=$(peek $(($(peek 64) + 128 + $1 * 8)))
    next=$(peek $((ring + 40)))
    echo $((ring + 48 + 1280 * 8 + (next - 1) % (rounds * 2 + 1024) * 32))
}
stamp=$(peek "$(newest 0)")
poke "$(newest 0)" $((stamp + rate * 3600))
check "an event in the future" refused 'later than now' "$spoor" report --merge lines -f "$file"
hour=$((rate * 3600)) # or as far back as the counter goes, on a machine that was started less than an hour ago
for lcore in 0 1; do poke "$(newest $lcore)" $((stamp > hour ? stamp - hour : 1)); done
check "events from before the program began" refused 'before its program began' "$spoor" report --merge lines -f "$file"
end
exit 0
