#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# report, record and ctl on a program that records in SPDK's format: nothing torn, everything accounted for, masks obeyed.
#   tests/programs/spdk_recordings.sh BUILD
set -u
build=$(cd "${1:?usage: spdk_recordings.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor
. "$root/tests/programs/recording.bash"
begin_test spdk
unset SPOOR_TRACE_DIR
need_shared_memory
compile_spdk spdk_writer
mkfifo hold
name=spoor_test_$$

# start ROUNDS PAUSE SLOTS: a program that lives until `end`; $program and $file say which.
start() {
    rm -f "$file" out # of the program before
    ./spdk_writer $name "$@" >out <hold &
    program=$!
    exec 9>hold
    wait_for_file
}
finished() { # $slots and $events: written
    for _ in $(seq 1000); do
        [ "$(wc -l <out)" = 3 ] && break
        sleep 0.02
    done
    slots=$(awk 'NR > 1 { s += $1 } END { print s }' out)
    events=$(awk 'NR > 1 { s += $2 } END { print s }' out)
}
end() {
    exec 9>&-
    wait "$program"
    program=
}
# whole FILE…: prints "events slots overwritten" of all together, and fails if an event is not as it was recorded.
cat >whole.py <<'END'
import json, re, subprocess, sys
spoor, *files = sys.argv[1:]
slots = {"BDEV_IO_START": 4, "BDEV_IO_DONE": 1, "TCP_REQ_NEW": 1, "TCP_REQ_COMPLETED": 1}
events = taken = overwritten = 0
before = {}
for file in files:
    done = subprocess.run([spoor, "report", "-j", "-f", file], capture_output=True, text=True)
    if done.returncode or "damaged" in done.stderr:
        sys.exit(file + ": " + done.stderr)
    document = json.loads(done.stdout)
    names = {tracepoint["id"]: tracepoint["name"] for tracepoint in document["tpoints"]}
    for entry in document["entries"]:
        name = names[entry["tpoint"]]
        events += 1
        taken += slots[name]
        if entry["tsc"] < before.get(entry["lcore"], 0):
            sys.exit(f"{file}: order: {entry}")
        before[entry["lcore"]] = entry["tsc"]
        arguments = entry["args"]
        if name == "BDEV_IO_START":
            kind, context, offset, *others = arguments.values() if isinstance(arguments, dict) else arguments
            i = int(offset) // 8
            if [int(other) for other in others] != [i * n for n in (3, 5, 7, 11, 13)] or int(kind) != i % 4:
                sys.exit(f"{file}: torn: {entry}")
    overwritten += sum(map(int, re.findall(r"(\d+) (?:older )?entries were overwritten", done.stderr)))
print(events, taken, overwritten)
END
whole() { python3 whole.py "$spoor" "$@"; }
# only NAMES: what is recorded now are more than ten of these and nothing else.
only() {
    until_so some "$@" && [ "$(grep -vcE "$(IFS='|' && echo "$*")" list)" = 0 ]
}
some() {
    "$spoor" report -f "$file" --whole >list 2>errors
    sed -i '/\*\*\*/d' list
    for name_ in "$@"; do [ "$(grep -c "$name_" list)" -gt 10 ] || return 1; done
}
# After it was disabled; a thread may be in the middle of a record.
cleared() { "$spoor" ctl -f "$file" clear 2>>errors && [ "$(count)" = 0 ]; }
count() { "$spoor" report -f "${2:-$file}" --whole 2>errors | grep -v '\*\*\*' | grep -c "${1:-.}"; }

# ---- drained while it records ----
# A ring is written anew three times, each time in a third of a second, in which the reader looks at it. What was overwritten
# before its first look is not counted: the program stands still until then.
start 2000 500 4096
kill -STOP "$program"
timeout 60 "$spoor" record -f "$file" -o drained 2>errors 9>&- &
recorder=$!
until_so test -s drained
kill -CONT "$program"
finished
end
wait $recorder
check "record ends with the program" test $? = 0
read -r got taken lost <<<"$(whole drained)"
check "drained: all that was written ($events events)" test "$got $taken $lost" = "$events $slots 0"
check "and says so" grep -q "^$events events in 1 file .*; 0 entries were overwritten" errors
check "owners and groups are there" sh -c "'$spoor' report -f drained 2>errors | grep -q 'b01 Nvme0n1 BDEV_IO_START' && '$spoor' report -f drained --group bdev | head -1 | grep -q BDEV"
check "a drained recording is not drained again" sh -c "! '$spoor' record -f drained -o again 2>errors && grep -q 'recorded by .spoor record. already' errors"
check "nor steered" sh -c "! '$spoor' ctl -f drained disable all 2>errors && grep -q 'no program looks at it' errors"

# ---- rotation ----
start 2000 400 4096
kill -STOP "$program"
timeout 60 "$spoor" record -f "$file" -o part --rotate-size 100K 2>errors 9>&- &
recorder=$!
until_so test -s part.1
kill -CONT "$program"
finished
end
wait $recorder
read -r got taken lost <<<"$(whole $(ls part.* | sort -t. -k2 -n))"
check "drained over $(ls part.* | wc -l) files: all that was written" test "$((taken + lost))" = "$slots"
check "several files" test -e part.3
first=$("$spoor" report -f part.3 2>/dev/null | grep -v '\*\*\*' | sed -nE '1s/^[^:]*: *([0-9]+)\..*/\1/p')
check "times go on from file to file" test "${first:-0}" -gt 1000
timeout 20 "$spoor" record -f "$file" -o kept --rotate-size 20K --keep 2 2>errors
check "a dead program's memory can be drained too" test -e kept.1

# ---- an idle program ----
start 4000 0 256
finished
# A round has 7 slots: of the 28,000 of each lcore the last 256 begin within an event of the round.
idle=$("$spoor" report --whole -f "$file" 2>errors | grep -vc '\*\*\*')
check "all of an idle program's rings is read: $idle events" test "$idle" = $((2 * (2 + 36 * 4)))
lines() { "$spoor" report -f "$file" "$@" 2>errors | grep -v '\*\*\*' | sed -E 's/^( *[0-9]+:) *[0-9.]+/\1/'; }
lines --whole >all
lines >window
check "what is shown by default is the end of it, with the same numbers and times of objects" \
    cmp -s window <(tail -n "$(wc -l <window)" all)
# SPDK's scripts take the JSON as its own reader's: ages of objects in ticks, owners by their descriptions.
cat >as_spdk.py <<'END'
import json, re, sys
document, lines = json.load(open(sys.argv[1])), open(sys.argv[2]).read().splitlines()
names = {tracepoint["id"]: tracepoint for tracepoint in document["tpoints"]}
assert len(lines) == len(document["entries"]) > 100
microseconds = lambda ticks: ticks * 1e6 / document["tsc_rate"]
origin = document["entries"][0]["tsc"]
for line, entry in zip(lines, document["entries"]):
    found = re.match(r" *(\d+): +([\d.]+) (\S+) (.*?) +([A-Z_]+) .*?id: +(\S+)(?: \((\S+)\))?", line)
    age = re.search(r" time: +([\d.]+)", line)
    lcore, time, poller, owner, name, label, related = found.groups()
    tracepoint, thing = names[entry["tpoint"]], entry["object"]
    assert (int(lcore), poller, owner, name) == (entry["lcore"], entry["poller"], entry["owner"], tracepoint["name"]), line
    assert owner == document["owners"][str(entry["owner_id"])]
    assert abs(float(time) - microseconds(entry["tsc"] - origin)) < 0.002, line
    assert label == thing.get("id", label) and ("@" in label) == ("id" not in thing), line
    assert ("time" in thing) == (age is not None) == ("id" in thing and not tracepoint["new_object"]), line
    assert age is None or abs(float(age[1]) - microseconds(thing["time"])) < 0.002, line
    assert related == entry.get("related", entry.get("related_unknown")), line
END
"$spoor" report --whole -f "$file" --width 0 2>errors | grep -v '\*\*\*' >list
"$spoor" report --whole -f "$file" -j >document 2>errors
check "the JSON is as SPDK's reader writes it" python3 as_spdk.py document list
timeout 20 "$spoor" report --whole --follow -f "$file" >followed 2>errors 9>&- &
follower=$!
for _ in $(seq 500); do [ "$(grep -vc '\*\*\*' followed)" -ge "$idle" ] && break; sleep 0.02; done
end
wait $follower
check "and followed" test "$(grep -vc '\*\*\*' followed)" = "$idle"

# ---- faster than anybody can drain ----
start 400000 0 2048
timeout 60 "$spoor" record -f "$file" -o torrent 2>errors 9>&- &
recorder=$!
finished
end
wait $recorder
read -r got taken lost <<<"$(whole torrent)"
# What was overwritten before it began is not its loss: spdk_load.sh counts to the slot.
check "at full speed nothing is torn" test -n "$got" -a "$((taken + lost))" -le "$slots"
check "some of it came through" test "${got:-0}" -gt 1000
if [ "${lost:-0}" -gt 0 ]; then
    "$spoor" report -f torrent >list 2>/dev/null
    check "it is said in place" test "$(awk '/entries overwritten before this/ { for (i = 1; i < NF; i++) if ($i == "***") { s += $(i + 1); break } } END { print s }' list)" = "$lost"
fi

# ---- steered ----
start 0 20 16384
"$spoor" ctl -f "$file" show >shown 2>errors
check "show tells groups by their names, and what is on" sh -c 'grep -q "^nvmf_tcp$" shown && grep -q "^  + BDEV_IO_DONE  *0x2 " shown && grep -q "^owner t02 qpair 2" shown'
"$spoor" ctl -f "$file" disable all 2>errors
check "nothing after disable and clear" until_so cleared
"$spoor" ctl -p $program enable bdev:BDEV_IO_DONE 2>errors
check "one tracepoint by its name" only BDEV_IO_DONE
"$spoor" ctl -f "$file" disable bdev 2>errors && until_so cleared && "$spoor" ctl -f "$file" enable nvmf_tcp:0x1000 2>errors
check "one tracepoint by its mask" only TCP_REQ_COMPLETED
"$spoor" ctl -f "$file" disable all && until_so cleared && "$spoor" ctl -s $name enable 3,nvmf_tcp:TCP_REQ_N* 2>errors
check "a group by its number" only BDEV_IO_START BDEV_IO_DONE TCP_REQ_NEW
"$spoor" ctl -f "$file" enable bdev:NOTHING 2>errors
check "an unknown tracepoint is an error that names it" grep -q "'bdev:NOTHING'" errors
"$spoor" ctl -f "$file" filter --owner b1 2>errors
check "a filter is an error that says why" grep -q "SPDK's format, which has no filter" errors
"$spoor" ctl -f "$file" enable all
of_one() { "$spoor" report -f "$file" -c 1 --whole 2>errors | grep -v '\*\*\*' >list && [ "$(wc -l <list)" -gt 100 ]; }
until_so of_one
check "-c shows one lcore" sh -c '[ $(wc -l <list) -gt 100 ] && ! grep -vq "^ *1: " list'
check "-c of one that is not there is an error that says which are" \
    sh -c "! '$spoor' report -f '$file' -c 5 >list 2>errors && [ ! -s list ] && grep -q '^ERROR: .* has no lcore 5; it has 0, 1\$' errors"
kill -STOP $program # what is written while it is copied would be torn, and more of it the slower the copy
cp "$file" /dev/shm/${name}_trace.7
kill -CONT $program
"$spoor" report -s $name -i 7 --whole 2>errors >list
check "-i finds a shared memory id" test "$(wc -l <list)" -gt 100
"$spoor" report -i 007 --whole 2>errors >list
check "as a number, without a name too" test "$(wc -l <list)" -gt 100
timeout 20 "$spoor" record -s $name -i 7 -o by_id --duration 100ms -q 2>errors
check "record finds it, too" test -s by_id
"$spoor" ctl -s $name -i 7 show >shown 2>errors
check "and ctl" grep -q "^/dev/shm/${name}_trace.7\$" shown
# wrong WHAT ERROR ARGUMENTS…
wrong() {
    local what=$1 error=$2
    shift 2
    "$spoor" "$@" >list 2>errors
    local status=$?
    check "$what is an error that says why" sh -c "[ $status = 1 ] && [ ! -s list ] && head -1 errors | grep -q -- '^ERROR: $error'"
}
for command in "report --whole" "ctl show" "record -o none"; do
    read -ra words <<<"$command"
    command=${words[0]} rest=("${words[@]:1}")
    wrong "$command: an id that is no number" '-i takes a shared memory id, a number from 0 on, not .x.' "$command" -i x "${rest[@]}"
    wrong "$command: -s with -f" 'the file is named already, which does not go with -s' "$command" -s $name -f "$file" "${rest[@]}"
    wrong "$command: -i with -p" '-i says which recording of a program, as -p does: not with -p' "$command" -i 7 -p $program "${rest[@]}"
    wrong "$command: an id that nobody has" "no recording named $name with id 8 in /dev/shm; .spoor ctl list. shows" "$command" -s $name -i 8 "${rest[@]}"
done
wrong "a negative id" '-i takes a shared memory id' report -i -1
wrong "report: -p with -f" 'the file is named already, which does not go with -p' report -p $program "$file"
wrong "the name of a file in place of the program's" ".*; ${name}_trace.7 is a file: its program is $name\$" report -s ${name}_trace.7
wrong "a path" ".*; $file is a path: -f takes those\$" report -s "$file"
# Of this very process: a program of another test that is alone in a namespace may be number 1.
wrong "a process without a recording" "no recording of process $$ in /dev/shm" report -p $$
"$spoor" report -T -t -s $name -i 7 --whole 2>errors | grep -v '\*\*\*' >list
check "-T says how long after the event before, -t the ticks" python3 -c '
import re
before = None # the first entries of a copy of a ring that is being written may be torn, and are not shown
for line in open("list"):
    time, step, ticks = re.match(r" *\d+: +([\d.]+) \(\+ *([\d.]+)\) \( *(\d+)\)", line).groups()
    assert float(step) == 0 if before is None else abs(float(time) - before - float(step)) < 0.0015, line
    before = float(time)
assert before > 0 and int(ticks) > 0'
"$spoor" report -p $program --whole --names 'BDEV_IO_S*:type=spdk_bdev_io_type,offset=when' 2>errors >list
check "--names: values by the names that the program has" sh -c '
    for name in INVALID READ WRITE UNMAP; do [ "$(grep -c " BDEV_IO_START .* type: *BDEV_IO_TYPE_$name " list)" -gt 10 ] || exit 1; done
    ! grep -q " type: *[0-9]" list'
"$spoor" report -s $name -i 7 --whole --program ./spdk_writer --names 'type=spdk_bdev_io_type' 2>errors >list
check "--program: of one that is named" grep -q ' type: *BDEV_IO_TYPE_WRITE ' list
"$spoor" report -s $name -i 7 --whole -j --program ./spdk_writer --names 'type=spdk_bdev_io_type' 2>errors >document
check "in JSON they are numbers" sh -c '! grep -q BDEV_IO_TYPE_ document && grep -q BDEV_IO_START document'
wrong "--names without a program" '--names needs the program that has the enum: -p PID while it runs, or --program FILE$' report -s $name -i 7 --names type=spdk_bdev_io_type
wrong "an enum that it does not have" '.* declares no enum nothing, as far as' report -p $program --names type=nothing
wrong "an argument that there is not" ".* has no tracepoint BDEV_IO_DONE with a number type" report -p $program --names BDEV_IO_DONE:type=spdk_bdev_io_type
wrong "an argument that is no number" ".* has no tracepoint at all with a number ctx" report -p $program --names ctx=spdk_bdev_io_type
wrong "--names without an enum" '--names takes ARGUMENT=ENUM or TRACEPOINT:ARGUMENT=ENUM, not type$' report -p $program --names type
strip -o stripped ./spdk_writer
wrong "a program without debug information" './stripped has no debug information' report -p $program --program ./stripped --names type=when
wrong "no program" 'cannot read the debug information of ./out' report -p $program --program ./out --names type=when
rm -f /dev/shm/${name}_trace.7
timeout 20 "$spoor" record -f "$file" -o timed --rotate-time 1s --duration 2500ms 2>errors
check "rotation by time: $(ls timed.* | wc -l) files" test -e timed.2 -a ! -e timed.5
before=$(date +%s%N)
"$spoor" ctl -f "$file" dump 100ms dump 2>errors
took=$((($(date +%s%N) - before) / 1000))
check "a dump is a recording of the newest" sh -c "$(printf '%q ' "$spoor" report -f dump) >list 2>errors && [ \$(wc -l <list) -gt 100 ] && ! grep -q overwritten list"
span=$(sed -E 's/^[^:]*: *([0-9]+)\..*/\1/' list | sed -n '1p;$p' | xargs | awk '{ print $2 - $1 }')
check "of $span us, 100000 and what came in the $took us that it took" test "${span:-0}" -gt 50000 -a "${span:-0}" -le $((100000 + took))
whole dump >/dev/null 2>errors
check "with nothing torn in it" test $? = 0
"$spoor" ctl -f "$file" dump everything 2>errors
check "a dump of everything" test "$(count . everything)" -gt 1000
"$spoor" ctl list >list
check "it is listed as running" grep -q "^$name *$program running .* SPDK " list
kill -KILL $program
wait $program 2>/dev/null
exec 9>&-
"$spoor" ctl list >list
check "and as ended" grep -q "^$name *$program ended .* SPDK " list
program=
"$spoor" ctl -f "$file" dump 1s last 2>errors
check "a dump after its death" test "$(count . last)" -gt 1000
check "clean would remove it" sh -c "'$spoor' ctl clean -n | grep -q 'would remove $file'"
exit 0
