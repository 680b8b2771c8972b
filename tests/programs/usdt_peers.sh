#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# spoor/probe.h as tools of others see it: readelf, gdb, perf, bpftrace. Those that run must get the right values.
#   tests/programs/usdt_peers.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: usdt_peers.sh BUILD}" && pwd) || exit 1
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-peers.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export HOME=$dir # perf keeps what it is told there, gdb reads its settings there

has() { command -v "$1" >/dev/null; }
same() { # NAME WANTED GOT
    if cmp -s "$2" "$3"; then echo "ok $1"; else
        echo "not ok $1"
        diff "$2" "$3" | head -n 20 | sed 's/^/    /'
    fi
}
printf '%s\n' bare compat declared none one text twelve widths with-hyphen >names

for compiler in gcc clang; do
    has $compiler || { echo "skip $compiler: it is not installed"; continue; }
    for level in -O0 -O2; do
        what="$compiler $level"
        $compiler -std=gnu11 $level -g -Wall -Wextra -Wl,--build-id -I"$here/../../include" -o program "$here/usdt_peers.c" || exit 1
        $compiler -std=gnu11 $level -g -Wl,--build-id -DNO_HYPHEN -I"$here/../../include" -o plain "$here/usdt_peers.c" || exit 1

        readelf -nW program | awk '/Provider: peers/ { p = 1 } p && /Name:/ { print $2; p = 0 }' | sort -u >got
        same "readelf lists the probes: $what" names got

        if has gdb; then
            timeout 60 gdb -batch -nx -ex 'info probes stap peers' program </dev/null 2>&1 | awk '$1 == "stap" { print $3 }' | sort -u >got
            same "gdb lists the probes: $what" names got
            args() { local i; for i in $(seq 0 $(($1 - 1))); do printf -- '-ex\np $_probe_arg%d\n' $i; done; }
            mapfile -t six < <(args 6)
            mapfile -t twelve < <(args 12)
            timeout 60 gdb -batch -nx -ex 'set startup-with-shell off' -ex 'break -probe-stap peers:widths' -ex 'break -probe-stap peers:twelve' \
                -ex 'run 2' "${six[@]}" -ex continue "${twelve[@]}" program </dev/null >gdb.out 2>&1
            sed -n 's/^\$[0-9]* = //p' gdb.out | xargs >got
            echo -1 60001 4000000001 -5000000000 1 1 1 2 3 4 5 6 7 8 9 10 11 12 >wanted
            if grep -q 'ptrace: Operation not permitted' gdb.out; then echo "skip gdb stops at the probes: ptrace is not permitted"; else
                same "gdb stops there and reads all values: $what" wanted got
            fi
        else
            echo "skip gdb: it is not installed"
        fi

        if has perf; then
            rm -rf .debug
            timeout 60 perf buildid-cache --add plain >perf.out 2>&1
            timeout 60 perf list --raw-dump sdt 2>>perf.out | tr ' ' '\n' | sed -n 's/^sdt_peers:\([a-z-]*\).*/\1/p' | sort -u >got
            grep -v hyphen names >wanted
            same "perf lists the probes: $what" wanted got
        else
            echo "skip perf: it is not installed"
        fi

        if ! has bpftrace; then
            echo "skip bpftrace: it is not installed"
        elif [ "$(id -u)" != 0 ]; then
            echo "skip bpftrace: it needs root"
        else
            # One probe's text with another's numbers tells nothing, so each says its name. What bpftrace says beside it is its affair.
            timeout -k 5 60 bpftrace -q -e "
                usdt:./program:peers:none { printf(\"none\\n\"); } usdt:./program:peers:bare { printf(\"bare\\n\"); }
                usdt:./program:peers:one { printf(\"one %d\\n\", arg0); }
                usdt:./program:peers:widths { printf(\"widths %ld %ld %lu %ld %d %d\\n\", arg0, arg1, arg2, arg3, arg4, arg5); }
                usdt:./program:peers:text { printf(\"text %s %s %d\\n\", str(arg0), str(arg1), arg2); }
                usdt:./program:peers:with-hyphen { printf(\"with-hyphen %d\\n\", arg0); }
                usdt:./program:peers:twelve { printf(\"twelve %d %d\\n\", arg0, arg5); }
                usdt:./program:peers:compat { printf(\"compat %d %s\\n\", arg0, str(arg1)); }
                usdt:./program:peers:declared { printf(\"declared %d %s %d\\n\", arg0, str(arg1), arg2); }" -c './program 2' </dev/null >got 2>bpftrace.err
            {
                printf '%s\n' none 'one 1' 'widths -1 60001 4000000001 -5000000000 1 1' 'text stant constant 42' 'with-hyphen 2' 'twelve 1 6'
                printf '%s\n' 'compat 1 stant' 'declared -99 stant 97' bare
                printf '%s\n' none 'one 2' 'widths -2 60002 4000000002 -10000000000 0 -2' 'text ant constant 42' 'with-hyphen 4' 'twelve 2 7'
                printf '%s\n' 'compat 2 ant' 'declared -98 ant 98' bare
            } >wanted
            sed -i '/^$/d' got
            if [ ! -s got ] && grep -qi 'not permitted\|lockdown' bpftrace.err; then
                echo "skip bpftrace fires: this kernel does not let it"
            else
                same "bpftrace fires with the right values: $what" wanted got
            fi
        fi
    done
done
exit 0
