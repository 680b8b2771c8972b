#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# --svg: the pictures have the numbers that are printed, and nothing that a key could put there.
#   tests/programs/svg.sh BUILD
set -u
build=$(cd "${1:?usage: svg.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-svg.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export LC_ALL=C.UTF-8

# draws WHAT PROGRAM LINE…: the picture has these lines, in this order.
draws() {
    local what=$1 program=$2 line last=0 at
    shift 2
    rm -f picture.svg
    if ! "$spoor" --host vm -q --svg picture.svg -e "$program" >out 2>errors || ! python3 "$root/tests/programs/svg.py" picture.svg >seen 2>&1; then
        echo "not ok svg: $what"
        cat errors seen 2>/dev/null | sed 's/^/  /'
        return
    fi
    for line; do
        at=$(line=$line awk -v from=$last 'NR > from && $0 == ENVIRON["line"] { print NR; exit }' seen)
        if [ -z "$at" ]; then
            echo "not ok svg: $what"
            echo "  not seen: $line"
            sed 's/^/  /' seen
            return
        fi
        last=$at
    done
    echo "ok svg: $what"
}

draws "numbers" 'begin { @a["x"] = 3; @a["y"] = 12; @a["z"] = -6; exit(); }' \
    "name @a" "label y" "bar 558.00" "number 12" "label x" "bar 139.50" "number 3" "label z" "bar 279.00" "number -6"
draws "a count, and units of numbers" 'begin { @c = count(); @s = sum(1234567); exit(); }' "name @c" "number 1" "name @s" "number 1.23M"
draws "averages" 'begin { @["k"] = avg(10); @["k"] = avg(20); exit(); }' "label k" "number 15"
draws "a histogram" 'begin { @us = hist(5); @us = hist(6); @us = hist(100); exit(); }' "name @us" "label [4, 8)" "bar 558.00" "number 2" "label [8, 16)" "bar 0.00" "label [64, 128)" "bar 279.00"
draws "a histogram for each key, the largest first" 'begin { @["one"] = lhist(3, 0, 10, 5); @["two"] = lhist(3, 0, 10, 5); @["two"] = lhist(7, 0, 10, 5); exit(); }' \
    "key two" "label [0, 5)" "number 1" "label [5, 10)" "number 1" "key one" "label [0, 5)" "number 1"
draws "a heat map, of what came between where the map is emptied" \
    'begin { @h = hist(1); print(@h); clear(@h); } begin { @h = hist(4); @h = hist(4); print(@h); clear(@h); } begin { @h = hist(4); exit(); }' \
    "label [4, 8)" "cell 1 2" "cell 2 1" "label [2, 4)" "label [1]" "cell 0 1" "quiet 3 printings"
draws "a heat map, of what came between where it is not" \
    'begin { @h = hist(4); print(@h); } begin { @h = hist(4); @h = hist(4); print(@h); } begin { @h = hist(4); exit(); }' "label [4, 8)" "cell 0 1" "cell 1 2" "cell 2 1"
draws "keys over time" 'begin { @["a"] = count(); @["b"] = count(); print(@); clear(@); } begin { @["b"] = count(); @["b"] = count(); exit(); }' \
    "label b" "cell 0 1" "cell 1 2" "label a" "cell 0 1"
draws "numbers that do not add up stay as they are" 'begin { @ = 5; print(@); } begin { @ = 5; print(@); } begin { @ = 7; exit(); }' "cell 0 5" "cell 1 5" "cell 2 7"
draws "a time series" 'begin { @ = tseries(8, 1h, 3); exit(); }' "name @" "point 70.00" "quiet largest 8, over 3600.0 s"
draws "more keys than are shown" 'begin { for ($i : 0..250) { @[$i] = $i; } exit(); }' "quiet 50 more keys with smaller values. " "label 249" "quiet and 170 more with smaller values"
draws "texts are no numbers" 'begin { @["k"] = "text"; exit(); }' "name @" "quiet its values are no numbers. "
draws "nothing" 'begin { exit(); }' "quiet no map was printed"
draws "keys that mean something in XML" 'begin { @["</text><script>alert(1)</script>"] = 1; @["\" onload=\"x"] = 2; @["&\033[31m"] = 3; exit(); }' \
    'label &\x1b[31m' 'label " onload="x' "label </text><script>alert(1)</script>"
draws "a long key keeps its end" 'begin { @["0123456789012345678901234567890123456789-the-end"] = 1; exit(); }' "label …567890123456789012345678 9-the-end" 2>/dev/null | grep -q '^not ok' &&
    grep -q 'label ….*9-the-end$' seen && echo "ok svg: a long key keeps its end" || echo "not ok svg: a long key keeps its end"
echo kept >old.svg
"$spoor" --host vm -q --svg old.svg -e 'begin { exit(); }' >/dev/null 2>errors
[ $? = 1 ] && grep -q old.svg errors && [ "$(cat old.svg)" = kept ] && echo "ok svg: a file that exists is kept" || echo "not ok svg: a file that exists is kept"
"$spoor" --host vm -q --svg broken.svg -e 'begin { nonsense }' >/dev/null 2>&1
[ ! -e broken.svg ] && echo "ok svg: no picture without a trace" || echo "not ok svg: no picture without a trace"
