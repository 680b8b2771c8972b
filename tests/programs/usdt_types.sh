#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Arguments of plain USDT probes have the types of the variables that are there, where that can be told. What must
# come is printed by the program itself.
#   tests/programs/usdt_types.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: usdt_types.sh BUILD}" && pwd) || exit 1
[ "$(id -u)" = 0 ] || { echo "skip everything: needs root"; exit 0; }
[ "$(uname -m)" = x86_64 ] || { echo "skip everything: needs x86_64"; exit 0; }
echo '#include <sys/sdt.h>' | gcc -E - >/dev/null 2>&1 || { echo "skip everything: needs sys/sdt.h"; exit 0; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-usdt-types.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export XDG_CACHE_HOME=$dir
unset DEBUGINFOD_URLS

result() { # STATUS NAME [FILE]
    if [ "$1" = 0 ]; then echo "ok $2"; else
        echo "not ok $2"
        [ -z "${3:-}" ] || tail -n 30 "$3" | cut -c1-300 | sed 's/^/    /'
    fi
}
spoor() { timeout 60 "$build/spoor" "$@"; }

cat >types.bt <<'script'
usdt:./program:types:pointer { printf("pointer %d %s %d %c\n", args.arg0->owner->id, str(args.arg0->owner->name), args.arg1 == ACTIVE, args.arg2) }
usdt:./program:types:member { printf("member %d\n", args.arg0->id) }
usdt:./program:types:global { printf("global %lu\n", args.arg0->length) }
usdt:./program:types:sum { printf("sum %d\n", args.arg0) }
script
cat >inlined.bt <<'script'
usdt:./program:types:inlined { printf("inlined %s\n", str(args.arg0->name)) }
script

while read -r words; do
    command -v ${words%% *} >/dev/null || { echo "skip $words: not installed"; continue; }
    $words -w "$here/usdt_types.c" -o program 2>problems || { result 1 "it compiles: $words" problems; continue; }
    cp types.bt all.bt
    # Where clang hands over an address that no variable holds, there is nothing to tell.
    case $words in clang*-O[12]*) : ;; *) cat inlined.bt >>all.bt ;; esac
    ./program | { case $words in clang*-O[12]*) grep -v inlined ;; *) cat ;; esac; } >expected
    spoor -q -o printed all.bt -c ./program >output 2>problems
    grep -v '^$' printed | diff expected - >differences
    status=$?
    cat problems >>differences
    result $status "$words" differences
done <<'ways'
gcc -g -O0
gcc -g -O1
gcc -g -O2
gcc -gdwarf-4 -O2 -no-pie
gcc -g -O2 -gsplit-dwarf
gcc -g -O3
clang -g -O0
clang -g -O2
clang -gdwarf-4 -O0 -no-pie
g++ -x c++ -g -O2
ways

gcc -g -O2 "$here/usdt_types.c" -o program
# ---- the listing says which variable it is ----
spoor -lv 'usdt:./program:types:*' >listed 2>&1
cat >expected <<'text'
usdt:./program:types:global
    struct request* arg0  # current
    enum state arg1  # whole.now
    # 1 site
usdt:./program:types:inlined
    struct owner* arg0  # who
    # 2 sites
usdt:./program:types:member
    struct owner* arg0  # request->owner
    enum state arg1  # request->inner.state
    # 1 site
usdt:./program:types:pointer
    struct request* arg0  # request
    enum state arg1  # state
    char arg2  # letter
    # 1 site
usdt:./program:types:sum
    int64 arg0
    int32 arg1
    # 1 site
text
diff expected listed >differences
result $? "the listing" differences

# ---- numbers stay numbers, enums print by name ----
spoor -q -o printed -e 'usdt:./program:types:member { print((sizeof(arg0), arg1, args.arg1)) }' -c ./program >output 2>problems
[ "$(grep -v '^$' printed)" = "(8, 9, DONE)" ]
result $? "argN is an integer, args.argN has the type" problems

# ---- without debug information there is nothing to say ----
strip program -o stripped
spoor -q -e 'usdt:./stripped:types:member { print(args.arg0) }' -c ./stripped >output 2>problems
grep -q 'no debug information' problems
result $? "a stripped program" problems
spoor -q -o printed -e 'usdt:./stripped:types:member { print(arg1) }' -c ./stripped >output 2>problems
[ "$(grep -v '^$' printed)" = 9 ]
result $? "its numbers" problems
