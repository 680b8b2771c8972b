# SPDX-License-Identifier: BSD-3-Clause
# Files that documents name are there: src/…, include/…, tests/…, tools/… between backquotes.
cd "$1" || exit 1
bad=0
while IFS=: read -r document line name; do
    name=${name//\`/}
    [[ $name =~ NAME|MODULE|FOLDER ]] && continue # it stands for any
    [ -e "$name" ] || { echo "$document:$line: there is no $name" && bad=1; }
done < <(grep -noE '`(src|include|tests|tools|examples|bench)/[a-zA-Z0-9_./-]+`' README.md docs/*.md)
exit $bad
