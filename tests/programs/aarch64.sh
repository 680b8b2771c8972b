#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# libspoor, its tests, what relates the counter to the clock, and probe.h built for aarch64 and run there, by QEMU's user emulation; and what they record, read here.
#   tests/programs/aarch64.sh BUILD
# Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user (56 MB to fetch, 260 MB installed).
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(cd "${1:?usage: aarch64.sh BUILD}" && pwd) || exit 1
compiler=aarch64-linux-gnu-gcc
for need in $compiler qemu-aarch64; do
    command -v $need >/dev/null || { echo "skip everything: $need is not installed"; exit 0; }
done
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-aarch64.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
flags="-std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -I$root/src -I$root/include -I$here/aarch64 -I$root/tests -I$root/tests/unit"

result() { # STATUS NAME [FILE]
    if [ "$1" = 0 ]; then echo "ok $2"; else
        echo "not ok $2"
        [ -z "${3:-}" ] || tail -n 20 "$3" | sed 's/^/    /'
    fi
}
run() { timeout 120 qemu-aarch64 "$@"; }

# ---- the library ----
for source in "$root"/src/recorder/*.c; do
    # shellcheck disable=SC2086
    $compiler $flags -fPIC -fvisibility=hidden -c "$source" -o "$(basename "$source" .c).o" 2>problems
    [ $? = 0 ] || { result 1 "$(basename "$source") compiles" problems; exit 1; }
done
aarch64-linux-gnu-ar rcs libspoor.a ./*.o
echo "ok libspoor compiles without a warning"

# ---- its unit tests ----
for source in "$root"/tests/unit/recorder*_test.c; do
    name=$(basename "$source" .c)
    # shellcheck disable=SC2086
    $compiler $flags -static -o "$name" "$source" libspoor.a -lpthread 2>problems
    [ $? = 0 ] || { result 1 "$name compiles" problems; continue; }
    run ./"$name" >"$name.out" 2>&1
    status=$?
    sed -n "s/^\(ok\|not ok\) /\1 $name: /p" "$name.out"
    sed -n "s/^skip \(.*\)/skip $name: \1/p" "$name.out"
    [ $status = 0 ] || result 1 "$name ends with status $status" "$name.out"
done

# ---- the counter beside the boot clock ----
# shellcheck disable=SC2086
$compiler $flags -static -o relation "$root"/tests/unit/relation_test.c "$root"/src/reader/{relation,timeline}.c "$root"/src/base/{vector,whole,text,arena}.c 2>problems
result $? "the relation of the counter compiles" problems
run ./relation >relation.out 2>&1
result $? "its tests" relation.out

# ---- recorded there, read here ----
# shellcheck disable=SC2086
$compiler $flags -static -o recording "$root/tests/targets/recording.c" libspoor.a -lpthread 2>problems
result $? "a program that records compiles" problems
SPOOR_TRACE_DIR=$dir run ./recording arm 500 2 0 </dev/null >out 2>errors
result $? "it runs" errors
"$build/spoor" report -f "$(head -1 out)" --stats >stats 2>notes
[ "$(awk 'NR == 1 { print $1 }' stats)" = "$(tail -1 out)" ]
result $? "all that it recorded is read" stats
"$build/spoor" report -f "$(head -1 out)" 2>notes | sed -E 's/^[^:]*: *([0-9.]+) .*/\1/' >'times'
sort -c -n times
result $? "in order of time"
# A tick of its counter is some nanoseconds; a thread's 4000 records take less than a minute.
[ "$(tail -1 times | cut -d. -f1)" -lt 60000000 ] && [ "$(tail -1 times | cut -d. -f1)" -gt 10 ]
result $? "on its clock" times

# ---- the ring under stress ----
# shellcheck disable=SC2086
$compiler $flags -static -o stress "$here/recorder_stress.c" libspoor.a -lpthread -lrt 2>problems
result $? "the stress test compiles" problems
run ./stress "${ROUNDS:-4}" 1 >stress.out 2>&1
status=$?
sed -n 's/^\(ok\|not ok\) \(.*\)/\1 stress: \2/p' stress.out
[ $status = 0 ] || result 1 "stress ends with status $status" stress.out

# ---- probes ----
for level in -O0 -O2 "-O2 -fPIE -pie"; do
    link=-static
    case $level in *pie) link=-static-pie ;; esac
    # shellcheck disable=SC2086
    $compiler -std=c11 -Wall -Wextra -Werror -Wpedantic -I"$root/include" $level -c -o main.o "$here/usdt_header.c" 2>problems &&
        $compiler -std=c11 -Wall -Wextra -Werror -Wpedantic -I"$root/include" $level -DOTHER -c -o other.o "$here/usdt_header.c" 2>>problems &&
        $compiler $link -o program main.o other.o 2>>problems
    result $? "probes compile: $level" problems
    [ "$(run ./program 2>problems | tail -n 1)" = "evaluated 0" ]
    result $? "a program with probes runs, and evaluates nothing: $level" problems
    readelf -nW program 2>problems | awk '/Provider: matrix/ { p = 1 } p && /Name:/ { print $2; p = 0 }' | sort -u | xargs >listed
    [ "$(cat listed)" = "branch done idle kinds none other phase queue-depth twelve" ]
    result $? "readelf lists its probes: $level" listed
done
exit 0
