#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The recorder interrupted at every instruction, as each compiler makes it; prints the table of what was lost.
#   tests/programs/recorder_steps.sh BUILD [STRIDE]      1: every pair of instructions too, in minutes
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(uname -m)" = x86_64 ] || { echo "skip everything: steps need the trap flag of x86-64"; exit 0; }
work=$(mktemp -d "${TMPDIR:-/tmp}/spoor-steps.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
status=0
flags="-std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -I$root/src -I$root/include -I$root/tests"
for compiler in gcc clang; do
    command -v $compiler >/dev/null || continue
    # shellcheck disable=SC2086
    $compiler $flags -o "$work/steps" "$root"/src/recorder/*.c "$root/tests/programs/recorder_steps.c" -lpthread || exit 1
    echo "$compiler:"
    (cd "$work" && ./steps "${2:-0}") | sed "s/^\(ok\|not ok\) /&$compiler: /"
    [ "${PIPESTATUS[0]}" = 0 ] || status=1
done
exit $status
