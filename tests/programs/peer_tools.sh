#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The tools of the bpftrace that is installed, as they are (Debian's is 0.17, or 0.27 in sid), or those in the directory PEER_TOOLS:
# peer_tools.sh BUILD. Each must compile, or be refused for a reason that peer_tools.txt gives; those whose probes this kernel
# can attach must run, and print something.
set -u

build=$(cd "${1:?usage: peer_tools.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" = 0 ] || { echo "skip peer-tools: needs root" && exit 0; }
[ -r /sys/kernel/btf/vmlinux ] || { echo "skip peer-tools: needs the kernel's BTF" && exit 0; }
if [ -n "${PEER_TOOLS:-}" ]; then
    tools=$(find "$(cd "$PEER_TOOLS" && pwd)" -name '*.bt' | sort)
else
    tools=$(dpkg -L bpftrace 2>/dev/null | grep '\.bt$')
fi
[ -n "$tools" ] || { echo "skip peer-tools: Debian's bpftrace is not installed" && exit 0; }
work=$(mktemp -d "${TMPDIR:-/tmp}/spoor-peer-tools.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# Something to see: programs start, sleep, open files, and end.
(while :; do
    cat /etc/hostname >/dev/null
    sleep 0.05
done) &
busy=$!
trap 'kill $busy; rm -rf "$work"' EXIT

for tool in $tools; do
    name=$(basename "$tool" .bt)
    line=$(grep "^$name | " "$root/tests/programs/peer_tools.txt")
    expected=$(awk -F ' [|] ' '{ print $2 }' <<<"$line") why=$(awk -F ' [|] ' '{ print $3 }' <<<"$line")
    timeout 20 "$build/spoor" --check "$tool" >checked 2>&1
    case $? in
    0) ;;
    1)
        if [ -n "$line" ] && grep -qE "$expected" checked && [ "$(grep -c 'ERROR: ' checked)" = "$(grep -cE "ERROR: .*(No matches|$expected)" checked)" ]; then
            echo "ok $name is refused: $why"
        else
            echo "not ok $name is accepted"
            sed 's/^/  /' checked
        fi
        continue
        ;;
    *)
        echo "not ok $name: spoor --check ended with another status than 0 and 1"
        continue
        ;;
    esac
    # SIGINT in a second: with Ctrl-C is how the tools are meant to be left.
    timeout -s INT -k 5 2 "$build/spoor" -q "$tool" >out 2>err
    status=$?
    if [ $status = 1 ] && grep -qE 'this kernel has no (kprobes|kretprobes)' err; then
        echo "ok $name compiles (no kprobes to run it with)"
    elif [ $status = 1 ] && [ -n "$line" ] && grep -qE "$expected" err; then
        echo "ok $name is refused: $why"
    elif { [ $status = 124 ] || { [ $status = 0 ] && grep -q 'missing_probes = ignore' "$tool"; }; } && [ -s out ] && ! grep -q ERROR err; then
        echo "ok $name runs"
    else
        echo "not ok $name runs (status $status)"
        sed 's/^/  /' err
    fi
done
