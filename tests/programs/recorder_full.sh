#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A full /dev/shm, for real: a small tmpfs in its place, seen by this test alone. Errors where there are to be errors, lost records
# that are counted where there are not, and never SIGBUS.
#   tests/programs/recorder_full.sh BUILD
set -u
build=$(cd "${1:?usage: recorder_full.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor
if [ "${2:-}" != inside ]; then
    [ "$(id -u)" = 0 ] || { echo "skip everything: needs root"; exit 0; }
    unshare -m true 2>/dev/null || { echo "skip everything: no mount namespace of its own"; exit 0; }
    exec unshare -m --propagation private bash "$0" "$build" inside
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-full.XXXXXX") || exit 1
program=
finish() {
    [ -z "$program" ] || kill -KILL "$program" 2>/dev/null
    wait 2>/dev/null
    rm -rf "$dir"
}
trap finish EXIT
cd "$dir" || exit 1
unset SPOOR_TRACE_DIR
mount -t tmpfs -o size=4M tmpfs /dev/shm || { echo "skip everything: no tmpfs can be mounted"; exit 0; }

. "$root/tests/programs/recording.bash"
fill() { dd if=/dev/zero of=/dev/shm/filler bs=4096 oflag=append conv=notrunc status=none 2>/dev/null; }
room() { # KIB: what is left
    rm -f /dev/shm/filler
    fill
    truncate -s $(($(stat -c %s /dev/shm/filler) - $1 * 1024)) /dev/shm/filler
}
cp "$build/targets/recording" . || exit 1
cat >dumper.c <<'END'
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <spoor/trace.h>
SPOOR_GROUP(g, "a group");
SPOOR_TRACEPOINT(g, T, none, SPOOR_USES, (int, n));
SPOOR_TRACEPOINT_HERE(T);
int main(void)
{
    const struct spoor_trace_options options = {.size = sizeof options, .name = "dumper", .enable = "all", .ring_bytes = 65536,
        .dump_signal = SIGUSR2, .dump_path = "/dev/shm/by_signal", .flags = SPOOR_TRACE_REMOVE};
    if (spoor_trace_open(&options))
        return puts(spoor_trace_error()), 1;
    puts(spoor_trace_path());
    fflush(stdout);
    getchar(); /* the disk becomes full */
    for (int i = 0; i < 100000; i++)
        SPOOR_RECORD(T, 0, 0, i);
    printf("%s\n", strerror(-spoor_trace_dump("/dev/shm/by_call", 0)));
    raise(SIGUSR2);
    printf("%d %d\n", access("/dev/shm/by_call", F_OK), access("/dev/shm/by_signal", F_OK));
    spoor_trace_close();
    return 0;
}
END
${CC:-gcc} -std=gnu11 -O2 -g -I"$root/include" -o dumper dumper.c "$build/libspoor.a" -lpthread ${SAN:+-fsanitize=address,undefined} || exit 1
mkfifo hold

# ---- no space at all ----
fill
./recording full 100 1 0 64 >out 2>errors </dev/null
check "open on a full file system is an error" test $? = 1
check "that says what to do" grep -q 'cannot reserve space for the recording /dev/shm/full\.[0-9]*\.spoor: No space left on device.*spoor ctl clean' errors
check "and leaves nothing" sh -c '! ls /dev/shm/*.spoor 2>/dev/null'

# ---- space for the beginning, and for some rings of forty, small ones, whose threads live at one time ----
room 700
./recording part 100 40 2000 128 >out 2>errors </dev/null
check "threads that get no ring do no harm" test $? = 0
file=$(head -1 out)
written=$(tail -1 out)
"$spoor" report -f "$file" --stats >stats 2>notes
read_=$(awk 'NR == 1 { print $1 }' stats)
lost=$(awk '/could not be recorded/ { print $2 }' notes)
over=$(grep -oE '[0-9]+ (older )?events were overwritten' notes | awk '{ s += $1 } END { print s }')
check "what they could not record is counted" test "${lost:-0}" -gt 0
check "and why" grep -q "recorded by the program: $lost because there was no space for one more ring\$" notes
check "all is accounted for" test $((read_ + ${lost:-0} + ${over:-0})) = "$written"
rm -f "$file"

# ---- it becomes full while the program runs ----
rm -f /dev/shm/filler
./recording live 0 2 100 64 >out <hold 2>errors &
program=$!
exec 9>hold
wait_for_file
recorded() { "$spoor" report -f "$file" --stats 2>/dev/null | awk 'NR == 1 { print $1 }'; }
more_than() { [ "$(recorded)" -gt "$1" ] 2>/dev/null; }
until_so more_than 100
fill
before=$(recorded)
check "a program whose file system becomes full goes on recording" until_so more_than "$before"
"$spoor" report -f "$file" >list 2>errors
check "and is read" test "$(wc -l <list)" -gt 100 -a "${before:-0}" -gt 100
"$spoor" ctl -f "$file" dump /dev/shm/dump 2>errors
check "a dump into it is an error" test $? = 1
check "that names the file and the reason" grep -q '^ERROR: cannot write /dev/shm/dump: No space left on device' errors
check "and leaves no half of a dump" test ! -e /dev/shm/dump
timeout 20 "$spoor" record -f "$file" -o /dev/shm/drained --duration 1s 2>errors
check "so is draining into it" test $? = 1
check "with the reason" grep -q '^ERROR: cannot write /dev/shm/drained: No space left on device' errors
rm -f /dev/shm/drained
"$spoor" ctl -f "$file" disable all 2>errors
check "steering needs no space" test $? = 0
"$spoor" ctl -f "$file" dump elsewhere 2>errors
check "a dump to another place works" test "$("$spoor" report -f elsewhere 2>/dev/null | wc -l)" -gt 100
kill -KILL $program
wait $program 2>/dev/null
program=
exec 9>&-
"$spoor" ctl clean >cleaned 2>errors
check "clean makes room" sh -c "grep -q 'removed $file' cleaned && [ ! -e $file ]"

# ---- dumps that the program makes itself ----
rm -f /dev/shm/filler
./dumper >out <hold 2>errors &
program=$!
exec 9>hold
for _ in $(seq 1000); do
    [ -s out ] && break
    sleep 0.02
done
fill
exec 9>&-
wait $program
check "a program that dumps into it goes on" test $? = 0
program=
check "the call says why" grep -qx 'No space left on device' out
check "and neither call nor signal leaves a file" grep -qx -- '-1 -1' out
exit 0
