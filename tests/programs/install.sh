#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What `make install` puts where, that it works there (programs, tools, manual pages and their examples, pkg-config, CMake), and that
# `make uninstall` takes exactly that away.
#   tests/programs/install.sh BUILD
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: install.sh BUILD}" && pwd) || exit 1
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-install.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

result() { # STATUS NAME [FILE]
    if [ "$1" = 0 ]; then echo "ok $2"; else
        echo "not ok $2"
        [ -z "${3:-}" ] || tail -n 20 "$3" | sed 's/^/    /'
    fi
}

# ---- install ----
tree=$dir/tree multiarch=$(gcc -print-multiarch) lib=$dir/tree/opt/lib${multiarch:+/$multiarch}
put() { # TARGET VARIABLES…
    make -s -C "$root" BUILD="$build" PREFIX="$tree/opt" LIBDIR="$lib" INCLUDEDIR="$tree/headers" "$@" >log 2>&1
}
mkdir -p "$tree/opt/bin" "$tree/opt/share/spoor/tools" "$tree/headers/spoor"
touch "$tree/opt/bin/bpftrace" "$tree/opt/share/spoor/tools/mine.bt" "$tree/headers/spoor/mine.h"
find "$tree" ! -type d | sort >before
put install
result $? "make install" log
share=$tree/opt/share spoor=$tree/opt/bin/spoor
export LD_LIBRARY_PATH=$lib
for file in "$spoor" "$lib"/lib{spoor,spoortracer}.{so.1,a}; do
    readelf -SW "$file" 2>/dev/null | grep -q '\.debug_info'
    [ $? = 1 ]
    result $? "no debug information in ${file##*/}"
done
put install PREFIX=relative LIBDIR=/x
[ $? != 0 ] && grep -q 'PREFIX=relative: it must begin with /' log
result $? "a prefix that depends on where one stands is refused" log
make -s -C "$root" BUILD="$build" DESTDIR="$dir/staged" PREFIX=/usr STRIP= BPFTRACE=1 install >log 2>&1
readelf -SW "$dir/staged/usr/bin/spoor" | grep -q '\.debug_info' && [ "$(readlink "$dir/staged/usr/bin/bpftrace")" = spoor ] &&
    grep -qx 'libdir=${prefix}/lib' "$dir/staged/usr/lib/pkgconfig/spoor.pc"
result $? "DESTDIR, STRIP and BPFTRACE" log

# ---- programs, tools, pages ----
"$spoor" biolatency --help 2>log | grep -q '^biolatency: how long' && (cd / && "$spoor" --check -q opensnoop) >log 2>&1
result $? "tools are found below the prefix" log
missing=$(for page in $("$spoor" --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p') $(cd "$root/tools" && ls ./*.bt | sed 's,^\./\(.*\)\.bt$,\1,'); do
    [ -s "$share/man/man1/spoor-$page.1" ] || echo "$page"
done)
[ -z "$missing" ]
result $? "commands and tools have manual pages $missing"
if command -v man >/dev/null; then
    for page in "$share"/man/man?/*; do
        warnings=$(man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null)
        [ -z "$warnings" ] || printf '%s: %s\n' "${page##*/}" "$warnings"
    done >log
    [ ! -s log ]
    result $? "manual pages are well-formed" log
    MANWIDTH=200 man -l "$share/man/man1/spoor-offcpu.1" 2>/dev/null | tr -s ' ' >page
    grep -q '^ spoor-offcpu - how long threads did not run, and where they stopped$' page &&
        grep -q '^ spoor offcpu --pid=PID one process$' page && grep -q '^ @usecs\[kernel stack, user stack, COMM\]' page
    result $? "a tool's page says what the head of its script says" page
fi
cmp -s "$root/examples/blockd/main.c" "$share/doc/spoor/examples/blockd/main.c"
result $? "examples are there"

# ---- pkg-config ----
sanitize=
readelf -d "$lib/libspoortracer.so" | grep -q libasan && sanitize=-fsanitize=address,undefined
compile=-I$tree/headers libraries="-L$lib -lspoor"
if command -v pkg-config >/dev/null; then
    export PKG_CONFIG_PATH=$lib/pkgconfig
    for name in spoor spoortracer; do
        [ "$(pkg-config --variable=libdir $name) $(pkg-config --variable=includedir $name)" = "$lib $tree/headers" ]
        result $? "pkg-config knows both directories of $name"
    done
    compile=$(pkg-config --cflags spoor) libraries=$(pkg-config --libs spoor)
fi

