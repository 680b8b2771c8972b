#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The recorder in whole programs: what must and must not compile, several shared libraries in one process, and the ring under stress.
#   tests/programs/recorder_stress.sh BUILD      ROUNDS=n for more stress
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/spoor-recorder.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
compiler=${CC:-gcc}
warnings="-Wall -Wextra -Werror"
status=0

result() { # STATUS NAME
    if [ "$1" = 0 ]; then echo "ok $2"; else echo "not ok $2"; status=1; fi
}

# ---- the library ----
for source in "$root"/src/recorder/*.c; do
    $compiler -std=gnu11 -D_GNU_SOURCE -O2 -g -fPIC -fvisibility=hidden -I"$root/src" -I"$root/include" -c "$source" \
        -o "$work/$(basename "$source" .c).o" || exit 1
done
ar rcs "$work/libspoor.a" "$work"/*.o
$compiler -shared -Wl,-soname,libspoor.so.1 -Wl,-z,nodelete -Wl,-z,defs -o "$work/libspoor.so.1" "$work"/*.o || exit 1
ln -s libspoor.so.1 "$work/libspoor.so"

public=$(nm -D --defined-only "$work/libspoor.so" | awk '$3 !~ /^spoor_/')
[ -z "$public" ]
result $? "libspoor exports its interface only"

# ---- what the compiler says ----
cat >"$work/base.h" <<'END'
#include <spoor/trace.h>
SPOOR_GROUP(g, "a group");
SPOOR_OBJECT(o, 'o');
SPOOR_OBJECT(q, 'q');
SPOOR_OWNER(w, 'w');
struct pair { int a, b; };
SPOOR_TRACEPOINT(g, T, o, SPOOR_USES, (uint32_t, n), (const char *, name));
SPOOR_TRACEPOINT(g, NONE, o, SPOOR_BEGINS);
END
for standard in "-std=gnu11" "-std=c11 -Wpedantic" "-std=c11 -O2 -fPIC -Wshadow -Wstrict-prototypes"; do
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        cat >"$work/good.c" <<'END'
#include "base.h"
SPOOR_TRACEPOINT_HERE(T);
SPOOR_TRACEPOINT_HERE(NONE);
SPOOR_RELATION(T, n, q);
void good(struct pair *pair);
void good(struct pair *pair)
{
    SPOOR_RECORD(T, 1, pair, 5, "x");
    SPOOR_RECORD_SIZED(T, 4096, 1, (uint64_t)7, 5, pair ? "x" : NULL);
    SPOOR_RECORD(NONE, 1, NULL);
    if (SPOOR_RECORDING(NONE))
        SPOOR_RECORD(NONE, 1, 0);
    else
        SPOOR_RECORD(NONE, 2, 0);
}
END
        # shellcheck disable=SC2086
        $cc $standard $warnings -I"$root/include" -I"$work" -c "$work/good.c" -o /dev/null
        result $? "it compiles without a warning: $cc $standard"
    done
done

bad() { # NAME WORDS-IN-THE-MESSAGE: the source comes from stdin
    { echo '#include "base.h"'; cat; } >"$work/bad.c"
    local cc
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        # shellcheck disable=SC2086
        if $cc -std=gnu11 $warnings -I"$root/include" -I"$work" -c "$work/bad.c" -o /dev/null 2>"$work/bad.err"; then
            result 1 "$1 does not compile ($cc)"
        else
            grep -q "$2" "$work/bad.err" || cat "$work/bad.err"
            grep -q "$2" "$work/bad.err"
            result $? "$1 does not compile ($cc)"
        fi
    done
}
bad "an argument too few" 'too few arguments' <<<'void f(void); void f(void) { SPOOR_RECORD(T, 1, 0, 5); }'
bad "an argument too many" 'too many arguments' <<<'void f(void); void f(void) { SPOOR_RECORD(T, 1, 0, 5, "x", 6); }'
bad "a pointer for an integer" 'pointer' <<<'void f(void); void f(void) { SPOOR_RECORD(T, 1, 0, "x", "y"); }'
bad "a relation to an argument that is not there" 'nmae' <<<'SPOOR_RELATION(T, nmae, q);'
bad "an unknown tracepoint" 'TT' <<<'void f(void); void f(void) { SPOOR_RECORD(TT, 1, 0, 5, "x"); }'
bad "a struct as argument" 'scalar\|arithmetic or pointer' <<<'SPOOR_TRACEPOINT(g, U, o, SPOOR_USES, (struct pair, p));'
bad "two arguments of one name" 'duplicate\|redefinition' <<<'SPOOR_TRACEPOINT(g, U, o, SPOOR_USES, (int, p), (int, p));'
bad "an unknown object" 'spoor_object_zzz' <<<'SPOOR_TRACEPOINT(g, U, zzz, SPOOR_USES); SPOOR_TRACEPOINT_HERE(U);'
bad "a long double" 'an argument is' <<<'SPOOR_TRACEPOINT(g, U, o, SPOOR_USES, (long double, p));'
bad "thirteen arguments" 'at most 12 arguments' <<<'SPOOR_TRACEPOINT(g, U, o, SPOOR_USES, (int, a), (int, b), (int, c), (int, d), (int, e), (int, f), (int, h),
    (int, i), (int, j), (int, k), (int, l), (int, m), (int, n));'

# ---- several shared libraries, one of them loaded later ----
cat >"$work/lib.h" <<'END'
#include <spoor/trace.h>
SPOOR_GROUP(shared, "in a library of its own");
SPOOR_OBJECT(shared_thing, 's');
SPOOR_TRACEPOINT(shared, SHARED, shared_thing, SPOOR_BEGINS, (int, n));
END
echo '#include "lib.h"
SPOOR_TRACEPOINT_HERE(SHARED);
void in_library(int n); void in_library(int n) { SPOOR_RECORD(SHARED, 0, 0, n); }' >"$work/lib.c"
echo '#include "lib.h"
SPOOR_GROUP(plugin, "loaded later");
SPOOR_TRACEPOINT(plugin, PLUGIN, none, SPOOR_USES, (int, n));
SPOOR_TRACEPOINT_HERE(PLUGIN);
SPOOR_RELATION(SHARED, n, shared_thing);
void in_plugin(int n); void in_plugin(int n) { SPOOR_RECORD(PLUGIN, 0, 0, n); SPOOR_RECORD(SHARED, 0, 0, n); }' >"$work/plugin.c"
cat >"$work/main.c" <<'END'
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "lib.h"
#include "unit/recorder_reader.h"
SPOOR_GROUP(program, "in the program");
SPOOR_TRACEPOINT(program, MAIN, none, SPOOR_USES);
SPOOR_TRACEPOINT_HERE(MAIN);
void in_library(int n);
static unsigned count;
static void counted(void *context, uint64_t number, const struct layout_record *record) { (void)context, (void)number, (void)record; count++; }
int main(int argc, char **argv)
{
    struct spoor_trace_options options = {.size = sizeof options, .name = "dso", .enable = "all", .flags = SPOOR_TRACE_REMOVE};
    if (argc != 2 || spoor_trace_open(&options) != 0)
        return puts(spoor_trace_error()), 1;
    SPOOR_RECORD(MAIN, 0, 0);
    SPOOR_RECORD(SHARED, 0, 0, 1);
    in_library(2);
    for (int i = 0; i < 2; i++) { /* loaded, unloaded, loaded again */
        void *plugin = dlopen(argv[1], RTLD_NOW);
        if (plugin == NULL)
            return puts(dlerror()), 2;
        void (*in_plugin)(int);
        *(void **)&in_plugin = dlsym(plugin, "in_plugin");
        in_plugin(3);
        dlclose(plugin);
    }
    struct recording_view view;
    if (!view_open(&view, spoor_trace_path()) || view_tracepoint(&view, "PLUGIN") == 0)
        return 3;
    const struct layout_section *section;
    if (view_item(&view, LAYOUT_SECTION_OBJECTS, 1, &section) != NULL || view_item(&view, LAYOUT_SECTION_RELATIONS, 0, &section) == NULL)
        return 4;
    ring_walk(&view, 0, counted, NULL);
    spoor_trace_close();
    return count == 7 ? 0 : 5;
}
END
cd "$work" || exit 1
flags="-std=gnu11 -D_GNU_SOURCE -O2 -g $warnings -I$root/include -I$root/src -I$root/tests -I$work"
# shellcheck disable=SC2086
$compiler $flags -fPIC -shared -o liblib.so lib.c -L. -lspoor &&
    $compiler $flags -fPIC -shared -o plugin.so plugin.c -L. -llib -lspoor &&
    $compiler $flags -o main main.c -L. -llib -lspoor -Wl,-rpath,"$work" &&
    LD_LIBRARY_PATH=$work ./main "$work/plugin.so"
