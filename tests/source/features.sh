# SPDX-License-Identifier: BSD-3-Clause
# Every feature of src/bpf/features.h has a case that takes it away and looks at the result. --info's own cases do not count.
cd "$1" || exit 1
bad=0
features=$(sed -n 's/^ *X(\([a-z0-9_]*\), ".*/\1/p' src/bpf/features.h)
[ -n "$features" ] || { echo "src/bpf/features.h has no features" && exit 1; }
for feature in $features; do
    # In the options, in a command, or in the table of the case for what has no fallback.
    grep -lqE -e "--no-feature[ =]([a-z0-9_]+,)*$feature(,|[^a-z0-9_]|\$)" $(ls tests/cases/*/*.case | grep -v /cli/info) ||
        grep -q "^$feature  *[a-z]" tests/cases/feature/without-what-has-no-fallback.case ||
        { echo "no case does without $feature" && bad=1; }
done
# A case in no folder would run nowhere.
for file in tests/cases/*.case; do
    [ ! -e "$file" ] || { echo "$file belongs into one of the folders of tests/cases" && bad=1; }
done
exit $bad
