#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# spoor convert: what one format has the other has, what is missing is missing there too, and what it has no place for is said.
#   tests/programs/convert.sh BUILD [MUTATIONS]
set -u
build=$(cd "${1:?usage: convert.sh BUILD [MUTATIONS]}" && pwd) || exit 1
mutations=${2:-40}
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor
. "$root/tests/programs/recording.bash"
begin_test convert
export SPOOR_TRACE_DIR=$dir LC_ALL=C.UTF-8
need_shared_memory
if [ ! -e "$build/libspoor.a" ]; then
    echo "skip everything: $build/libspoor.a is not built"
    exit 0
fi
cp "$build/targets/recording" . || exit 1
compile_spdk spdk_writer
compile_spdk interrupted
is_like() { python3 "$root/tests/programs/convert.py" "$@" 2>>errors; }
# converted FORMAT IN OUT: OUT and the notes in `notes`, OUT.json; a failure is told in errors.
converted() {
    rm -f "$3"
    "$spoor" convert --to "$1" "$2" "$3" >notes 2>&1 || { cp notes errors && return 1; }
    json "$3"
}
json() { "$spoor" report -j --whole -f "$1" >"$1.json" 2>errors; }
# refused WHAT ERROR ARGUMENTS…
refused() {
    local what=$1 error=$2
    shift 2
    "$spoor" convert "$@" >out 2>errors
    local status=$?
    check "$what is an error that says why" sh -c "[ $status = 1 ] && [ ! -s out ] && grep -qF -- \"$error\" errors"
}
record() { # NAME ARGUMENTS…: $file
    ./recording "$@" </dev/null >out || exit 1
    file=$(head -1 out)
}

# ---- a recording of spoor's ----
record small 200 3 0
json "$file"
mv "$file.json" small.json
check "a recording of spoor's becomes one of SPDK's" converted spdk "$file" small.spdk
check "with the same events" is_like same small.json small.spdk.json
check "as SPDK's own reader finds them" is_like spdk small.spdk small.spdk.json 3
check "what has no place is said" sh -c 'grep -q "^NOTE: 1 arguments with fractions are text there" notes &&
    grep -q "^NOTE: [0-9]* null strings are empty there" notes && grep -q "^NOTE: 2 tracepoints end their objects" notes &&
    grep -q "^NOTE: 1 arguments have no names for their values" notes &&
    grep -q "^NOTE: times count from the first event" notes && ! grep -q overwritten notes'
# A thread whose id is that of an lcore keeps it: ids begin anew when all were used.
most=$(sed -nE 's/.*"lcore": ([0-9]+),.*/\1/p' small.json | sort -n | tail -n 1)
check "that threads have other numbers is said if one has no lcore's, as with $most" test "$(grep -c '^NOTE: 3 threads have the number of an lcore' notes)" = $((most >= 1024))
check "and back it has the same" sh -c "'$spoor' convert -q --to spoor small.spdk small.back 2>errors && [ ! -s errors ] && '$spoor' report -j -f small.back >back.json 2>errors"
check "event for event" is_like same back.json small.spdk.json
"$spoor" report -f small.back --merge /dev/null 2>errors >/dev/null
check "its times are no times of this machine" grep -q "needs to know when events were" errors
cp "$file" kept
before=$(cksum <kept)
refused "an existing file" "cannot create kept: File exists" --to spdk "$file" kept
check "and it stays" test "$(cksum <kept)" = "$before"
refused "spoor's to spoor's" "is a recording of spoor's already" --to spoor "$file" again
refused "no format" "to which format? --to spdk or --to spoor" "$file" again
refused "another format" "--to takes spdk or spoor, not 'ctf'" --to ctf "$file" again
refused "one file" "two files are needed, IN and OUT" --to spdk "$file"
refused "a third file" "one recording at a time" --to spdk "$file" again more
refused "standard output" "OUT must be a file" --to spdk "$file" -
refused "no recording" "is no recording, neither of spoor nor of SPDK" --to spdk "$root/README.md" again
refused "a file that is not there" "cannot open nowhere" --to spdk nowhere again
check "none of these leave a file" test ! -e again

