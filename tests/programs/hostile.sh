#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Scripts that were made to take long or to crash: hostile.sh BUILD. Each is compiled, or refused with an
# error, within a processor time and memory that are bounded; it says nothing of how fast.
set -u
build=$(cd "${1:?usage: hostile.sh BUILD}" && pwd) || exit 1
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-hostile.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
seconds=60
kilobytes=6000000
nm "$build/spoor" 2>/dev/null | grep -q __asan_init && kilobytes=unlimited # it reserves far more than it uses

# many PREFIX PIECE TIMES SUFFIX: # in the piece is its number, + the number after it
many() {
    awk -v prefix="$1" -v piece="$2" -v times="$3" -v suffix="$4" 'BEGIN {
        printf "%s", prefix
        for (i = 0; i < times; i++) {
            text = piece
            gsub(/#/, i, text)
            gsub(/~/, i + 1, text)
            printf "%s", text
        }
        printf "%s", suffix
    }'
}

# try NAME ACCEPTED|ERE < SCRIPT
try() {
    local name=$1 expected=$2 status
    cat >"$dir/$name.bt"
    (
        ulimit -t $seconds
        ulimit -v $kilobytes
        "$build/spoor" -d bpf "$dir/$name.bt" >"$dir/out" 2>"$dir/errors"
    )
    status=$?
    if [ $status -gt 1 ]; then
        echo "not ok hostile: $name: status $status"
        tail -n 3 "$dir/errors" | cut -c 1-300
    elif [ "$expected" = accepted ] && [ $status = 1 ]; then
        echo "not ok hostile: $name is refused"
        grep -m 3 ERROR "$dir/errors" | cut -c 1-300
    elif [ "$expected" != accepted ] && ! grep -qE "ERROR: .*$expected" "$dir/errors"; then
        echo "not ok hostile: $name: no error says $expected"
        head -n 3 "$dir/errors" | cut -c 1-300
    else
        echo "ok hostile: $name"
    fi
}

large="is too large from here on"
many 'begin { ' '$v#=pid;' 30000 '}' | try variables accepted
many 'begin { ' '@m#=#;' 1000 '}' | try maps accepted
many 'begin { ' '@h[#]=hist(pid);' 30000 '}' | try statements "$large"
many 'begin { ' 'for($i:0..10){$a=$i}' 20000 '}' | try loops "more than 255 loops and functions"
many 'begin { unroll(100){' '$a=pid;' 20000 '} }' | try unrolled "$large"
echo 'begin { unroll(100){unroll(100){unroll(100){unroll(100){unroll(100){unroll(100){}}}}}} }' | try unrolled-nothing "$large"
many '' 'interval:ms:~{@a#=count();print(@a#);}' 1000 '' | try probes accepted
many '' "interval:ms:~{$(many '' '@a=comm;' 20 '')}" 1000 '' | try large-probes accepted
many '' 'interval:ms:~{@a=count();}' 3000 '' | try many-probes 'more than [0-9]+ BPF programs'
many '' 'tracepoint:syscalls:sys_enter_*{}' 3000 '' | try patterns 'BPF programs|No matches|tracefs|No probes'
many 'begin { ' 'foo#();' 30000 '}' | try unknown-functions 'Unknown function'
many 'begin { ' '@x=1;@x="a";' 20000 '}' | try mismatches 'Type mismatch'
many 'begin { ' '$x=kaddr("a#");' 20000 '}' | try unknown-symbols "no symbol 'a0'"
many 'begin { ' '@v#=@v~;' 5000 '@v5000=1;}' | try types-upwards 'in too many steps'
many '' "fn f#():int64{return f~()$(many '' '+pid' 400 '');}" 500 'fn f500():int64{return 1;} begin{print(f0());}' |
    try calls 'nested too deeply'
many '' "macro m#(){m~()$(many '' '+pid' 400 '')}" 500 'macro m500(){1} begin{print(m0());}' | try macros 'expand to too much'
many 'macro m(a' ',a#' 100000 '){1} begin{}' | try macro-parameters 'at most 64 parameters'
many '' 'macro m#(){m~()+m~()}' 40 'macro m40(){1} begin{print(m0());}' | try macros-doubling 'expand to too much'
