#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A million hits of every form of probe, in functions that keep values in the red zone: not one value is lost, every
# hit is counted, every argument is right. tests/programs/redzone.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: redzone.sh BUILD}" && pwd) || exit 1
hits=${HITS:-1000000}
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-redzone.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

[ "$(id -u)" = 0 ] || { echo "skip redzone: needs root"; exit 0; }
"$build/spoor" --info 2>/dev/null | grep -q '^ *uprobe_multi  *yes' || { echo "skip redzone: this kernel has no uprobe_multi"; exit 0; }

# expect NAME LINE: a line of the output.
expect() {
    if grep -qxF "$2" out; then
        echo "ok $compiler: $1"
    else
        echo "not ok $compiler: $1: no line '$2'"
        sed 's/^/    /' out
    fi
}

script='
usdt:./redzone:inline { @n["inline"] = count(); @s["inline"] = sum(arg0); }
usdt:./redzone:bare { @n["bare"] = count(); }
usdt:./redzone:compat { @n["compat"] = count(); @s["compat"] = sum(arg0); }
usdt:./redzone:none { @n["none"] = count(); }
usdt:./redzone:three /args.b == (uint32)args.a/ { @n["three"] = count(); @s["three"] = sum(args.a); }
usdt:./redzone:twelve /args.b == args.a + 1 && args.f == args.a + 5 && args.i == args.a + 8 && args.j == (uint8)args.a && args.k == -1/ {
    @n["twelve"] = count(); @s["twelve"] = sum(args.l - 11);
}'
total=$((hits * (hits - 1) / 2))

for compiler in gcc clang; do
    command -v $compiler >/dev/null || { echo "skip $compiler: it is not installed"; continue; }
    $compiler -std=gnu11 -O2 -fno-unroll-loops -Wall -Wextra -I"$here/../../include" -o redzone "$here/redzone.c" || { echo "not ok $compiler: compiles"; continue; }
    if [ "$(uname -m)" = x86_64 ]; then # else the test would show nothing
        if objdump -d --no-show-raw-insn redzone | awk '/^[0-9a-f]+ <leaf_inline/ { on = 1 } /^$/ { on = 0 } on' | grep -q 'sub .*,%rsp\|add .*,%rsp'; then
            echo "not ok $compiler: leaf functions keep their values in the red zone"
        else
            echo "ok $compiler: leaf functions keep their values in the red zone"
        fi
    fi
    timeout 240 "$build/spoor" -q -e "$script" -c "./redzone $hits" >out 2>&1
    for form in inline bare compat none three twelve; do
        expect "$form: nothing is lost" "$form corrupted 0"
        expect "$form: every hit" "@n[$form]: $hits"
    done
    for form in inline compat three twelve; do expect "$form: every argument" "@s[$form]: $total"; done
done

# Can the checks above see anything? Nobody should ever put a probe here, so nothing is expected of it.
if [ "$(uname -m)" = x86_64 ] && [ -x redzone ]; then
    timeout 60 "$build/spoor" -q -e 'uprobe:./redzone:redzone_alone { @ = count(); }' -c "./redzone 1000" >out 2>&1
    echo "# a 5-byte nop that stands alone: $(grep '^alone' out) of 1000"
fi
