#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# spoor/probe.h with every compiler, language and option that programs are built with; what must not compile; what
# linkers do to it. tests/programs/usdt_header.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: usdt_header.sh BUILD}" && pwd) || exit 1
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-header.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
include=$here/../../include
warnings="-Wall -Wextra -Werror -Wpedantic"

has() { command -v "$1" >/dev/null; }
result() { # NAME STATUS DETAIL
    if [ "$2" = 0 ]; then echo "ok $1"; else
        echo "not ok $1"
        head -n 20 "$3" | sed 's/^/    /'
    fi
}

# compile COMPILER OPTIONS…: both parts, as the language that the compiler is for. The program is `program`.
compile() {
    local compiler=$1 language="-x c -std=c11"
    shift
    case $compiler in *++*) language="-x c++ -std=c++11" ;; esac
    case $compiler in clang*) language="$language -Wno-unused-command-line-argument" ;; esac # those for the linker
    $compiler $language $warnings -I"$include" "$@" -c -o main.o "$here/usdt_header.c" &&
        $compiler $language $warnings -I"$include" "$@" -DOTHER -c -o other.o "$here/usdt_header.c" &&
        $compiler "$@" -o program main.o other.o
}

# What the program's notes must say, whoever built it.
check() { # NAME
    local name=$1
    {
        [ "$(./program | tail -n 1)" = "evaluated 0" ] || echo "arguments are evaluated though nobody listens"
        readelf -n program 2>/dev/null | awk -v wanted="done phase idle twelve queue-depth none kinds branch other" '
            /Provider:/ { provider = $2 }
            /Name:/ { name = $2; there[name] }
            /Location:/ { semaphores[provider ":" name " " $NF] }
            END {
                for (i = split(wanted, names); i > 0; i--)
                    if (!(names[i] in there))
                        print "no note of " names[i]
                for (one in semaphores) {
                    split(one, part)
                    of_done += part[1] == "matrix:done"
                    if (part[2] !~ /^0x0*$/ && used[part[2]]++)
                        print "two probes have one semaphore"
                }
                if (of_done != 1)
                    print "the two files have two semaphores of matrix:done"
            }'
        "$build/spoor" -lv "usdt:./program:matrix:done" >listed 2>&1
        printf '    %s\n' "uint64_t id" "int32_t status" "const char* text" >wanted
        grep '^    [^#]' listed | cmp -s - wanted || { echo "the types are not as declared"; cat listed; }
        grep -q '# 2 sites, semaphore' listed || { echo "not two sites of matrix:done"; cat listed; }
        "$build/spoor" -lv "usdt:./program:matrix-inline:kinds" | grep -v '^usdt\|#' >listed
        printf '    %s arg%d\n' int8 0 uint16 1 uint32 2 uint64 3 uint64 4 uint64 5 uint64 6 uint64 7 uint8 8 int32 9 int32 10 int64 11 >wanted
        case $name in *++*) sed -i 's/int32 arg10/int8 arg10/' wanted ;; esac # a character is a char there
        cmp -s listed wanted || { echo "the widths are wrong"; cat listed; }
    } >problems 2>&1
    [ ! -s problems ]
    result "$name" $? problems
}

matrix="-O0|-O1|-O2|-O3|-Os|-O0 -fPIC|-O2 -fPIE -pie|-O2 -fno-pie -no-pie|-O2 -static|-O2 -fno-omit-frame-pointer|-O2 -fsanitize=address,undefined|-O0 -fsanitize=address,undefined|-O2 -ffunction-sections -Wl,--gc-sections"
for compiler in gcc clang g++ clang++; do
    has $compiler || { echo "skip $compiler: it is not installed"; continue; }
    options=$matrix
    case $compiler in g*) options="$options|-O2 -flto" ;; esac
    IFS='|' read -ra list <<<"$options"
    for option in "${list[@]}"; do
        if compile $compiler $option >problems 2>&1; then check "$compiler $option"; else result "$compiler $option: compiles" 1 problems; fi
    done
done

