#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# report --export and --merge: what other tools get is what the listing has; files are made safely and removed when not whole.
#   tests/programs/export.sh BUILD
set -u
build=$(cd "${1:?usage: export.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-export.XXXXXX") || exit 1
program= shared=
finish() {
    [ -z "$program" ] || kill -KILL "$program" 2>/dev/null
    wait 2>/dev/null
    [ -z "$shared" ] || rm -f "$shared"
    rm -rf "$dir"
}
trap finish EXIT
cd "$dir" || exit 1
export SPOOR_TRACE_DIR=$dir LC_ALL=C.UTF-8
. "$root/tests/programs/recording.bash"

if [ ! -e "$build/libspoor.a" ]; then
    echo "skip everything: $build/libspoor.a is not built"
    exit 0
fi
cp "$build/targets/recording" . || exit 1
compile_spdk spdk_writer
is_like() { python3 "$root/tests/programs/export.py" "$@" >seen 2>errors && cat seen; }

# record NAME ARGUMENTS…: $file, and the seconds $begin and $end around it.
record() {
    begin=$(date +%s)
    ./recording "$@" </dev/null >out || exit 1
    end=$(($(date +%s) + 1))
    file=$(head -1 out)
}
# exported WHAT OPTIONS…: every format has what -j has. $absolute: seconds between which it was.
exported() {
    local what=$1 format
    shift
    rm -rf to.*
    "$spoor" report "$@" -j >json 2>errors
    for format in perfetto ctf folded; do
        "$spoor" report "$@" --export $format -o to.$format 2>errors || echo "not ok $format of $what: status $?"
    done
    check "$what: perfetto has the same" is_like perfetto to.perfetto json
    if command -v babeltrace2 >/dev/null; then
        check "$what: babeltrace2 reads the same" is_like ctf to.ctf json $absolute
    else
        echo "skip $what: ctf: no babeltrace2"
    fi
    check "$what: folded has the same" is_like folded to.folded json "${names[@]}"
}

# ---- what was recorded is what comes out ----
names=(i=bdev_io r=tcp_req)
record small 300 3 0
absolute="$begin $end"
exported "a recording" -f "$file"
check "it says on which machine it was made" grep -qxF "\"host\": \"$(uname -n)\"," json
exported "a group" -f "$file" --group bdev
exported "an object" -f "$file" --object r42
exported "an owner and a window" -f "$file" --owner t02 --from 0 --to 10s
small=$file
last=$("$spoor" report -f "$small" | tail -1 | sed -E 's/^[^:]*: *([0-9.]+) .*/\1/')
exported "the middle" -f "$small" --from "$(awk -v last="$last" 'BEGIN { print last - 30 }')"
"$spoor" report -f "$small" --group bdev -j >json
check "the checker sees a difference" sh -c '! python3 '"$root"'/tests/programs/export.py perfetto to.perfetto json 2>/dev/null'
cat >values.c <<'END'
#include <math.h>
#include <stdio.h>
#include <spoor/trace.h>
SPOOR_GROUP(g, "values at the ends of their types");
enum e { LEAST = -2147483647 - 1, MOST = 2147483647, MINUS = -1 };
SPOOR_ENUM(e, SPOOR_VALUE(LEAST), SPOOR_VALUE(MOST), SPOOR_VALUE(MINUS));
SPOOR_TRACEPOINT(g, VALUES, none, SPOOR_USES, (enum e, event, e), (int64_t, integer), (uint64_t, string), (double, real),
                 (int8_t, small), (_Bool, yes), (const char *, text), (const void *, pointer));
