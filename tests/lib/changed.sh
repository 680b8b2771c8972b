# SPDX-License-Identifier: BSD-3-Clause
# Sourced by checks of the source that look at each file by itself: at those alone that changed since they last found nothing.

# changed_files CHECK [SHARED…]: of the files that standard input names, those that changed since CHECK succeeded; all of them if
# a SHARED one did, by which the others are judged.
changed_files() {
    local stamp=build/lint/$1.ok file
    mkdir -p build/lint
    touch "$stamp.next"
    shift
    if [ -e "$stamp" ] && [ -z "$(find "$@" -newer "$stamp")" ]; then
        while read -r file; do [ ! "$file" -nt "$stamp" ] || echo "$file"; done
    else
        cat
    fi
}

# changed_settled CHECK: it succeeded with all that had changed.
changed_settled() {
    mv "build/lint/$1.ok.next" "build/lint/$1.ok"
}
