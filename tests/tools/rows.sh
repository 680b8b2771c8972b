#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How much of the language is tested: rows.sh BUILD. Reads tests/language/rows.txt, checks that every case that it names
# exists and that no row stands twice, and prints "language rows: N of M have a test". Status 0 or 1.
# ROWS=missing prints the rows without a test too.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 1
awk -F ' \\| ' -v missing="${ROWS:-}" '
    function complain(text) { print "tests/language/rows.txt:" FNR ": " text; bad = 1 }
    FILENAME ~ /examples.txt$/ { if (/^=== /) { split($0, word, " "); examples[word[2]] = 1 } next }
    /^#/ || /^$/ { next }
    {
        # Some descriptions have a bar in them: the first two and the last are the columns that matter.
        id = $1
        cases = $NF
        if (NF < 4 || id !~ /^[a-z0-9.-]+$/ || $2 !~ /^[0-9]+$/) { complain("not \"id | section | what | cases\""); next }
        if (id in seen) complain("the row " id " stands twice")
        seen[id] = 1
        rows++
        if (cases == "-") { if (missing) print id ": " $3; next }
        count = split(cases, names, " ")
        has_test = 0
        for (i = 1; i <= count; i++) {
            if (sub(/^[?]/, "", names[i])) { # awaited: counts when it is there
                if ((getline line < ("tests/cases/" names[i] ".case")) > 0) has_test = 1
                continue
            }
            has_test = 1
            if (names[i] ~ /^examples:/) {
                if (!(substr(names[i], 10) in examples)) complain("there is no example " substr(names[i], 10))
            } else if ((getline line < ("tests/cases/" names[i] ".case")) <= 0)
                complain("there is no tests/cases/" names[i] ".case")
            else
                close("tests/cases/" names[i] ".case")
        }
        if (has_test) tested++
        else if (missing) print id ": " $3
    }
    END {
        if (rows < 300) { print "tests/language/rows.txt: only " rows + 0 " rows"; bad = 1 }
        printf "language rows: %d of %d have a test\n", tested, rows
        exit bad
    }' tests/language/examples.txt tests/language/rows.txt
