#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Living programs whose recordings lie, differently at each moment (hostile_writer.c): whatever reads, copies or steers them ends
# by itself, with an error or without, and what it may do is known. With sanitizers in check-deep.
#   tests/programs/hostile_writers.sh BUILD [RUNS] [SEED]
set -u
build=$(cd "${1:?usage: hostile_writers.sh BUILD [RUNS] [SEED]}" && pwd) || exit 1
runs=${2:-60} seed=${3:-1}
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor
if [ "$(id -u)" != 0 ]; then
    echo "skip everything: needs root"
    exit 0
fi
. "$root/tests/programs/recording.bash"
begin_test hostile-writers
unset SUDO_UID SUDO_GID SPOOR_TRACE
export ASAN_OPTIONS=detect_leaks=0:exitcode=99:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1:exitcode=99
cp "$build/targets/recording" . || exit 1
gcc -std=gnu11 -O2 -D_GNU_SOURCE -I"$root/src" -o hostile_writer "$root/tests/programs/hostile_writer.c" || exit 1

# Small ones: the less of a file is right, the more of it is looked at.
good=$(SPOOR_TRACE_DIR=$dir ./recording bench 150 2 0 16 </dev/null | head -n 1)
mv "$good" good.spoor
"$spoor" record -q -f good.spoor -o good.drained && "$spoor" convert -q --to spdk good.spoor good.spdk || exit 1

commands() {
    cat <<'C'
report -f X
report -j --step -f X
report --stats -f X
report --slowest 3 -f X
report --whole --follow -f X
report --export perfetto -o made -f X
report --export ctf -o made -f X
report --export folded -o made -f X
record -q -f X -o made --duration 30ms
record -q -f X -o made --duration 30ms --rotate-size 4K --keep 2
ctl -f X show
ctl -f X enable all
ctl -f X disable tcp
ctl -f X filter --owner 1
ctl -f X clear
ctl -f X dump made
ctl -f X dump 5ms made
convert -q --to spdk X made
-q -f X -e 'trace:bdev:BDEV_IO_START { @[probe, comm] = count(); @len = hist(args.len); } trace:tcp:* { printf("%s %lld\n", owner.description, nsecs); } interval:ms:20 { exit(); }'
-q -f X -e 'trace:* { @[probe] = count(); } tracepoint:sched:sched_switch { @switches = count(); } interval:ms:20 { exit(); }'
C
}
mapfile -t all < <(commands)
wrong=0 tried=0
declare -A ends
while [ $tried -lt "$runs" ]; do
    formats=(spoor spoor spdk drained)
    format=${formats[seed % 4]}
    mkfifo hold
    ./hostile_writer good.$format "living.7.spoor" $seed >said <hold &
    program=$!
    exec 8>hold
    until_so test -s said
    for command in "${all[@]}"; do
        [ $tried -lt "$runs" ] || break
        rm -rf made*
        bounded=(timeout -k 2 30)
        [[ $command != *--follow* ]] || bounded=(timeout -s INT -k 10 0.3)
        eval "${bounded[*]} '$spoor' ${command//X/living.7.spoor}" >output 2>errors </dev/null
        status=$?
        tried=$((tried + 1))
        ends[$status]=$((${ends[$status]:-0} + 1))
        [[ $command != *--follow* ]] || [ $status != 124 ] || status=0
        if [ $status -gt 1 ] || grep -qE 'Sanitizer|runtime error:' errors || { [ $status = 1 ] && ! grep -q ERROR errors; }; then
            wrong=$((wrong + 1))
            echo "# seed $seed, $format: $command: status $status"
            head -n 40 errors
        fi
    done
    exec 8>&-
    wait $program
    program=
    rm -f hold said living.7.spoor
    seed=$((seed + 1))
done
echo "$tried runs beside programs whose recordings lie; how they ended: $(for end in "${!ends[@]}"; do echo -n "$end: ${ends[$end]} times; "; done)"
check "each ends with an error or without" test $wrong = 0
