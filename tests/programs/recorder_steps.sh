#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The recorder interrupted at every instruction, as each compiler makes it, and readers at every instruction of it; prints the table
# of what was lost.
#   tests/programs/recorder_steps.sh BUILD [STRIDE]      1: every pair of instructions too, in some ten minutes
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: recorder_steps.sh BUILD [STRIDE]}" && pwd) || exit 1
[ "$(uname -m)" = x86_64 ] || { echo "skip everything: steps need the trap flag of x86-64"; exit 0; }
work=$(mktemp -d "${TMPDIR:-/tmp}/spoor-steps.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
status=0
flags="-std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -I$root/src -I$root/include -I$root/tests"

run() { # NAME PROGRAM STRIDE
    echo "$1:"
    "$work/$2" "$3" | sed "s/^\(ok\|not ok\) /&$1: /"
    [ "${PIPESTATUS[0]}" = 0 ] || status=1
}

for compiler in gcc clang; do
    command -v $compiler >/dev/null || continue
    # shellcheck disable=SC2086
    $compiler $flags -o "$work/steps" "$root"/src/recorder/*.c "$root/tests/programs/recorder_steps.c" -lpthread || exit 1
    run $compiler steps "${2:-0}"
done

# Not with sanitizers: they run at each instruction as well.
if [ -z "${SAN:-}" ]; then
    # shellcheck disable=SC2086
    gcc $flags -o "$work/read" "$root/tests/programs/recorder_steps_read.c" "$build/libspoor.a" "$build/libtracer.a" \
        -lpthread -liberty -ldw -lelf || exit 1
    run readers read "$((${2:-0} * 5))"
fi
exit $status
