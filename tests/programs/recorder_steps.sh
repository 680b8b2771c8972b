#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The recorder interrupted at every instruction, as each compiler makes it and on aarch64 (by QEMU's user emulation); prints the
# table of what was lost.
#   tests/programs/recorder_steps.sh BUILD [STRIDE]      1: every pair of instructions too, in some ten minutes
# Of aarch64's instructions only those before which a handler makes a difference: see recorder_steps.h.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
: "${1:?usage: recorder_steps.sh BUILD [STRIDE]}"
[ "$(uname -m)" = x86_64 ] || { echo "skip everything: steps need the trap flag of x86-64"; exit 0; }
work=$(mktemp -d "${TMPDIR:-/tmp}/spoor-steps.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
processes=()
flags="-std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -I$root/src -I$root/include -I$root/tests -Wl,--wrap=clock_measure_rate -Wl,--wrap=clock_gettime"

# Begins one; they do not disturb each other.
run() { # NAME STRIDE COMMAND…
    (
        "${@:3}" "$2" >"$work/$1.printed"
        status=$?
        echo "$1:"
        sed "s/^\(ok\|not ok\) /&$1: /" "$work/$1.printed"
        exit $status
    ) >"$work/$1.said" &
    processes+=($!)
}

for compiler in gcc clang; do
    command -v $compiler >/dev/null || continue
    # shellcheck disable=SC2086
    $compiler $flags -o "$work/steps-$compiler" "$root"/src/recorder/*.c "$root/tests/programs/recorder_steps.c" -lpthread || exit 1
    run $compiler "${2:-0}" "$work/steps-$compiler"
done

# The code that is interrupted is in a section of its own there.
cross=aarch64-linux-gnu
missing=
for need in $cross-gcc qemu-aarch64; do
    command -v "$need" >/dev/null || missing=$need
done
if [ -n "$missing" ]; then
    echo "skip aarch64: $missing is not installed"
else
    for part in ring directory; do
        # shellcheck disable=SC2086
        $cross-gcc $flags -c -o "$work/$part.o" "$root/src/recorder/$part.c" &&
            $cross-objcopy --rename-section .text=steps_text "$work/$part.o" || exit 1
    done
    # shellcheck disable=SC2046,SC2086
    $cross-gcc $flags -static -o "$work/steps-aarch64" "$work/ring.o" "$work/directory.o" \
        $(find "$root/src/recorder" -name '*.c' ! -name ring.c ! -name directory.c) "$root/tests/programs/recorder_steps.c" \
        -lpthread || exit 1
    run aarch64 "${2:-0}" qemu-aarch64 "$work/steps-aarch64"
fi

status=0
for process in "${processes[@]}"; do
    wait "$process" || status=1
done
cat "$work"/*.said
exit $status
