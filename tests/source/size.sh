# SPDX-License-Identifier: BSD-3-Clause
# No file of the source is over 800 lines, and each begins with its licence; struct session has at most 25 members.
# Functions: .clang-tidy.
cd "$1" || exit 1
bad=0
find src include tests/unit tests/fuzz tests/targets examples bench -name '*.[ch]' -exec awk '
    FNR == 1 && !/SPDX-License-Identifier: BSD-3-Clause/ { print FILENAME " does not begin with its licence"; bad = 1 }
    FNR == 801 { print FILENAME " has more than 800 lines: split it"; bad = 1 }
    END { exit bad }' {} + || bad=1
# What only one file of src/session needs is in a part that this file alone knows.
members=$(sed -n '/^struct session {/,/^};/p' src/session/state.h | sed 's:/\*.*\*/::; 1d; $d' | grep -o '[,;]' | wc -l)
[ "$members" -gt 0 ] && [ "$members" -le 25 ] || { echo "struct session has $members members instead of 25 at most" && bad=1; }
exit $bad