SPOOR_TRACEPOINT_HERE(VALUES);
int main(void)
{
    const struct spoor_trace_options options = {.size = sizeof options, .name = "values", .enable = "all"};
    if (spoor_trace_open(&options))
        return 1;
    SPOOR_RECORD(VALUES, SPOOR_NO_OWNER, 0, LEAST, INT64_MIN, UINT64_MAX, 1e300, -128, 1, "q\"uo\\te, } { = 1", (void *)-1);
    SPOOR_RECORD(VALUES, SPOOR_NO_OWNER, 0, 5, INT64_MAX, 0, NAN, 127, 0, "", NULL);
    SPOOR_RECORD(VALUES, SPOOR_NO_OWNER, 0, MOST, -1, 1, INFINITY, 0, 0, NULL, &options);
    SPOOR_RECORD(VALUES, SPOOR_NO_OWNER, 0, MINUS, 0, 1, -0.1, -1, 1, "\xc3\xbc", &options);
    puts(spoor_trace_path());
}
END
begin=$(date +%s)
${CC:-gcc} -std=gnu11 -I"$root/include" -o values values.c "$build/libspoor.a" -lpthread ${SAN:+-fsanitize=address,undefined} && ./values >out 2>errors
absolute="$begin $(($(date +%s) + 1))"
exported "values at the ends of their types" -f "$(head -1 out)"
check "enumerators have names" grep -q LEAST to.perfetto
if command -v babeltrace2 >/dev/null; then
    check "in ctf too" sh -c 'babeltrace2 to.ctf 2>errors | grep -q "\"LEAST\" : container = -2147483648"'
fi
record lossy 4000 2 0 64
absolute="$begin $end"
exported "with events overwritten" -f "$file"
exported "with events overwritten, a group" -f "$file" --tracepoint 'BDEV_IO_*'
check "some were" grep -q '"lost_before"' json

if [ -w /dev/shm ]; then
    name=spoor_export_$$
    SPOOR_TRACE_DIR= ./spdk_writer $name 200 0 </dev/null >out
    shared=$(head -1 out)
    names=(i=i r=r) absolute="0 0"
    exported "SPDK" -f "$shared" --whole
    check "SPDK: no absolute times, no merging" sh -c "! '$spoor' report -f '$shared' --merge /dev/null 2>errors && grep -q 'counter alone; what .spoor record. makes' errors"
else
    echo "skip SPDK: no /dev/shm that can be written"
fi

# ---- files ----
echo mine >taken
check "what exists is not overwritten" sh -c "! '$spoor' report -f '$small' --export folded -o taken 2>errors && grep -q 'cannot create taken: File exists' errors && [ \"\$(cat taken)\" = mine ]"
ln -s elsewhere link
check "nor is a symbolic link followed" sh -c "! '$spoor' report -f '$small' --export folded -o link 2>errors && [ ! -e elsewhere ]"
ln -s elsewhere links
check "nor one for a directory" sh -c "! '$spoor' report -f '$small' --export ctf -o links 2>errors && [ ! -e elsewhere ]"
rm -rf to.*
"$spoor" report -f "$small" --export folded -o to.folded 2>errors && "$spoor" report -f "$small" --export ctf -o to.ctf 2>errors
check "what was recorded is for its owner only" test "$(stat -c %a to.folded to.ctf to.ctf/metadata | xargs)" = "600 700 600"
if [ "$(id -u)" = 0 ]; then
    SUDO_UID=4321 SUDO_GID=1234 "$spoor" report -f "$small" --export ctf -o to.called 2>errors
    check "and belongs to who called sudo" test "$(stat -c %u:%g to.called to.called/metadata to.called/stream_0 | sort -u)" = 4321:1234
fi
full() { # runs with files of at most 64 KiB, which writes feel as they feel a full disk
    (
        trap '' XFSZ
        ulimit -f 64
        exec "$@"
    )
}
for format in perfetto ctf; do
    full "$spoor" report -f "$small" --export $format -o to.full >out 2>errors
    check "$format: no room is an error, and nothing is left" test $? = 1 -a ! -e to.full
    check "$format: and said" grep -q 'ERROR: cannot write to.full: File too large; it was removed' errors
