#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The user-space host against the kernel: every case whose script has no probes but begin and end runs on it too, and must
# print, warn and end exactly as the case says. Left out is what asks the kernel, and it must say so.
#   tests/programs/vm_agrees.sh BUILD [WORD]
set -u
build=$(cd "${1:?usage: vm_agrees.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-vm.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT

# Cases that mean the kernel: its names, features and limits, or another process's view.
kernel='^(feature/|cli/|function/(system|cat|signal|kfunc)|output/lost-|error/no-root)'
options=$'\n# options:[^\n]*(-p|-c|-d|--check|--no-feature|--test|--bench)'
# What has other probes, as far as that is seen at once; spoor is asked about the rest.
probes=$'(^|\n)(kprobe|kretprobe|fentry|fexit|uprobe|uretprobe|usdt|tracepoint|rawtracepoint|profile|interval|[a-z]):'
ran=0 asks=0 bad=0
for case in "$root"/tests/cases/*/*.case; do
    name=${case#"$root"/tests/cases/}
    name=${name%.case}
    [[ $name == *"${2:-}"* ]] || continue
    [[ $name =~ $kernel ]] && continue
    text=$(<"$case")
    [[ $text == *$'\n--- command'* || $text =~ $options ]] && continue
    script=${text#*$'\n--- script\n'}
    script=${script%%$'\n--- '*}
    [[ $script =~ $probes ]] && continue
    "$build/spoor" --unsafe -l -e "$script" >"$dir/probes" 2>/dev/null || continue
    grep -qvxE 'begin|end' "$dir/probes" && continue
    SPOOR_HOST=vm "$root/tests/case" "$build" "$case" >"$dir/out" 2>&1
    status=$?
    if [ $status = 0 ]; then
        ran=$((ran + 1))
    elif grep -q 'This asks the kernel' "$dir/out"; then
        asks=$((asks + 1))
        echo "asks $name" >>"$dir/asks"
    elif [ $status != 77 ]; then
        bad=$((bad + 1))
        echo "not ok vm agrees with the kernel: $name"
        cat "$dir/out"
    fi
done
[ -z "${SHOW_ASKS:-}" ] || cat "$dir/asks"
[ $bad = 0 ] && [ $ran -gt "${LEAST:-0}" ] && echo "ok vm agrees with the kernel ($ran cases; $asks ask the kernel)"
[ $bad = 0 ]
