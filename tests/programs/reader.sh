#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# report, record and ctl on a program that records: while it runs at full speed, after it was killed, copied, drained.
#   tests/programs/reader.sh BUILD
set -u
build=$(cd "${1:?usage: reader.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-reader.XXXXXX") || exit 1
program=
finish() {
    [ -z "$program" ] || kill -KILL "$program" 2>/dev/null
    wait 2>/dev/null
    rm -rf "$dir"
}
trap finish EXIT
cd "$dir" || exit 1
export SPOOR_TRACE_DIR=$dir
mkfifo hold

. "$root/tests/programs/recording.bash"

libspoor=$build/libspoor.a
if [ ! -e "$libspoor" ]; then
    echo "skip everything: $libspoor is not built"
    exit 0
fi
cp "$build/targets/recording" . || exit 1

# start NAME REQUESTS THREADS PAUSE [KiB]: a program that lives until `end`; $program and $file say which.
start() {
    rm -f out # of the program before
    ./recording "$@" >out <hold &
    program=$!
    exec 9>hold
    for _ in $(seq 400); do
        [ -s out ] && break
        sleep 0.05
    done
    file=$(head -1 out)
}
finished() { # waits until all is recorded; $written
    for _ in $(seq 600); do
        [ "$(wc -l <out)" = 2 ] && break
        sleep 0.05
    done
    written=$(tail -1 out)
}
end() {
    exec 9>&-
    wait "$program"
    program=
}
events() { "$spoor" report -f "$1" --stats 2>errors | awk 'NR == 1 { print $1 }'; }
overwritten() { grep -oE '[0-9]+ (older )?events were overwritten' errors | awk '{ s += $1 } END { print s }'; }

# ---- ended ----
start quick 20000 2 0
finished
end
read=$(events "$file")
lost=$(overwritten)
check "read and overwritten are all that was written" test $((read + ${lost:-0})) = "$written"
"$spoor" report -f "$file" >list 2>errors
check "the listing has as many lines" test "$(grep -c -v '\*\*\*' list)" = "$read"
sed -E '/\*\*\*/d; s/^[^:]*: *([0-9.]+) .*/\1/' list >'times'
cp list all
check "in order of time" sort -c -n times
check "which part of all it is, is said as that" \
    grep -q "^NOTE: the recording holds the newest $read events, the last [0-9.]* ms: its rings went round, and $lost older events were overwritten\$" errors