# ---- other machines: only that it assembles, with the same notes ----
for compiler in "aarch64-linux-gnu-gcc" "clang -target aarch64-linux-gnu -isystem /usr/aarch64-linux-gnu/include"; do
    if ! has aarch64-linux-gnu-gcc || ! has ${compiler%% *}; then
        echo "skip ${compiler%% *} for aarch64: gcc-aarch64-linux-gnu is not installed"
        continue
    fi
    for level in -O0 -O2 "-O2 -fPIC"; do
        $compiler -std=c11 $warnings -I"$include" $level -c -o arm.o "$here/usdt_header.c" >problems 2>&1 &&
            [ "$(readelf -nW arm.o 2>/dev/null | grep -c 'Provider: matrix$')" -ge 4 ]
        result "${compiler%% *} for aarch64 $level" $? problems
    done
done

# ---- SPOOR_NO_PROBES ----
for compiler in gcc clang g++ clang++; do
    has $compiler || continue
    for level in -O0 -O2; do
        compile $compiler $level -DSPOOR_NO_PROBES >problems 2>&1 && [ "$(./program)" = "evaluated 0" ] &&
            ! readelf -SW program | grep -q 'probes\|stapsdt\|note.spoor' && ! nm program | grep -q 'spoor_'
        result "$compiler $level -DSPOOR_NO_PROBES leaves nothing" $? problems
    done
done

# ---- linkers that fold identical functions ----
for linker in gold lld; do
    has ld.$linker && has clang || { echo "skip folding with $linker: it is not installed"; continue; }
    compile clang -O2 -ffunction-sections -fuse-ld=$linker -Wl,--icf=all >problems 2>&1 &&
        [ "$(readelf -n program | awk '/Name: (done|phase|idle|twelve)$/ { n = $2 } n && /Location/ { print n, $2; n = "" }' | sort -u | awk '{ print $2 }' | sort | uniq -d)" = "" ]
    result "$linker does not make two stubs one" $? problems
done

# ---- code that the linker drops ----
cat >dropped.c <<'END'
#include <spoor/probe.h>
SPOOR_PROBE_DECLARE(gone, declared, (int, a));
void unused(int a);
void unused(int a) { SPOOR_PROBE(gone, inside, a); SPOOR_FIRE(gone, declared, a); }
int main(void) { SPOOR_PROBE(gone, kept); return 0; }
END
if has clang && has ld.lld; then # GNU ld keeps what notes speak of
    clang -O2 -I"$include" -ffunction-sections -fuse-ld=lld -Wl,--gc-sections -o program dropped.c >listed 2>&1 &&
        "$build/spoor" -l usdt:./program >listed 2>&1 && [ "$(cat listed)" = "usdt:./program:gone:kept" ]
    result "probes in code that the linker dropped are not listed" $? listed
else
    echo "skip dropped code: clang or lld is not installed"
fi

# ---- what must not compile ----
refused() { # NAME TEXT
    printf '#include <spoor/probe.h>\nSPOOR_PROBE_DECLARE(p, two, (int, a), (const char *, b));\nstruct s { long a[3]; };\nvoid f(int x, double d, struct s s);\nvoid f(int x, double d, struct s s)\n{\n    (void)x, (void)d, (void)s;\n    %s;\n}\n' "$2" >refused.c
    for compiler in gcc clang g++ clang++; do
        has $compiler || continue
        language="-x c -std=c11"
        case $compiler in *++*) language="-x c++ -std=c++11" ;; esac
        ! $compiler $language $warnings -I"$include" -c -o refused.o refused.c >problems 2>&1
        result "$compiler refuses $1" $? refused.c
    done
}
refused "a value too few" 'SPOOR_FIRE(p, two, x)'
refused "a value too many" 'SPOOR_FIRE(p, two, x, "b", 3)'
refused "a probe that is not declared" 'SPOOR_FIRE(p, tow, x, "b")'
refused "a pointer for an integer" 'SPOOR_FIRE(p, two, "a", "b")'
refused "floating point" 'SPOOR_PROBE(p, inline, d)'
refused "a struct" 'SPOOR_PROBE(p, inline, s)'
refused "thirteen values" 'SPOOR_PROBE(p, inline, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)'