result $? "a program, a library and a plugin record into one recording"

echo '#include "lib.h"
int main(void)
{
    struct spoor_trace_options options = {.size = sizeof options, .name = "gone", .enable = "shared:SHARED", .flags = SPOOR_TRACE_REMOVE};
    const int error = spoor_trace_open(&options);
    spoor_trace_close();
    return error != 0;
}' >"$work/gone.c"
# shellcheck disable=SC2086
$compiler $flags -Wl,--gc-sections -ffunction-sections -fdata-sections -o gone gone.c lib.c libspoor.a && ./gone
result $? "a linker that removes unused sections leaves tracepoints"

# ---- a tracepoint that is a USDT probe too ----
if [ -e "$root/include/spoor/probe.h" ]; then
    echo '#include <spoor/probe.h>
#include <spoor/trace.h>
SPOOR_GROUP(both, "two sinks");
SPOOR_TRACEPOINT_USDT(both, TWO, none, SPOOR_USES, (int, n), (const char *, text));
SPOOR_TRACEPOINT_USDT(both, NOTHING, none, SPOOR_USES);
SPOOR_TRACEPOINT_HERE(TWO);
SPOOR_TRACEPOINT_HERE(NOTHING);
int main(void) { SPOOR_RECORD(TWO, 1, 0, 5, "x"); SPOOR_RECORD(NOTHING, 1, 0); return 0; }' >"$work/both.c"
    # shellcheck disable=SC2086
    $compiler $flags -o both both.c libspoor.a && ./both && readelf -n both | grep -q 'Name: TWO'
    result $? "one definition is a tracepoint and a USDT probe"
fi

# ---- stress ----
# shellcheck disable=SC2086
$compiler $flags -o stress "$root/tests/programs/recorder_stress.c" libspoor.a -lpthread -lrt && ./stress "${ROUNDS:-60}" 10 || status=1
exit $status
