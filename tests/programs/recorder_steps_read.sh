#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Readers at every instruction of the recorder.
#   tests/programs/recorder_steps_read.sh BUILD [STRIDE]      1: a handler at every fifth instruction, too
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: recorder_steps_read.sh BUILD [STRIDE]}" && pwd) || exit 1
[ "$(uname -m)" = x86_64 ] || { echo "skip everything: steps need the trap flag of x86-64"; exit 0; }
[ -z "${SAN:-}" ] || { echo "skip everything: sanitizers run at each instruction as well"; exit 0; }
work=$(mktemp -d "${TMPDIR:-/tmp}/spoor-steps.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
gcc -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -I"$root/src" -I"$root/include" -I"$root/tests" -o "$work/read" \
    "$root/tests/programs/recorder_steps_read.c" "$build/libspoor.a" "$build/libtracer.a" -lpthread -liberty -ldw -lelf || exit 1
# Who opens a copy looks through all processes for one that writes it: at every instruction these had better be few.
few=(unshare --fork --pid --mount-proc)
"${few[@]}" true 2>/dev/null || few=()
"${few[@]}" "$work/read" "$((${2:-0} * 5))"