# ---- the manual's examples ----
example() { # PAGE: the program between the first .EX and .EE
    awk '/^\.EE/ { exit } is_in { gsub(/\\e/, "\\"); gsub(/\\-/, "-"); print } /^\.EX/ { is_in = 1 }' "$share/man/man3/$1.3"
}
example spoor_trace >disk.c
example spoor_probe >shop.c
for compiler in gcc clang; do
    command -v $compiler >/dev/null || continue
    # shellcheck disable=SC2086
    $compiler -O2 -Wall -Wextra -Werror -std=gnu11 $sanitize $compile -o disk disk.c $libraries >log 2>&1 &&
        SPOOR_TRACE_DIR=$dir ./disk >path 2>log && "$spoor" report -f "$(cat path)" >out 2>log &&
        [ "$(awk '{ print $5 }' out | sort | uniq -c | xargs)" = "3 REQUEST_DONE 3 REQUEST_NEW" ] && grep -q 'kind: *WRITE *offset:4096' out &&
        grep -q 'status:-5 *why: *medium error' out
    result $? "spoor_trace(3)'s example records, with $compiler" out
    # shellcheck disable=SC2086
    $compiler -O2 -Wall -Wextra -Werror -std=gnu11 $compile -o shop shop.c >log 2>&1 && echo text | ./shop >out 2>&1 && [ ! -s out ] &&
        [ "$("$spoor" -l 'usdt:./shop:*' | wc -l)" = 2 ] && "$spoor" -lv 'usdt:./shop:sold' | grep -q 'int32_t cents'
    result $? "spoor_probe(3)'s example has its probes, with $compiler" out

    # ---- a tracepoint without a home ----
    sed '/HERE(REQUEST_DONE)/d' disk.c >forgotten.c
    for linker in "" -fuse-ld=lld; do
        [ -z "$linker" ] || command -v ld.lld >/dev/null || continue
        # shellcheck disable=SC2086
        $compiler $linker -O2 $compile -o forgotten forgotten.c $libraries >log 2>&1
        [ $? != 0 ] && grep -qE 'undefined .*SPOOR_TRACEPOINT_HERE.REQUEST_DONE' log
        result $? "the linker names a forgotten SPOOR_TRACEPOINT_HERE, with $compiler $linker" log
    done
done
for page in trace probe; do
    missing=$({ sed -n 's/^#define \(SPOOR_[A-Z_]*[A-Z]\)(.*/\1/p; s/^SPOOR_TRACE_API_ .*[ *]\(spoor_[a-z_]*\)(.*/\1/p' "$root/include/spoor/$page.h"
        sed -n '/^struct spoor_trace_options/,/^}/s/^    [^/]*[ *]\([a-z_]*\);.*/\1/p' "$root/include/spoor/$page.h"
    } | grep -vE '^SPOOR_(USDT|CALL|EACH)_|_v[0-9]$|_(SCOPE)$' | sort -u | while read -r name; do
        grep -q "$name" "$root/man/spoor_$page.3" || echo "$name"
    done)
    [ -z "$missing" ]
    result $? "spoor_$page(3) names all that its header has $missing"
done

# ---- CMake ----
if command -v cmake >/dev/null; then
    mkdir cmake
    cp disk.c "$root/examples/watch.c" cmake
    cat >cmake/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(installed C)
find_package(spoor 0.1 REQUIRED COMPONENTS spoor spoortracer)
add_executable(disk disk.c)
target_link_libraries(disk spoor::spoor)
add_executable(watch watch.c)
target_link_libraries(watch spoor::spoortracer)
find_package(spoor 99 QUIET)
if(spoor_FOUND)
    message(FATAL_ERROR "this is not version 99")
endif()
find_package(spoor QUIET COMPONENTS spoorless)
if(spoor_FOUND)
    message(FATAL_ERROR "there is no such component")
endif()
END
    # The tree may be moved: nothing in the package files says where it was.
    mv "$tree" "$dir/moved"
    cmake -S cmake -B cmake/build -DCMAKE_PREFIX_PATH="$dir/moved/opt" \
        -DCMAKE_C_FLAGS="$sanitize" >log 2>&1 && cmake --build cmake/build >log 2>&1
    result $? "CMake finds both libraries" log
    SPOOR_TRACE_DIR=$dir LD_LIBRARY_PATH='' cmake/build/disk >path 2>log && "$build/spoor" report -f "$(cat path)" 2>log | grep -q REQUEST_NEW
    result $? "a program that CMake built records" log
    mv "$dir/moved" "$tree"
else
    echo "skip CMake: it is not installed"
fi

# ---- uninstall ----
put uninstall
result $? "make uninstall" log
find "$tree" ! -type d | sort >after
diff before after >log
result $? "takes away what was installed, and nothing else" log
(cd "$tree" && find . -path '*/spoor*' -type d) | sort >log
[ "$(xargs <log)" = "./headers/spoor ./opt/share/spoor ./opt/share/spoor/tools" ]
result $? "no empty directory of spoor's own stays" log
exit 0
