#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Debian's bpftrace 0.17 and spoor must say the same of tests/differential/scripts.txt: differential.sh BUILD. ONLY=word in
# the environment: only scripts whose name contains it.
#
# Starting bpftrace takes half a second, so scripts run in batches: their variables and maps get a prefix with the
# script's number, by which what is printed finds its script again.
set -u

build=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" = 0 ] || { echo "skip differential: needs root" && exit 0; }
command -v bpftrace >/dev/null || { echo "skip differential: bpftrace is not installed" && exit 0; }
case $(bpftrace --version) in *v0.17*) ;; *) echo "skip differential: bpftrace is not 0.17" && exit 0 ;; esac
# bpftrace wants tracefs at its usual place: a mount that only this test sees.
if [ ! -d /sys/kernel/tracing/events ] && [ -z "${SPOOR_OWN_MOUNTS:-}" ]; then
    SPOOR_OWN_MOUNTS=1 exec unshare -m bash -c 'mount -t tracefs tracefs /sys/kernel/tracing; exec bash "$0" "$1"' "$0" "$build"
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/spoor-differential.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cp "$build"/targets/{calls,fires,structs} "$build"/targets/structs.h "$work" && cd "$work" || exit 1
ln calls equal || exit 1 # the same file by a name that no other test has, for scripts that go by comm

BATCH=12
# batches: GROUP.N.bt with at most BATCH scripts; list: number, name, group and reason of each.
awk -v most=$BATCH -v only="${ONLY:-}" '
    function flush_batch(group) { if (used[group]) { batch[group]++; used[group] = 0 } }
    function finish(    file, text, id) {
        if (name == "" || (only != "" && index(name, only) == 0)) return
        id = ++number
        print id "\t" name "\t" reason > "list"
        text = body
        # A map or variable: the prefix goes behind its sigil. $1 and $# are parameters; strings hold neither.
        gsub(/@/, "@p" id "_", text)
        while (match(text, /\$[a-z]/)) text = substr(text, 1, RSTART) "\001p" id "_" substr(text, RSTART + 1)
        gsub(/\001/, "", text)
        alone = body ~ /^(#|struct|union|enum|typedef)/ # 0.17 wants definitions before the first probe
        if (used[group] == most || alone) flush_batch(group)
        file = group "." (batch[group] + 0) ".bt"
        if (group == "begin")
            text = (used[group] ? "" : "BEGIN {\n") "printf(\"=" id "\\n\");\n" text
        printf "%s", text > file
        used[group]++
        if (alone) flush_batch(group)
    }
    (/^#/ && name == "") || /^$/ { next }
    /^=== / { finish(); name = $2; group = $3; reason = ""; if (match($0, /(may differ|differs): /)) reason = substr($0, RSTART); body = ""; next }
    { body = body $0 "\n" }
    END { finish() }' "$root/tests/differential/scripts.txt"
for file in begin.*.bt; do [ -e "$file" ] && printf 'printf("=end\\n"); exit(); }\n' >>"$file"; done

# said FILE: what a tool printed, as files SCRIPT.said with forms made the same. Blank lines do not count; entries of maps
# are sorted, because releases sort differently.
said() {
    sed -e '/^Attaching [0-9]* probes\{0,1\}\.\.\.$/d' -e '/^$/d' -e '/^described$/d' \
        -e 's/^\(@p[0-9]*_.*\): $/\1:/' \
        -e 's/: count \(-\{0,1\}[0-9]*\), average \(-\{0,1\}[0-9]*\), total \(-\{0,1\}[0-9]*\)$/: { .count = \1, .average = \2, .total = \3 }/' "$1" |
        awk -v side="$2" '
            function put(id, line) { print line > (id "." side) }
            /^=end$/ { id = 0; next }
            /^=[0-9]+$/ { id = substr($0, 2); printed[id] = 1; next }
            /^@p[0-9]+_/ && !id { owner = $0; sub(/^@p/, "", owner); sub(/_.*/, "", owner); entry = $0
                sub(/^@p[0-9]+_/, "@", entry); put(owner ".maps", entry); last = owner; next }
            id { sub(/^@p[0-9]+_/, "@"); put(id ".print", $0); next }
            last && /^[ \[(\]]/ { sub(/^\]/, "]"); put(last ".maps", $0) }'
}

for batch in *.*.bt; do
    group=${batch%%.*} command=()
    [ "$group" = begin ] || command=(-c "./$group 3")
    [ "$group" = calls ] && command=(-c "./equal 3 20") # for intervals: without a pause it can end within a millisecond
    timeout -k 5 30 bpftrace -q --unsafe "${command[@]}" "$batch" 7 seven >peer.out 2>peer.err </dev/null
    echo $? >peer.status
    timeout -k 5 30 "$build/spoor" -q --unsafe "${command[@]}" "$batch" 7 seven >ours.out 2>ours.err </dev/null
    echo $? >ours.status
    for side in peer ours; do
        if [ "$(cat $side.status)" != 0 ]; then
            echo "not ok differential-$batch ($side ended with $(cat $side.status))"
            grep -v RLIMIT_MEMLOCK $side.err | head -n 20
        fi
        said $side.out $side
    done
done

# of NUMBER SIDE: everything that it said.
of() {
    cat "$1.print.$2" 2>/dev/null
    sort "$1.maps.$2" 2>/dev/null
}
while IFS=$'\t' read -r number name reason; do
    peer=$(of "$number" peer) ours=$(of "$number" ours)
    if [ -z "$peer$ours" ]; then
        echo "not ok $name: neither said anything"
    elif [ "$peer" = "$ours" ]; then
        [[ $reason != differs* ]] && echo "ok $name" || echo "not ok $name: no longer differs"
    elif [ -n "$reason" ]; then
        echo "ok $name ($reason)"
    else
        echo "not ok $name"
        diff <(echo "$peer") <(echo "$ours")
    fi
done <list
