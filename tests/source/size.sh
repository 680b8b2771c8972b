# SPDX-License-Identifier: BSD-3-Clause
# No file of the source is over 900 lines (unit tests are lists and may be), and each begins with its licence.
cd "$1" || exit 1
bad=0
for file in $(find src include tests/unit tests/fuzz tests/targets examples bench -name '*.[ch]'); do
    lines=$(wc -l <"$file")
    [ "$lines" -le 900 ] || [[ $file == tests/unit/* ]] || { echo "$file has $lines lines: split it" && bad=1; }
    head -n 1 "$file" | grep -q 'SPDX-License-Identifier: BSD-3-Clause' || { echo "$file does not begin with its licence" && bad=1; }
done
exit $bad
