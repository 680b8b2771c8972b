# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests/run: which tests there are, in what order, and which of them a change asks for.

# all_tests: their names.
all_tests() {
    local file
    for file in "$build"/unit/*_test; do [ ! -x "$file" ] || { file=${file##*/} && echo "unit/${file%_test}"; }; done
    for file in tests/source/*.sh; do echo "source/$(basename "$file" .sh)"; done
    for file in tests/tools/*.sh; do echo "tools/$(basename "$file" .sh)"; done
    for file in tests/cases/*/*.case; do file=${file#tests/cases/} && echo "case/${file%.case}"; done
    for file in tests/programs/*.sh; do echo "program/$(basename "$file" .sh)"; done
}

# alone_only FILE: those of its tests that say that nothing may run beside them.
alone_only() {
    grep -ls '^# alone: ' tests/cases/*/*.case tests/programs/*.sh tests/tools/*.sh |
        sed 's#^tests/cases/#case/#; s#^tests/programs/#program/#; s#^tests/##; s#\.case$##; s#\.sh$##' | grep -xFf "$1"
}

# slowest_first: sorts names by what they took in the last whole run, so that no long one is begun at the end, and in turns one that
# computed and one that mostly waited, so that the CPUs have something to do. What is not known comes first if it is a program, and
# last otherwise.
slowest_first() {
    awk -v seconds="$build/seconds.txt" '
        BEGIN { while ((getline line < seconds) > 0) { split(line, parts, " "); took[parts[2]] = parts[1]; cpu[parts[2]] = parts[3] } }
        { print ($0 in took ? took[$0] : /^program\// ? 30 : 0), ($0 in took && cpu[$0] < took[$0] / 4), $0 }' |
        sort -rn -s -k 1,1 | awk '
            { test[$2, ++count[$2]] = $3 }
            END {
                for (i = 1; i <= count[0] || i <= count[1]; i++)
                    for (waits = 0; waits < 2; waits++)
                        if (i <= count[waits])
                            print test[waits, i]
            }'
}

# changed_files: since this branch left the one that others see, and what is not committed.
changed_files() {
    local base
    base=$(git merge-base HEAD '@{upstream}' 2>/dev/null || git rev-parse HEAD 2>/dev/null) || return
    git diff --name-only "$base"
    git ls-files --others --exclude-standard
}

# quick_only: of the names on standard input those that are quick and that the changed files ask for. Rows of tests/quick.txt:
# a pattern of files, then patterns of tests.
quick_only() {
    local file pattern tests test
    changed_files | sort -u | while read -r file; do
        case $file in
        tests/cases/*.case) file=${file#tests/cases/} && echo "case/${file%.case}" ;;
        esac
        while read -r pattern tests; do
            # shellcheck disable=SC2053 # patterns, both
            [[ $pattern == '#'* || -z $pattern || $file != $pattern ]] || printf '%s\n' $tests
        done <tests/quick.txt
    done | sort -u >"$results/patterns"
    while read -r test; do
        case $test in
        unit/* | source/* | tools/*) echo "$test" ;;
        case/*)
            ! grep -q '^# \(alone\|timeout\): ' "tests/cases/${test#case/}.case" &&
                while read -r pattern; do
                    # shellcheck disable=SC2053
                    [[ $test == $pattern ]] && echo "$test" && break
                done <"$results/patterns"
            ;;
        esac
    done
}
