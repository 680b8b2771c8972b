# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests/run: what was skipped, and whether that is as it should be. Rows of tests/skips.txt:
#   pattern of the line after SKIP (an ERE) | why that is no loss

# skips_judge FILE TABLE: of the lines SKIP in it those with a reason that the rows do not know; the others go to TABLE with
# their explanation.
skips_judge() {
    grep '^SKIP ' "$1" | sed 's/^SKIP //' | sort | awk -v rows=tests/skips.txt -v table="$2" '
        BEGIN {
            FS = " [|] "
            printf "" >table
            while ((getline line < rows) > 0)
                if (line !~ /^#/ && split(line, parts, / [|] /) == 2) {
                    pattern[++count] = parts[1]
                    why[count] = parts[2]
                }
            FS = "\n"
        }
        {
            for (i = 1; i <= count; i++)
                if ($0 ~ pattern[i]) {
                    print $0 " | " why[i] >table
                    next
                }
            print
        }'
}
