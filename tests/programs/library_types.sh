#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Types of the libraries of a program: those that it is linked with, where its loader finds them, and those that a
# process has loaded, also in a mount namespace of its own. What must come is printed by the programs.
#   tests/programs/library_types.sh BUILD
set -u
build=$(cd "${1:?usage: library_types.sh BUILD}" && pwd) || exit 1
[ "$(id -u)" = 0 ] || { echo "skip everything: needs root"; exit 0; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-libraries.XXXXXX") || exit 1
server=
trap 'rm -rf "$dir"; [ -z "$server" ] || kill -9 $server 2>/dev/null' EXIT
cd "$dir" || exit 1
export XDG_CACHE_HOME=$dir
unset DEBUGINFOD_URLS LD_LIBRARY_PATH

result() { # STATUS NAME [FILE]
    if [ "$1" = 0 ]; then echo "ok $2"; else
        echo "not ok $2"
        [ -z "${3:-}" ] || tail -n 20 "$3" | cut -c1-300 | sed 's/^/    /'
    fi
}
spoor() { timeout 60 "$build/spoor" -q "$@"; }

# The program knows the struct by name alone; what is in it stands in the library.
cat >library.c <<'c'
struct only_here { short first; const char *name; int numbers[3]; };
static struct only_here one = {-3, "from the library", {1, 2, 42}};
struct only_here *make(void) { return &one; }
c
cat >linked.c <<'c'
struct only_here *make(void);
__attribute__((noinline)) void take(struct only_here *it) { __asm__ volatile("" : : "r"(it) : "memory"); }
int main(void) { take(make()); return 0; }
c
cat >loads.c <<'c'
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
struct only_here;
__attribute__((noinline)) void take(struct only_here *it) { __asm__ volatile("" : : "r"(it) : "memory"); }
int main(int argc, char **argv)
{
    void *library = dlopen(argv[argc - 1], RTLD_NOW);
    struct only_here *(*make)(void) = library ? (struct only_here * (*)(void)) dlsym(library, "make") : NULL;
    puts(make ? "ready" : dlerror());
    fflush(stdout);
    while (make) {
        take(make());
        usleep(20000);
    }
    return 1;
}
c
script='{ $o = (struct only_here *)arg0; printf("%d %s %d\n", $o->first, str($o->name), $o->numbers[2]); exit() }'
expected='-3 from the library 42'
check() { # NAME
    [ "$(grep -v '^$' printed)" = "$expected" ]
    result $? "$1" problems
}

mkdir lib
gcc -g -O1 -shared -fPIC library.c -o lib/libonly.so
while IFS='|' read -r name flags; do
    eval "gcc -g -O1 linked.c -Llib -lonly $flags -o linked" 2>problems || { result 1 "$name" problems; continue; }
    ./linked || result 1 "the loader finds it: $name"
    spoor -o printed -e "uprobe:$dir/linked:take $script" -c ./linked >output 2>problems
    check "$name"
done <<'ways'
DT_RUNPATH with $ORIGIN|-Wl,--enable-new-dtags,-rpath,'$ORIGIN/lib'
DT_RUNPATH with ${ORIGIN}, behind another|-Wl,--enable-new-dtags,-rpath,'/nonexistent:${ORIGIN}/./lib'
DT_RPATH|-Wl,--disable-new-dtags,-rpath,'$ORIGIN/lib/../lib'
ways
# By a relative name too.
spoor -o printed -e "uprobe:./linked:take $script" -c ./linked >output 2>problems
check "the program by a relative name"

# ---- a process ----
gcc -g -O1 loads.c -o loads -ldl
ready() { while kill -0 $server; do grep -qs ready said && return; sleep 0.05; done; result 1 "the program starts" said; }
./loads lib/libonly.so >said 2>&1 &
server=$!
ready
spoor -o printed -p $server -e "uprobe:./loads:take $script" >output 2>problems
check "a library that the process has loaded with dlopen"
kill $server && wait $server 2>/dev/null

if unshare -m -p -f --mount-proc true 2>/dev/null; then
    mkdir root
    cat >inside.sh <<'inside'
mount -t tmpfs none root && mkdir root/lib && cp loads linked root/ && cp lib/libonly.so root/lib/ && rm lib/libonly.so
cd root && exec ./loads ./lib/libonly.so
inside
    rm said # of the process before: it would look ready
    unshare -m -p -f --mount-proc sh inside.sh >said 2>&1 &
    server=$!
    ready
    inner=$(pgrep -P $server loads | head -n 1)
    spoor -o printed -p "$inner" -e "uprobe:$dir/root/loads:take $script" >output 2>problems
    check "in a mount and pid namespace of its own"
    kill -9 "$inner" $server # the first of a namespace takes no other signal
    wait $server 2>/dev/null
else
    echo "skip namespaces: there are none"
fi
server=
