#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The command and the libraries are built hardened, as far as the compiler knows how: tests/programs/hardened.sh BUILD
set -u
build=$(cd "${1:?usage: hardened.sh BUILD}" && pwd) || exit 1
flags=$build/gen/hardening.mk
[ -e "$flags" ] || { echo "skip everything: built with sanitizers, which replace it" && exit 0; }

check() { # NAME COMMAND…
    local name=$1
    shift
    if "$@"; then echo "ok $name"; else echo "not ok $name"; fi
}
knows() { grep -q -e "$1" "$flags"; }
dynamic() { readelf -dW "$1" | grep -qE "$2"; }
segment() { readelf -lW "$1" | grep -qE "$2"; }
imports() { readelf --dyn-syms -W "$1" | grep -qE "$2"; }
not() { ! "$@"; }

# Every object of ours: one without the mark takes the protection from all that it is linked with.
all_marked() { # MARK FOLDER
    local object objects
    objects=$(find "$build/$2" -name '*.o')
    [ -n "$objects" ] || return 1
    for object in $objects; do
        readelf -n "$object" | grep -q "$1" || { echo "  $object" && return 1; }
    done
}

check "the command is loaded at a random address" dynamic "$build/spoor" 'FLAGS_1.*PIE'
for file in spoor libspoor.so.1 libspoortracer.so.1; do
    file=$build/$file
    check "${file##*/} resolves its functions at the start" dynamic "$file" 'BIND_NOW'
    check "${file##*/} has its table of functions read-only" segment "$file" 'GNU_RELRO'
    check "${file##*/} has no stack that can be executed" segment "$file" 'GNU_STACK.* RW '
    check "${file##*/} has no memory that can be written and executed" not segment "$file" 'LOAD.* RWE '
    check "${file##*/} guards its stack frames" imports "$file" '__stack_chk_fail'
    knows FORTIFY_SOURCE && check "${file##*/} checks the sizes of buffers" imports "$file" '__[a-z]+_chk@'
done
for folder in obj lib; do
    knows -fcf-protection && check "branches of $folder land where they may" all_marked 'IBT, SHSTK' $folder
    knows -mbranch-protection && check "branches of $folder land where they may" all_marked 'BTI, PAC' $folder
done
# The compiler of every distribution that is built on knows these.
for flag in -fstack-protector-strong -fstack-clash-protection FORTIFY_SOURCE -z,now; do
    check "the compiler knows $flag" knows "$flag"
done
exit 0
