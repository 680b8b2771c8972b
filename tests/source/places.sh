# SPDX-License-Identifier: BSD-3-Clause
# Nothing in the tree knows where on a machine the tree lies, or whose machine it is.
cd "$1" || exit 1
if git rev-parse --git-dir >/dev/null 2>&1; then
    files=$(git ls-files --cached --others --exclude-standard)
else
    files=$(find . -type f -not -path './.git/*' -not -path './build*')
fi
bad=0
for word in "$(pwd -P)" "/home/[a-z]" "$(hostname)"; do
    [ ${#word} -ge 5 ] || continue
    printf '%s\n' "$files" | tr '\n' '\0' | xargs -0 grep -nIe "$word" /dev/null 2>/dev/null | grep -v '^tests/source/places.sh:' && bad=1
done
exit $bad