done
full "$spoor" report -f "$small" -j -o to.full >out 2>errors
check "a listing to a file too" sh -c '[ ! -e to.full ] && grep -q "it was removed" errors'
"$spoor" report -f "$small" >/dev/full 2>errors
check "a full standard output is an error" sh -c "[ $? = 1 ] && grep -q 'No space left' errors"
check "ctf wants a directory" sh -c "! '$spoor' report -f '$small' --export ctf 2>errors && grep -q 'where to' errors"
check "an unknown format is an error that names the known" sh -c "! '$spoor' report -f '$small' --export pcap 2>errors && grep -q 'perfetto, ctf, folded, html, csv or ndjson' errors"
check "standard output" sh -c "'$spoor' report -f '$small' --export folded -o - >one 2>errors && '$spoor' report -f '$small' --export folded >other && cmp one other && [ -s one ]"
check "a reader that goes away is no error" sh -c "'$spoor' report -f '$small' --export perfetto 2>errors | head -c 1 >out; [ ! -s errors ]"
"$spoor" report -f "$small" >one
"$spoor" report -f "$small" -o two 2>errors
check "-o has what standard output has" cmp one two
check "what does not go together is refused" sh -c "! '$spoor' report -f '$small' --export perfetto -o to.neither --merge lines 2>errors && grep -q -e '--export perfetto has no place for the lines of --merge' errors && [ ! -e to.neither ]"

# ---- long recordings ----
if [ -z "${SAN:-}" ]; then
    record long 30000 2 0 16384
    for format in perfetto ctf folded; do
        little=$(python3 "$root/tests/programs/export.py" memory "$spoor" report -f "$small" --export $format -o to.little.$format 2>errors)
        much=$(python3 "$root/tests/programs/export.py" memory "$spoor" report -f "$file" --export $format -o to.much.$format 2>errors)
        check "$format: of 480000 events $much KiB of memory, of 7200 $little" test "$much" -lt $((little + 4096))
        rm -rf to.little.* to.much.*
    done
    # Ctrl-C, when a part was written: the program is stopped before it can end. It may be too fast for that.
    stopped=no
    for _ in $(seq 10); do
        rm -f to.stopped
        "$spoor" report -f "$file" --export perfetto -o to.stopped 2>errors &
        program=$!
        while :; do
            [ -s to.stopped ] && break
            kill -0 $program 2>/dev/null || break
            sleep 0.001
        done
        if kill -STOP $program 2>/dev/null && kill -TERM $program && kill -CONT $program && ! wait $program; then
            stopped=yes
            break
        fi
    done
    program=
    if [ $stopped = yes ]; then
        check "what is not whole is removed, and that is said" sh -c '[ ! -e to.stopped ] && grep -q "NOTE: to.stopped is not whole and was removed" errors'
    else
        echo "skip an export that is stopped: it was over each time"
    fi
fi

# ---- merged ----
# Lines at known times: each before, at and after events of the recording.
"$spoor" report -f "$small" -j >json
python3 - <<'END' >lines
import json, random
entries = json.load(open("json"))["entries"]
times = [int(e["time_ns"]) for e in entries]
random.seed(1)
picked = sorted(random.sample(times, 200) + [times[0] - 5, times[-1] + 5])
print(json.dumps({"type": "attached_probes", "count": 1}))
for i, time in enumerate(picked):
    print(json.dumps({"type": "printf", "time_ns": time, "data": "line %d: \u00fc \u0001 \"quoted\"\nsecond\n" % i}))
    if i % 50 == 0:
        print(json.dumps({"type": "map", "data": {"@": {str(i): 1}}}))
