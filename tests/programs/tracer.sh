#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# libspoortracer as it is installed: what it exports, how programs in C and C++ are built with it, and that they run.
#   tests/programs/tracer.sh BUILD
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: tracer.sh BUILD}" && pwd) || exit 1
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-tracer.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
flags="-Wall -Wextra -Werror -I$root/include"

result() { # STATUS NAME [FILE]
    if [ "$1" = 0 ]; then echo "ok $2"; else
        echo "not ok $2"
        [ -z "${3:-}" ] || tail -n 20 "$3" | sed 's/^/    /'
    fi
}

# ---- names ----
declared=$(grep -oE '^(SPOOR_TRACER_API_ .*[ *])?spoor_tracer_[a-z_]+\(' "$root/include/spoor/tracer.h" | sed -E 's/.*[ *]//; s/\(//' | sort -u)
exported=$(nm -D --defined-only "$build/libspoortracer.so" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort -u)
[ "$declared" = "$exported" ]
result $? "the shared library exports what the header declares"
nm -D --defined-only "$build/libspoortracer.so" | awk '$2 != "A" && $3 !~ /^spoor_tracer_[a-z_]+@@SPOORTRACER_1$/' >others
[ ! -s others ]
result $? "and nothing else, all with a version" others
archived=$(nm -g --defined-only "$build/libspoortracer.a" 2>/dev/null | awk 'NF == 3 { print $3 }' | grep -v '^DW\.ref\.' | sort -u)
[ "$declared" = "$archived" ]
result $? "the archive has the same names and no others"
readelf -d "$build/libspoortracer.so" | grep -q 'SONAME.*\[libspoortracer\.so\.1\]'
result $? "the shared library's name has its version"
missing=$(for name in $declared; do grep -q "$name" "$root/man/spoor_tracer.3" || echo "$name"; done)
[ -z "$missing" ]
result $? "the manual names every function $missing"

# ---- installed ----
make -s -C "$root" BUILD="$build" DESTDIR="$dir/root" PREFIX=/opt/spoor install >log 2>&1
result $? "make install" log
share=$dir/root/opt/spoor/share
bash -n "$share/bash-completion/completions/spoor" && grep -q compdef "$share/zsh/site-functions/_spoor" &&
    grep -q 'complete -c spoor' "$share/fish/vendor_completions.d/spoor.fish"
result $? "completions are installed"
export PKG_CONFIG_PATH=$dir/root/opt/spoor/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dir/root
if command -v pkg-config >/dev/null; then
    compile=$(pkg-config --cflags spoortracer) libraries=$(pkg-config --libs spoortracer) all=$(pkg-config --static --libs spoortracer)
else
    compile=-I$dir/root/opt/spoor/include libraries="-L$dir/root/opt/spoor/lib -lspoortracer" all="$libraries -liberty -ldw -lelf -lpthread"
fi
sanitize=
readelf -d "$build/libspoortracer.so" | grep -q libasan && sanitize=-fsanitize=address,undefined
# shellcheck disable=SC2086
gcc -O2 -g -fno-omit-frame-pointer -Wall -Wextra -Werror $sanitize $compile -o watch "$root/examples/watch.c" $libraries \
    -Wl,-rpath,"$dir/root/opt/spoor/lib" >log 2>&1
result $? "a program is linked with the shared library" log
# shellcheck disable=SC2086
gcc -O2 -g -fno-omit-frame-pointer $sanitize $compile -o watch-static "$root/examples/watch.c" -Wl,-Bstatic -lspoortracer -Wl,-Bdynamic $all >log 2>&1
result $? "a program is linked with the archive" log

# ---- languages ----
cat >include.cc <<'END'
#include <spoor/probe.h>
#include <spoor/tracer.h>
int main()
{
    spoor_tracer_options options = {};
    spoor_tracer *tracer = nullptr;
    options.size = sizeof options;
    options.flags = SPOOR_TRACER_CHECK_ONLY;
    int error = spoor_tracer_open(&options, &tracer);
    if (!error && !(error = spoor_tracer_add(tracer, "begin { @x = 1; }")))
        error = spoor_tracer_compile(tracer);
    spoor_tracer_close(tracer);
    return error != 0;
}
END
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || continue
    # shellcheck disable=SC2086
    $compiler $flags -pedantic $sanitize -o include-cc include.cc $libraries -Wl,-rpath,"$dir/root/opt/spoor/lib" >log 2>&1 && ./include-cc >log 2>&1
    result $? "the header is C++ for $compiler" log
done
echo '#include <spoor/tracer.h>' >alone.c
# shellcheck disable=SC2086
for standard in c11 gnu17; do
    gcc $flags -pedantic -std=$standard -c alone.c >log 2>&1
    result $? "the header stands alone in $standard" log
done

# ---- recordings: no privilege is needed ----
cat >replay.c <<'END'
#include <inttypes.h>
#include <stdio.h>
#include <spoor/tracer.h>
int main(int argc, char **argv)
{
    const char *recordings[] = {argc > 1 ? argv[1] : "", NULL};
    struct spoor_tracer_options options = {.size = sizeof options, .recordings = recordings};
    struct spoor_tracer *tracer;
    int64_t events = 0;
    int turns = 0, error = spoor_tracer_open(&options, &tracer);
    if (!error && !(error = spoor_tracer_attach(tracer, "trace:*", "@events = count();")))
        error = spoor_tracer_start(tracer);
    for (; !error && !spoor_tracer_is_over(tracer); turns++)
        error = spoor_tracer_poll(tracer, 1); /* in pieces */
    if (!error && !(error = spoor_tracer_stop(tracer)))
        error = spoor_tracer_read_integer(tracer, "@events", &events);
    if (error)
        printf("%s", spoor_tracer_error(tracer));
    printf("%" PRId64 " events in %s\n", events, turns > 1 ? "several turns" : "one turn");
    spoor_tracer_close(tracer);
    return error != 0;
}
END
# shellcheck disable=SC2086
{
    cp "$build/targets/recording" . &&
        gcc -O2 -Wall -Wextra -Werror $sanitize $compile -o replay replay.c $libraries -Wl,-rpath,"$dir/root/opt/spoor/lib"
} >log 2>&1
result $? "a program that reads recordings is linked" log
file=$(SPOOR_TRACE_DIR=$dir ./recording bench 50000 1 0 32768 </dev/null | head -n 1)
./replay "$file" >out 2>&1
grep -qx '400000 events in several turns' out
result $? "all events of a recording are seen, however long a turn is" out
./replay "$dir/nothing.spoor" >out 2>&1
[ $? = 1 ] && grep -q 'ERROR: .*nothing.spoor' out
result $? "a recording that is not there is named" out

# ---- running ----
if [ "$(id -u)" != 0 ]; then
    echo "skip the example: needs root"
    exit 0
fi
for program in watch watch-static; do
    ./$program 2 >out 2>log
    status=$?
    cat log >>out
    [ $status = 0 ] && grep -q '^  100 calls so far$' out && [ "$(grep -c '^  size [1-5]: 20 calls$' out)" = 5 ] && grep -q ' us: ' out
    result $? "$program reads typed maps of its own calls" out
done
exit 0
