#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What others say of the same types and places: bpftool of the kernel's, pahole of a program's, gdb of variables and of
# parameters in the middle of functions, eu-addr2line of lines.
#   tests/programs/types_peers.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: types_peers.sh BUILD}" && pwd) || exit 1
[ "$(id -u)" = 0 ] || { echo "skip everything: needs root"; exit 0; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-types-peers.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export XDG_CACHE_HOME=$dir
unset DEBUGINFOD_URLS

result() { # STATUS NAME [FILE]
    if [ "$1" = 0 ]; then echo "ok $2"; else
        echo "not ok $2"
        [ -z "${3:-}" ] || tail -n 20 "$3" | cut -c1-300 | sed 's/^/    /'
    fi
}
spoor() { timeout 100 "$build/spoor" -q "$@"; }

# The file `peer` has lines "STRUCT size NUMBER" and "STRUCT FIELD NUMBER"; a script asks the same of spoor.
compare() { # NAME PROBE FEWEST [OPTION...]
    local name=$1 probe=$2 fewest=$3
    shift 3
    awk -v probe="$probe" '
        function flush() { if (n) printf "printf(\"%s\"%s);\n", form, list; n = 0; form = list = "" }
        BEGIN { print probe " {" }
        {
            form = form $1 " " $2 " %d\\n"
            list = list ", " ($2 == "size" ? "sizeof(struct " $1 ")" : "offsetof(struct " $1 ", " $2 ")")
            if (++n == 8) flush()
        }
        END { flush(); print "exit() }" }' peer >ask.bt
    spoor -o printed ask.bt "$@" >output 2>problems
    grep -v '^$' printed | diff peer - >differences
    local status=$?
    cat problems >>differences
    [ "$(wc -l <peer)" -ge "$fewest" ] || { status=1 && echo "only $(wc -l <peer) answers" >>differences; }
    result $status "$name, $(wc -l <peer) answers" differences
}

# ---- the kernel ----
if command -v bpftool >/dev/null && [ -r /sys/kernel/btf/vmlinux ]; then
    # Names that several structs have are left out, and so are fields named like the word for the size.
    bpftool btf dump file /sys/kernel/btf/vmlinux format raw 2>/dev/null | tr -d "'" | awk '
        /^\[/ { in_struct = 0 }
        /^\[[0-9]+\] STRUCT / && $3 != "(anon)" { seen[$3]++; order[++n] = $3; split($4, size, "="); sizes[$3] = size[2]; in_struct = $3; next }
        in_struct && /bits_offset=/ && !/bitfield_size=[1-9]/ && $1 != "(anon)" && $1 != "size" {
            split($3, bits, "="); if (bits[2] % 8 == 0) fields[in_struct] = fields[in_struct] in_struct " " $1 " " bits[2] / 8 "\n" }
        END { for (i = 1; i <= n; i++) if (seen[order[i]] == 1 && sizes[order[i]] > 0 && ++k % 25 == 0) printf "%s size %d\n%s", order[i], sizes[order[i]], fields[order[i]] }' >peer
    compare "structs of the kernel, beside bpftool" begin 1000
else
    echo "skip bpftool: not installed, or the kernel has no BTF"
fi

# ---- a program ----
if command -v pahole >/dev/null && pahole "$build/spoor" 2>/dev/null | grep -q '^struct diagnostics'; then
    pahole "$build/spoor" 2>/dev/null | awk '
        /^struct [a-z_A-Z0-9]+ \{/ { name = $2; text = ""; next }
        /^\t[^\t].*\/\* +[0-9]+ +[0-9]+ \*\/$/ && name {
            line = $0
            offset = line; sub(/.*\/\* +/, "", offset); sub(/ .*/, "", offset)
            sub(/;.*/, "", line)
            if (match(line, /\(\*[a-z_A-Z0-9]+\)/)) field = substr(line, RSTART + 2, RLENGTH - 3)
            else { gsub(/\[[0-9]*\]/, "", line); gsub(/ __attribute__.*/, "", line); field = line; sub(/.*[ \t*]/, "", field) }
            if (field ~ /^[a-z_A-Z][a-z_A-Z0-9]*$/ && field != "size") text = text name " " field " " offset "\n" }
        /^\t\/\* size: / && name { size = $3; sub(/,/, "", size); sizes[name] = size; texts[name] = text; seen[name]++; order[++n] = name; name = "" }
        END { for (i = 1; i <= n; i++) if (seen[order[i]] == 1) printf "%s size %s\n%s", order[i], sizes[order[i]], texts[order[i]] }' >peer
    # Of structs that differ from unit to unit spoor takes the one of the unit that is probed.
    compare "structs of a program, beside pahole" "uprobe:$build/spoor:main" 500 -c "$build/spoor --version"
else
    echo "skip pahole: not installed, or the program has no debug information"
fi

# ---- variables and parameters, where the program stops ----
cat >places.c <<'c'
#include <stdio.h>
struct point { int x, y; };
struct point origin = {3, 4}, *where = &origin;
static long counter = 41;
__attribute__((noinline)) long step(struct point *p, long times, const char *word)
{
    long sum = 0;
    for (long i = 0; i < times; i++) {
        sum += p->x * i;
        p->y++; /* stop here */
        counter += word[0];
    }
    return sum + times;
}
int main(int argc, char **argv)
{
    printf("%ld\n", step(where, argc + 2, "word") + step(&origin, 2, "xyz"));
    return 0;
}
c
line=$(grep -n 'stop here' places.c | cut -d: -f1)
if command -v gdb >/dev/null; then
    for words in "gcc -g -O0" "gcc -g -O1" "gcc -g -O2" "gcc -gdwarf-4 -O2" "clang -g -O1"; do
        command -v ${words%% *} >/dev/null || continue
        $words places.c -o places
        cat >commands <<gdb
set pagination off
break places.c:$line
commands
silent
printf "line %ld %ld %s %ld %d\n", p->y, times, word, counter, where->x
continue
end
run >/dev/null
gdb
        gdb -nx -batch -x commands ./places 2>/dev/null | grep '^line' >expected
        spoor -o printed -e "uprobe:./places@places.c:$line { printf(\"line %d %d %s %d %d\n\", args.p->y, args.times, str(args.word), *uaddr(\"counter\"), (*uaddr(\"where\"))->x) }" \
            -c ./places >output 2>problems
        if grep -q 'left it out\|only its value\|computed' problems; then
            # Then gdb, which unwinds, may know it still; we say why we do not.
            result 0 "a parameter that is not there any more is told, $words"
            continue
        fi
        [ -s expected ] && grep -v '^$' printed | diff expected - >differences
        status=$?
        cat problems >>differences
        result $status "parameters and variables at a line, beside gdb, $words" differences
    done
    gcc -g -O1 places.c -o places
    gdb -nx -batch -ex 'printf "%ld %ld %ld\n", (long)&origin - (long)main, (long)&counter - (long)main, (long)&where - (long)main' ./places 2>/dev/null >expected
    spoor -o printed -e 'uprobe:./places:main { $m = (int64)reg("ip"); printf("%d %d %d\n", (int64)uaddr("origin") - $m, (int64)uaddr("counter") - $m, (int64)uaddr("where") - $m) }' \
        -c ./places >output 2>problems
    grep -v '^$' printed | diff expected - >differences
    result $? "addresses of variables, beside gdb" differences
else
    echo "skip gdb: not installed"
fi

# ---- lines ----
if command -v eu-addr2line >/dev/null; then
    for words in "gcc -g -O0" "gcc -g -O2 -fno-optimize-sibling-calls" "gcc -gdwarf-4 -O1" "clang -g -gdwarf-aranges -O1"; do
        command -v ${words%% *} >/dev/null || continue
        $words -DFIRES_NUMBER=4712 -fno-omit-frame-pointer "$here/symbols/fires.c" -o fires 2>problems || { result 1 "it compiles: $words" problems; continue; }
        spoor -o printed -e 'tracepoint:syscalls:sys_enter_getpgid /args.pid == 4712/ { printf("%s", ustack(perf)); }' -c 'setarch -R ./fires' >output 2>problems
        base=0x555555554000 first=1
        : >came; : >expected
        while read -r address rest; do
            [[ $rest == *"($dir/fires)" && $rest != "[inlined]"* ]] || continue
            at=$((0x$address - base - (first ? 0 : 1)))
            first=0
            # Of what was inlined eu-addr2line names the innermost first; the last two lines are the function itself.
            eu-addr2line -f -i -e fires "$(printf 0x%x $at)" | tail -n 2 | sed -E 's/ inlined at .*//; s/(:[0-9]+):[0-9]+$/\1/' | paste -sd' ' | sed -E 's/ .*\// /' >>expected
            sed -E "s| \\($dir/fires\\)\$||; s|\\+[0-9]+@.*/| |" <<<"$rest" >>came
        done <printed
        [ "$(wc -l <came)" -ge 3 ] && diff expected came >differences
        result $? "lines, beside eu-addr2line, $words" differences
    done
else
    echo "skip eu-addr2line: not installed"
fi
