# SPDX-License-Identifier: BSD-3-Clause
# Sourced by `tests/case --bless`, after a case was run: what came becomes what must come. In the directory of the case are
# part.WHAT (expected) and got.WHAT for stdout and stderr. Expected lines with {{…}} that still fit stay.

# bless_part WHAT: the new text of a section.
bless_part() {
    awk -v expected="part.$1" "$pattern_functions"'
        BEGIN { while ((getline line < expected) > 0) if (index(line, "{{")) fits[++count] = line }
        {
            for (i = next_fit + 1; i <= count; i++)
                if ($0 ~ pattern(fits[i])) { $0 = fits[i]; next_fit = i; break }
            print
        }' "got.$1"
}

# bless_case FILE STATUS: writes the file anew, and shows what changed.
bless_case() {
    local what
    for what in stdout stderr; do
        if grep -qx '[.][.][.]' "part.$what"; then
            echo "$1: its $what has lines \"...\", which only you can write"
            return 1
        fi
        bless_part $what | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' >"blessed.$what"
    done
    [ "$2" = 0 ] || echo "$2" >blessed.status
    awk '/^--- (stdout|stderr|status)/ { out = 1; next } /^--- / { out = 0 } !out' "$1" >blessed
    for what in stdout stderr status; do
        [ -s "blessed.$what" ] || continue
        echo "--- $what$([ ! -e "part.$what.mode" ] || echo " $(cat "part.$what.mode")")"
        cat "blessed.$what"
    done >>blessed
    diff -u "$1" blessed
    cat blessed >"$1"
}