record empty 1 0 0
check "a recording without events is one in SPDK's format, and back" sh -c "'$spoor' convert -q --to spdk '$file' empty.spdk 2>errors && '$spoor' convert -q --to spoor empty.spdk empty.spoor 2>>errors &&
    '$spoor' report -j -f empty.spoor >empty.json 2>>errors && grep -q BDEV_IO_DONE empty.json && ! grep -q '\"lcore\"' empty.json"
rm -f "$file"

# ---- with gaps ----
record lapped 20000 2 0 64
json "$file"
mv "$file.json" lapped.json
check "what was overwritten is missing visibly" sh -c "$(declare -f converted json); spoor='$spoor'; converted spdk '$file' lapped.spdk && grep -q '^NOTE: [1-9][0-9]* events were overwritten' notes"
check "with the events that are there" is_like same lapped.json lapped.spdk.json
check "as SPDK's own reader finds them, in marks" is_like spdk lapped.spdk lapped.spdk.json 2
rm -f "$file"

# ---- a program of SPDK's: its file, what was drained, what is in its memory ----
mkfifo hold
./spdk_writer spoor_convert_$$ 3000 200 4096 >out <hold &
program=$!
exec 9>hold
wait_for_file
timeout 60 "$spoor" record -f "$file" -o drained 2>errors 9>&- &
recorder=$!
readers=("$recorder")
check "the memory of a program that records becomes a file" sh -c "$(declare -f converted json); spoor='$spoor'; converted spdk '$file' living.spdk"
check "as SPDK's own reader finds it" is_like spdk living.spdk living.spdk.json 1
for _ in $(seq 1000); do [ "$(wc -l <out)" = 3 ] && break; sleep 0.02; done
cp "$file" ended
exec 9>&-
wait "$program"
program=
wait $recorder
readers=()
rm -f "$file"
json drained
check "what was drained becomes a file of SPDK's" sh -c "$(declare -f converted json); spoor='$spoor'; converted spdk drained drained.spdk"
check "with what was recorded" test "$(grep -c '"tsc":' drained.spdk.json)" -gt 20000
check "event for event" is_like same drained.json drained.spdk.json
check "as SPDK's own reader finds it, all of it" is_like spdk drained.spdk drained.spdk.json 2
python3 "$root/tests/programs/convert.py" gaps drained >gaps
json gaps
for to in spdk spoor; do
    check "gaps in the middle and at the end become gaps of $to's" converted $to gaps gaps.$to
    check "$to: of the same length, at the same places" is_like same gaps.json gaps.$to.json
done
check "as SPDK's own reader finds them" is_like spdk gaps.spdk gaps.spdk.json 4
check "there are some" grep -q '"lost_before": [1-9]' gaps.json
json ended
check "a file of SPDK's becomes one of spoor's" converted spoor ended ended.spoor
check "with the same events and the same missing" is_like same ended.json ended.spoor.json
check "and one of SPDK's again" converted spdk ended.spoor ended.spdk
check "the same once more" is_like same ended.json ended.spdk.json
check "which SPDK's own reader finds" is_like spdk ended.spdk ended.spdk.json 2
sed -e '/^"overwritten"/d' -e 's/"lost_before": [0-9]*, //' ended.json >one
sed -e '/^"overwritten"/d' -e 's/"lost_before": [0-9]*, //' ended.spdk.json >other
check "to the letter" cmp -s one other

# ---- interrupted, and where nothing fits ----
record long 40000 3 0 16384
timeout 60 ./interrupted "$spoor" convert --to spdk "$file" long.spdk 2>errors
check "Ctrl-C leaves no file" test $? = 1 -a ! -e long.spdk
(ulimit -f 100; trap '' XFSZ; "$spoor" convert --to spdk "$file" small_disk 2>errors)
check "nor does a disk that is full" sh -c '[ ! -e small_disk ] && grep -q "^ERROR: cannot write" errors'
check "memory does not grow with the recording" sh -c "[ -n '${SAN:-}' ] || ulimit -v 400000; '$spoor' convert -q --to spdk '$file' long.spdk 2>errors" # 0.4 GB, mostly of tables
check "a million events go through" test "$(stat -c %s long.spdk)" -gt 50000000
rm -f "$file" long.spdk
file=

# ---- damaged ----
python3 "$root/tests/programs/convert.py" damage "$spoor" "$mutations" ended small.spdk drained ended.spoor small.back 2>errors >damage
check "damaged files are converted as far as they go, or an error: $(tail -n 1 damage)" [ $? = 0 ]
exit 0
