#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks that man/spoor.1 names every probe kind, builtin, command, setting, warning and variable of the environment, and that it
# is well-formed as far as the tools here can tell: man_covers.sh BUILD. Prints what is missing; status 0 or 1. Options are compared by
# man_options.sh.
#
# Names come from the tables in the source, because that is where one is added. A table that yields no name means
# that its form has changed and that this script must follow.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: man_covers.sh BUILD}" && pwd) || exit 1
page=$root/man/spoor.1
export MANROFFSEQ='' MANWIDTH=200 LC_ALL=C.UTF-8
status=0
complain() {
    echo "man/spoor.1: $*"
    status=1
}

if command -v mandoc >/dev/null; then
    text=$(mandoc -T utf8 "$page" | sed 's/.\x08//g')
    mandoc -T lint -W warning "$page" || status=1
else
    command -v man >/dev/null || { echo "neither mandoc nor man is installed" && exit 77; }
    text=$(man -l "$page" 2>/dev/null | sed 's/.\x08//g; s/\x1b\[[0-9;]*m//g')
    warnings=$(man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null)
    [ -z "$warnings" ] || complain "$warnings"
fi
[ -n "$text" ] || complain "it cannot be shown"
text=$(tr -s ' \n' ' ' <<<"$text")

# covers KIND NAME...: each stands in the page as a word.
covers() {
    local kind=$1 name
    shift
    [ $# -gt 0 ] || complain "no $kind found in the source: this check must follow it"
    for name; do
        grep -qE -e "(^|[^A-Za-z0-9_-])$name([^A-Za-z0-9_]|\$)" <<<"$text" || complain "$kind '$name' is missing"
    done
}

cd "$root" || exit 1
# {"name", "synopsis" …} and MACRO("name", "synopsis" …
covers builtin $(grep -oE '^ *(\{|[A-Z]+\()"[a-z_]+", "' src/builtin/*.c | sed '/^src\/builtin\/synonym\.c:/d; s/^[^:]*://' | cut -d'"' -f2 | sed 's/^arg$/arg0/' | sort -u)
covers "probe kind" $(grep -oE '&probe_kind_[a-z]+' src/probe/all.c | sed 's/.*_//' | sort -u)
covers "short name" $(sed -nE 's/.*\.aliases = .*\{"([A-Za-z]+)", NULL\}.*/\1/p' src/probe/*.c)
covers setting $(sed -nE 's/^    \{"([a-z_]+)", SETTING_.*/\1/p' src/session/settings.c)
covers command $("$build/spoor" help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p')
covers variable $(sed -nE 's/.*environment(_number)?\("([A-Z_]+)".*/SPOOR_\2/p' src/cmd/options.c)

# The first words of each warning that a trace can give.
warnings=0
while read -r line; do
    warnings=$((warnings + 1))
    first=$(sed -E 's/%.*|[;:.].*//; s/ *$//' <<<"$line")
    grep -qF -e "$first" <<<"${text//[’‘]/\'}" || complain "warning '$first' is not explained"
done < <(sed -nE 's/.*\[RUNTIME_ERROR_[A-Z_]+\] = \{"([^"]*)".*/\1/p' src/session/runtime_errors.c)
[ $warnings -gt 0 ] || complain "no warning found in the source: this check must follow it"
exit $status
