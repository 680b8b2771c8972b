#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The recorder under ThreadSanitizer (its unit tests and a short stress) and under valgrind (a program that records). Address and
# undefined behaviour: make check SAN=1.
#   tests/programs/recorder_sanitizers.sh BUILD      ROUNDS=n for more stress
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: recorder_sanitizers.sh BUILD}" && pwd) || exit 1
if [ -n "${SAN:-}" ] || nm "$build/libspoor.a" 2>/dev/null | grep -q __asan_; then
    echo "skip everything: one sanitizer at a time"
    exit 0
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-sanitizers.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

result() { # STATUS NAME FILE
    if [ "$1" = 0 ]; then echo "ok $2"; else
        echo "not ok $2"
        tail -n 40 "$3" | sed 's/^/    /'
    fi
}

# ---- ThreadSanitizer ----
compiler=
echo 'int main(void) { return 0; }' >try.c
for candidate in clang gcc; do
    command -v $candidate >/dev/null && $candidate -fsanitize=thread -o try try.c 2>/dev/null && setarch -R ./try 2>/dev/null && compiler=$candidate && break
done
if [ -z "$compiler" ]; then
    echo "skip ThreadSanitizer: no compiler here has it, or this kernel does not let it run"
else
    flags="-fsanitize=thread -std=gnu11 -D_GNU_SOURCE -O1 -g -I$root/src -I$root/include -I$root/tests -I$root/tests/unit"
    [ $compiler = clang ] || flags="$flags -Wno-tsan" # it does not know fences, and says so
    for source in "$root"/src/recorder/*.c; do
        # shellcheck disable=SC2086
        $compiler $flags -c -o "$(basename "$source" .c).o" "$source" || exit 1
    done
    ar rcs libspoor.a ./*.o
    for source in "$root"/tests/unit/recorder*_test.c "$root"/tests/programs/recorder_stress.c; do
        name=$(basename "$source" .c) arguments=
        [ "$name" = recorder_stress ] && arguments="${ROUNDS:-4} 1"
        # shellcheck disable=SC2086
        $compiler $flags -o "$name" "$source" libspoor.a -lcmocka -lpthread -lrt 2>problems || { result 1 "$name compiles" problems; continue; }
        # Without randomized addresses: some kernels place things where this sanitizer wants its own.
        # shellcheck disable=SC2086
        timeout 200 setarch -R ./$name $arguments >out 2>&1
        status=$?
        grep -q 'WARNING: ThreadSanitizer' out && status=1
        result $status "ThreadSanitizer ($compiler): $name" out
    done
fi

# ---- valgrind ----
if ! command -v valgrind >/dev/null; then
    echo "skip valgrind: it is not installed"
    exit 0
fi
cp "$build/targets/recording" . || exit 1
# Leaks are the address sanitizer's: valgrind would look for pointers in all the rings that there could be.
SPOOR_TRACE_DIR=$dir timeout 100 valgrind -q --error-exitcode=9 --leak-check=no ./recording valgrind 100 2 0 </dev/null >out 2>errors
result $? "valgrind: a program that records" errors
"$build/spoor" report -f "$(head -1 out)" --stats >stats 2>>errors
[ "$(awk 'NR == 1 { print $1 }' stats)" = "$(tail -1 out)" ]
result $? "valgrind: all that it recorded is read" errors
exit 0