END
"$spoor" report -f "$small" --merge lines -j >merged 2>errors
check "merged: every line, in order of time" is_like merged merged lines
check "merged: from standard input" sh -c "'$spoor' report -f '$small' --merge - -j <lines 2>errors | cmp - merged"
"$spoor" report -f "$small" --merge lines >list 2>errors
check "merged: lines are marked" test "$(grep -cE '^ *>: +-?[0-9]+\.[0-9]{3} line [0-9]+: ü \\x01 "quoted"$' list)" = 202
check "merged: each line of a text" test "$(grep -cE '^ *>: +-?[0-9]+\.[0-9]{3} second$' list)" = 202
check "merged: what has no time stands without one" test "$(grep -cE '^ *>:  {10} *\{"type": "map"' list)" = 5
grep -vE '^ *>:' list >rest
check "merged: and the rest is the listing" cmp rest one
sed -E '/^ *>: {12}/d; s/^ *[^:]*: *(-?[0-9.]+) .*/\1/' list >'times'
check "merged: in the columns of the listing" sh -c '[ $(wc -l <times) -gt 7500 ] && sort -c -g times'
"$spoor" report -f "$small" --merge lines --from "${last}us" >list 2>errors
check "merged: the window is for lines too" test "$(grep -c '>:' list)" -le 6
python3 - <<'END'
import random
lines = [line for line in open("lines").read().splitlines() if "time_ns" in line]
for i in range(0, len(lines) - 8, 8):
    part = lines[i:i + 8]
    random.shuffle(part)
    lines[i:i + 8] = part
open("shuffled", "w").write("\n".join(lines))
END
"$spoor" report -f "$small" --merge shuffled -j 2>errors >merged
check "merged: lines that are a little late" python3 - <<'END'
import json
times = [int(e["time_ns"]) for e in json.load(open("merged"))["entries"]]
assert times == sorted(times) and len(times) > 7200 and not open("errors").read()
END
printf '%s\n' '{"type": "printf", "data": "x"}' 'not json' '{"a": [1, 2}' '{"time_ns": 1, "data": "unfinished' >bad
"$spoor" report -f "$small" --merge bad >list 2>errors
check "merged: what is no JSON is left out and counted" grep -q 'NOTE: 3 lines of bad are no JSON' errors
check "merged: lines without times are said" grep -q "NOTE: no line of bad says when it was" errors
check "merged: a missing file is an error" sh -c "! '$spoor' report -f '$small' --merge nowhere 2>errors && grep -q 'cannot open nowhere' errors"

# ---- with a script that runs beside a program ----
if [ "$(id -u)" = 0 ] && "$spoor" -q -e 'BEGIN { exit(); }' >out 2>errors; then
    mkfifo hold
    rm -f out
    ./recording beside 400 2 5000 >out <hold &
    program=$!
    exec 9>hold
    wait_for_file
    timeout 60 "$spoor" -q -f json --times -o script -e 'interval:ms:10 { printf("%lu\n", nsecs); if (@n++ == 20) { print(@n); exit(); } }' 9>&- >said 2>errors
    for _ in $(seq 1500); do
        [ "$(wc -l <out)" = 2 ] && break
        sleep 0.02
    done
    exec 9>&-
    wait "$program"
    program=
    check "--times: each line of an event says when" python3 - <<'END'
import json
lines = [json.loads(line) for line in open("script")]
printed = [line for line in lines if line["type"] == "printf"]
assert len(printed) >= 20, len(printed)
assert all(int(line["data"]) == int(line["time_ns"]) for line in printed), printed  # the clock is read once
assert any(line["type"] in ("map", "value") and "time_ns" in line for line in lines), lines
END
    "$spoor" report -f "$file" --merge script -j >merged 2>errors
    check "merged with a script that ran beside it" is_like merged merged script
    check "$(cat seen)" test "$(sed -nE 's/.* ([0-9]+) lines between them/\1/p' seen)" -ge 10
    timeout 60 "$spoor" -q -f json -e 'BEGIN { printf("x\n"); exit(); }' >said 2>errors
    check "without --times nothing says when" sh -c '! grep -q time_ns said && grep -q printf said'
    check "--times is for JSON" sh -c "! '$spoor' --times -e 'BEGIN { exit(); }' 2>errors >said && grep -q 'lines of JSON' errors"
else
    echo "skip a script beside a program: scripts do not run here"
fi
exit 0
