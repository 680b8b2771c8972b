#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a probe costs while nobody listens, counted in instructions. tests/programs/disassemble.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-disassemble.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

[ "$(uname -m)" = x86_64 ] || { echo "skip disassemble: the instructions are those of x86-64"; exit 0; }
command -v objdump >/dev/null || { echo "skip disassemble: objdump is not installed"; exit 0; }

# The mnemonics of a function up to its first conditional jump, or else up to its return, in one line.
path() {
    objdump -d --no-show-raw-insn code.o | awk -v name="<$1>:" '
        $2 == name { on = 1; next }
        on && NF >= 2 { printf "%s ", $2; if ($2 ~ /^(j|ret)/) exit }'
}
# whole FUNCTION: every instruction of it, padding left out.
whole() {
    objdump -d --no-show-raw-insn code.o | awk -v name="<$1>:" '$2 == name { on = 1; next } /^$/ { on = 0 } on { $1 = ""; print }'
}

# expect NAME PATTERN FUNCTION
expect() {
    local got
    got=$(path "$3")
    if [[ "$got" =~ ^($2)$ ]]; then
        echo "ok $what: $1"
    else
        echo "not ok $what: $1: $got"
    fi
}

for compiler in gcc clang; do
    command -v $compiler >/dev/null || { echo "skip $compiler: it is not installed"; continue; }
    for level in -O1 -O2 -O3 "-O2 -fPIC"; do
        what="$compiler $level"
        $compiler -std=c11 $level -fcf-protection=none -Wall -Wextra -I"$here/../../include" -c -o code.o "$here/disassemble.c" ||
            { echo "not ok $what: compiles"; continue; }
        expect "inline, no value: one nop" "nop ret ?" inline_none
        expect "inline, values in registers and constants: one nop" "nop ret ?" inline_registers
        expect "inline, a value in memory: one nop, at most a move" "(mov )?nop ret ?" inline_memory
        expect "inline, the address of a text: one nop and a move" "(lea|mov) nop ret ?" inline_text
        # At -O1, and clang always, a function that may call makes its frame first.
        frame="((push|sub|mov) )*"
        [[ $compiler = clang || $level = -O1 ]] || frame=
        expect "declared: one load, one branch" "$frame(cmpw|movzwl test) j(ne|e) " declared_none
        expect "declared: arguments are not evaluated before" "$frame(cmpw|movzwl test) j(ne|e) " declared_three
        loads=$(whole declared_none | sed '/ j[ne]/q' | grep -c '(%rip)')
        [ "$loads" = 1 ] && echo "ok $what: declared: one load" || echo "not ok $what: declared: $loads loads"
        if whole declared_three | grep -q 'jmp .*spoor_stub'; then
            echo "not ok $what: the stub is called, never jumped to"
        else
            echo "ok $what: the stub is called, never jumped to"
        fi
    done
done