check "and as no loss" sh -c '! grep -q "before they were read" errors'
"$spoor" report -f "$file" --to 1 2>errors >part
check "nor how much that is, when not all of it was read" grep -q "^NOTE: the recording's rings went round, and [0-9]* older events were overwritten\$" errors
check "nor is any of it lost then" sh -c '! grep -q "before they were read" errors'
check "overwritten events are said in place" grep -q ' events overwritten before this \*\*\*$' list
longest=$(sed -nE 's/.* BDEV_IO_DONE .* time: *([0-9.]+) .*/\1/p' list | sort -n | tail -1)
"$spoor" report -f "$file" --stats 2>errors >stats
check "--stats has the same nanoseconds as the listing" test "$(awk '/BDEV_IO_START -> BDEV_IO_DONE/ { print $NF }' stats)" = "${longest:-none}"
"$spoor" report -f "$file" -j 2>errors >json
check "JSON is valid" python3 -c 'import json; d = json.load(open("json")); assert len(d["entries"]) == '"$read"
"$spoor" report -f "$file" --object i42 >list 2>errors
check "a filter on an object" test "$(grep -c 'BDEV_IO_' list)" = 2
# shown OPTIONS… -- PATTERN: something is shown, and every line of it fits the pattern.
shown() {
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    "$spoor" report -f "$file" "${options[@]}" 2>errors | grep -v '\*\*\*' >chosen
    [ -s chosen ] && ! grep -vqE "$2" chosen
}
tid=$(sed -nE '/thread: *reactor_1$/ { s/^ *([0-9]+):.*/\1/p; q }' all)
check "a filter on a thread, by name" shown --thread reactor_1 -- 'thread: *reactor_1$'
check "and by number" shown --thread "$tid" -- "^ *$tid: "
check "which is decimal with a zero in front" shown --thread "0$tid" -- "^ *$tid: "
check "a filter on a group" shown --group bdev -- ' BDEV_IO_'
check "a filter on tracepoints" shown --tracepoint 'tcp:TCP_REQ_NEW,BDEV_IO_D*' -- ' TCP_REQ_NEW | BDEV_IO_DONE '
check "a filter on an owner, by its description" shown --owner null0 -- ' b[0-9]+ null0 '
said() { "$spoor" report -f "$file" "${@:2}" 2>&1 | grep -q "$1"; }
check "one that there is not, with the nearest" said "did you mean 'null0'" --owner nul0
check "filters must all agree" shown --owner null0 --thread "$tid" -- " b[0-9]+ null0 .*thread: *reactor_1$"
middle=$(sed -n "$((read / 2))p" times)
"$spoor" report -f "$file" --from "$middle" --to "${middle%.*}.999" 2>errors | sed -E '/\*\*\*/d; s/^[^:]*: *([0-9.]+) .*/\1/' >window
check "a time window" sh -c "[ -s window ] && ! awk -v from=$middle '\$1 < from || \$1 > int(from) + 1 { bad = 1 } END { exit !bad }' window"
check "-t tells the counter, -T the step" shown -t -T -- '^ *[0-9]+: *[0-9.]+ \(\+ *[0-9.]+\) \( *[0-9]+\) '
check "by the program's name" sh -c "'$spoor' report -s quick 2>errors | cmp -s - all"
if command -v script >/dev/null; then
    script -qec "stty cols 80; '$spoor' report -f '$file'" /dev/null </dev/null 2>errors | tr -d '\r' | grep -v ^NOTE >terminal
    check "a head line on a terminal" sh -c "head -n 1 terminal | grep -qE '^$file: .*, process [0-9]+ on $(uname -n), from [0-9-]+ [0-9:.]+ on; times in microseconds'"
    sed -i 1,2d terminal
    check "lines fit the terminal" sh -c "[ \$(wc -l <terminal) -gt $read ] && ! grep -qE '.{81}' terminal"
else
    echo "skip the terminal: script is not installed"
fi
"$spoor" report -f "$file" --slowest 2 tcp_req >list 2>errors
check "two stories" test "$(grep -c '^#[12] r[0-9]* tcp_req lived' list)" = 2
check "with the I/O of each" test "$(grep -c 'BDEV_IO_START .* (r' list)" -ge 2
check "clean removes it" "$spoor" ctl clean -n >list
check "clean names it" grep -q "would remove $file" list
rm -f "$file"

# ---- large ----
if command -v script >/dev/null; then
    start large 300000 1 0 32768
    finished
    end
    script -qec "'$spoor' report -f '$file' >/dev/null" /dev/null </dev/null 2>errors | tr '\r' '\n' >terminal
    check "progress on a terminal" grep -qE '^reading [0-9]+% of [0-9]+ MB' terminal
    rm -f "$file"
fi

# ---- running ----
start live 0 2 0
for round in 1 2 3 4 5; do
    "$spoor" report -f "$file" >list 2>errors || break
