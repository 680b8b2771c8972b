#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Integers beside the C compiler's: random expressions over all widths and signs, of values that are known when the
# script is compiled and of the same values read from maps when it runs: integers.sh BUILD. In C the rules of the
# language are spelled out: everything is 64 bits wide, and signed when one side is.
set -u
build=$(cd "${1:?usage: integers.sh BUILD}" && pwd) || exit 1
[ "$(id -u)" = 0 ] || { echo "skip integers: needs root" && exit 0; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-integers.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

# Writes constants.bt, variables.bt and expected.c of a seed.
generate() {
    awk -v seed="$1" '
    function below(n) { return int(rand() * n) }
    # Leaves its text in folded, read and c, its sign in is_signed.
    function expression(depth,    op, l_folded, l_read, l_c, l_signed, type, value, sign) {
        if (!depth || below(7) == 0) {
            type = below(8)
            value = below(words)
            folded = "(" names[type] ")" word[value]
            read = "(" names[type] ")@w" value
            c = "(" c_names[type] ")" word[value] "ULL"
            is_signed = type < 4
            if (below(4) == 0) {
                folded = "(" folded ")"; read = "(" read ")"
            }
            return
        }
        op = ops[below(16)]
        expression(depth - 1)
        l_folded = folded; l_read = read; l_c = c; l_signed = is_signed
        expression(depth - 1)
        sign = (l_signed || is_signed) ? "S" : "U"
        if (op == "/" || op == "%") {
            folded = "(" folded " | 1)"; read = "(" read " | 1)"; c = "(" c " | 1)"
            c = (op == "/" ? "divide" : "modulo") sign "((" sign ")(" l_c "), (" sign ")" c ")"
            is_signed = sign == "S"
        } else if (op == "<<" || op == ">>") {
            folded = "(" folded " & 63)"; read = "(" read " & 63)"
            sign = l_signed ? "S" : "U"
            c = "(" sign ")((" (op == "<<" ? "U" : sign) ")(" l_c ") " op " ((U)(" c ") & 63))"
            is_signed = l_signed
        } else if (op ~ /[<>=!]/) {
            c = "(U)((" sign ")(" l_c ") " op " (" sign ")(" c "))"
            is_signed = 0
        } else { # what overflows wraps
            if (op == "-")
                sign = "S"
            c = "(" sign ")((U)(" sign ")(" l_c ") " op " (U)(" sign ")(" c "))"
            is_signed = sign == "S"
        }
        folded = "(" l_folded " " op " " folded ")"
        read = "(" l_read " " op " " read ")"
    }
    BEGIN {
        srand(seed)
        split("int8 int16 int32 int64 uint8 uint16 uint32 uint64", list)
        for (i = 1; i <= 8; i++) { names[i - 1] = list[i]; c_names[i - 1] = list[i] "_t" }
        split("+ - * / % & | ^ << >> == != < <= > >=", list)
        for (i = 1; i <= 16; i++) ops[i - 1] = list[i]
        words = split("0 1 2 3 7 63 127 128 129 255 256 32767 32768 65535 65536 2147483647 2147483648 4294967295 4294967296 81985529216486895 9223372036854775807 9223372036854775808 18446744073709551615 18446744073709551614 12297829382473034410", list)
        for (i = 1; i <= words; i++) word[i - 1] = list[i]
        print "begin {" >"constants.bt"
        print "begin {" >"variables.bt"
        for (i = 0; i < words; i++) print "@w" i " = (uint64)" word[i] ";" >"variables.bt"
        print "}\nend {" >"variables.bt"
        print "#include <stdint.h>\n#include <stdio.h>\ntypedef int64_t S;\ntypedef uint64_t U;" >"expected.c"
        print "static S divideS(S x, S y) { return y == -1 ? (S)(0 - (U)x) : x / y; }" >"expected.c"
        print "static S moduloS(S x, S y) { return y == -1 ? 0 : x % y; }" >"expected.c"
        print "static U divideU(U x, U y) { return x / y; }\nstatic U moduloU(U x, U y) { return x % y; }" >"expected.c"
        print "int main(void) {" >"expected.c"
        for (n = 0; n < 60; n++) {
            expression(1 + below(4))
            print "printf(\"%d %lld\\n\", " n ", (int64)(" folded "));" >"constants.bt"
            print "printf(\"%d %lld\\n\", " n ", (int64)(" read "));" >"variables.bt"
            print "printf(\"%d %lld\\n\", " n ", (long long)(" c "));" >"expected.c"
        }
        print "}" >"constants.bt"
        print "}" >"variables.bt"
        print "return 0; }" >"expected.c"
    }' || return 1
    gcc -w -O1 -fwrapv -o expected expected.c && ./expected >expected.out
}

compared=0
for seed in 1 2 3 4 5 6; do
    generate $seed || { echo "not ok integers: the expressions of seed $seed" && exit 1; }
    for form in constants variables; do
        if ! timeout 120 "$build/spoor" -q $form.bt >out 2>errors || grep -q ERROR errors; then
            echo "not ok integers: $form of seed $seed"
            grep -A 3 ERROR errors | head -n 20
            continue
        fi
        grep '^[0-9]' out >got
        if diff expected.out got >differs; then
            compared=$((compared + 60))
        else
            echo "not ok integers: $form of seed $seed: '<' is C, '>' is spoor"
            head -n 12 differs
            sed -n 's/^> \([0-9]*\) .*/\1/p' differs | head -n 3 | while read -r n; do grep "\"%d %lld..\", $n, " $form.bt; done
        fi
    done
done
[ $compared = 720 ] && echo "ok integers: $compared as in C"
