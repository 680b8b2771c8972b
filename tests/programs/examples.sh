#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The examples of tests/language/examples.txt, byte by byte: examples.sh BUILD.
set -u

build=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" = 0 ] || { echo "skip examples: needs root" && exit 0; }
work=$(mktemp -d "${TMPDIR:-/tmp}/spoor-examples.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# N.name, N.script and N.expected for each; blank lines before the next example do not count.
awk '
    /^=== / { number++; name = $2; options = "-q"; if (match($0, /options: /)) options = substr($0, RSTART + 9)
        print name > (number ".name"); print options > (number ".options"); part = "script"; printf "" > (number ".script")
        printf "" > (number ".expected"); next }
    part == "script" && /^---$/ { part = "expected"; next }
    number { print > (number "." part) }' "$root/tests/language/examples.txt"

# Blank lines at the end of both do not count, as in cases.
trimmed() { sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' "$1"; }

for script in $(ls ./*.script | sort -V); do
    number=${script%.script} name=$(cat "${script%.script}.name")
    read -ra options <"$number.options"
    timeout -k 5 20 "$build/spoor" "${options[@]}" "$script" 2>"$number.err" >"$number.raw"
    status=$?
    # Times and counts differ from run to run.
    case $name in
    test | bench) sed -E 's/\(([0-9]+) ns/(N ns/; s/^(nothing) +[0-9]+ +[0-9]+$/\1 N N/' "$number.raw" >"$number.out" ;;
    *) cp "$number.raw" "$number.out" ;;
    esac
    if [ $status = 0 ] && [ ! -s "$number.err" ] && [ "$(trimmed "$number.out")" = "$(trimmed "$number.expected")" ]; then
        echo "ok $name"
    else
        echo "not ok $name (status $status)"
        cat "$number.err"
        diff <(trimmed "$number.expected") <(trimmed "$number.out")
    fi
done
