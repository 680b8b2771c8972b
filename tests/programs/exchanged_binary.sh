#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What was parsed is what is probed: at every system call of spoor, through parsing, compiling and attaching, another program
# takes the name of the one that is traced. It runs then, and never finds a breakpoint in itself.
#   tests/programs/exchanged_binary.sh BUILD [STEP]     STEP 1: at every call; the default is 5
set -u
build=$(cd "${1:?usage: exchanged_binary.sh BUILD}" && pwd) || exit 1
step=${2:-5}
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(id -u)" != 0 ]; then
    echo "skip everything: needs root"
    exit 0
fi
dir=$(mktemp -d /tmp/spoor-exchanged.XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
cd "$dir" || exit 1
cp "$build/hostile/spoor" . || exit 1
${CC:-gcc} -std=gnu11 -O1 -g -o original "$root/tests/programs/planted.c" &&
    ${CC:-gcc} -std=gnu11 -O1 -g -DOTHER -o other "$root/tests/programs/planted.c" || exit 1
unset HOSTILE HOSTILE_LOG HOSTILE_RUN

. "$root/tests/programs/recording.bash"

# exchanged NAME STEP OPTIONS…
exchanged() {
    local name=$1 step=$2 calls n status tried=0 planted=0 refused=0 wrong=0
    shift 2
    local run=(./spoor -q "$@" -e 'uprobe:./app:probed { @ = count(); }')
    rm -f app log && cp original app
    HOSTILE_LOG=log timeout 20 "${run[@]}" -c ./app >out 2>errors
    check "$name: by itself" grep -qx probed out
    calls=$(awk '/^counts/ && $3 > most { most = $3 } END { print most + 0 }' log)
    for ((n = 1; n <= calls; n += step)); do
        rm -f app && cp original app
        # The other program takes the name; it runs under its own, and is the same file.
        HOSTILE=run:$n HOSTILE_RUN="ln -f '$dir/other' '$dir/taken' && mv -f '$dir/taken' '$dir/app'" \
            timeout 20 "${run[@]}" -c ./other >out 2>errors
        status=$?
        tried=$((tried + 1))
        ! grep -qx planted out || planted=$((planted + 1))
        if grep -q 'ERROR: .* was changed, or another file took its place, since its symbols were read' errors; then
            refused=$((refused + 1))
        elif [ $status != 0 ] || ! grep -qx 'clean\|probed\|planted' out; then
            wrong=$((wrong + 1))
            cp errors "wrong$n"
            cat errors
        fi
    done
    echo "$name: $tried of $calls calls, at $planted of them a breakpoint in the middle of the other program, $refused refused"
    check "$name: nothing else is probed" test "$tried" -ge 5 -a $planted = 0
    check "$name: and that is told" test $refused -gt 0 -a $wrong = 0
}
exchanged "by multi links" "$step"
exchanged "by perf events" $((step * 3)) --no-feature uprobe_multi