done
check "read at full speed" test "$(wc -l <list)" -gt 1000
check "nothing torn" test -z "$(grep damaged errors)"
sed -E '/\*\*\*/d; s/^[^:]*: *([0-9.]+) .*/\1/' list >'times'
check "read at full speed in order" sort -c -n times
cp "$file" copy
check "a copy made meanwhile is a recording" test "$(events copy)" -gt 1000
check "it is listed as running" sh -c "'$spoor' ctl list | grep -q \"live *$program running\""
"$spoor" ctl -f "$file" disable all
cleared() { "$spoor" ctl -f "$file" clear && [ "$(events "$file")" = 0 ]; } # a thread may be in the middle of a record
check "nothing after disable and clear" until_so cleared
"$spoor" ctl -f "$file" enable bdev:0x1
begun() { "$spoor" report -f "$file" >list 2>errors && grep -q BDEV_IO_START list; }
until_so begun
check "one tracepoint by its mask" sh -c '[ $(grep -c BDEV_IO_START list) -gt 0 ] && [ $(grep -v "\*\*\*" list | grep -v -c BDEV_IO_START) = 0 ]'
"$spoor" ctl -f "$file" enable nothing 2>errors
check "an unknown group is an error that names it" grep -q "'nothing'" errors
"$spoor" ctl -f "$file" enable all && "$spoor" ctl -f "$file" dump 100ms dump
check "a dump is a recording" test "$(events dump)" -gt 100
kill -KILL "$program"
wait "$program" 2>/dev/null
program=
exec 9>&-
check "after SIGKILL" test "$(events "$file")" -gt 1000
check "it is listed as ended" sh -c "'$spoor' ctl list | grep -q 'live *[0-9]* ended'"
rm -f "$file"

# ---- draining and following ----
start slow 3000 2 50
timeout 60 "$spoor" record -f "$file" -o drained --rotate-size 256K 2>errors 9>&- &
recorder=$!
timeout 60 "$spoor" report -f "$file" --follow >followed 2>follow_errors 9>&- &
follower=$!
finished
end
wait $recorder
check "record ends with the program" test $? = 0
wait $follower
check "so does --follow" test $? = 0
sum=0 lost=0
for part in drained.*; do
    sum=$((sum + $(events "$part")))
    more=$(overwritten)
    lost=$((lost + ${more:-0}))
done
check "drained over $(ls drained.* | wc -l) files: all that was written" test $((sum + lost)) = "$written"
check "several files" test -e drained.3
check "--follow shows all that was written" test "$(grep -c -v '\*\*\*' followed)" = "$written"
sed -E '/\*\*\*/d; s/^[^:]*: *([0-9.]+) .*/\1/' followed >'times'
check "--follow is in order" sort -c -n times
"$spoor" record -f "$file" -o drained.1 2>errors
check "an existing file is not overwritten" grep -q 'cannot create drained.1' errors
rm -f "$file"

# ---- in another directory ----
mkdir elsewhere
SPOOR_TRACE_DIR=$dir/elsewhere start there 10 1 0
finished
check "a running program's recording is found by its process" sh -c "unset SPOOR_TRACE_DIR; '$spoor' report -p $program | grep -q TCP_REQ_NEW"
check "and can be steered" sh -c "unset SPOOR_TRACE_DIR; '$spoor' ctl -p $program disable all"
end
check "an ended one's is not" sh -c "! SPOOR_TRACE_DIR= '$spoor' report -p 4194304 2>/dev/null"

# ---- what a program says when it starts ----
# announced DIRECTORY OPTION: the command that it prints has this option, and reads its recording.
announced() {
    SPOOR_TRACE_DIR=$1 ANNOUNCE=1 start said 10 1 0 2>announced.errors
    finished
    command=$(sed -n "s/^spoor: 'spoor \(report .*\)' shows what said records, also while it runs;$/\1/p" announced.errors)
    # shellcheck disable=SC2086
    (unset SPOOR_TRACE_DIR; [[ $command == "report $2 "* ]] && "$spoor" $command | grep -q TCP_REQ_NEW)
    local status=$?
    end
    rm -f "$file"
    return $status
}
check "the command that a program announces, elsewhere" announced "$dir/elsewhere" -f
[ ! -w /dev/shm ] || check "and in /dev/shm" announced /dev/shm -p

# ---- what is no recording ----
head -c 100000 /dev/urandom >noise
"$spoor" report -f noise 2>errors >list
check "noise is an error" grep -q '^ERROR: noise is no recording' errors
"$spoor" report -s nobody 2>errors
check "no such program" grep -q '^ERROR: no recording named nobody' errors
exit 0
