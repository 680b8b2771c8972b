#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Commands of -c and of system() get no more than their user has: no capabilities that are ours, no descriptors, no way to type
# into our terminal, no set-user-ID unless it is asked for. The terminal does for them what it did before.
#   tests/programs/commands.sh BUILD
set -u
build=$(cd "${1:?usage: commands.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
    echo "skip everything: needs root and setpriv"
    exit 0
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-commands.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
cp "$build/spoor" "$dir"
cd "$dir" || exit 1
${CC:-gcc} -std=gnu11 -O1 -o commands "$root/tests/programs/commands.c" || exit 1
unset SUDO_UID SUDO_GID SPOOR_TRACE SPOOR_TRACE_DIR

check() { # NAME COMMAND…
    local name=$1
    shift
    if "$@"; then echo "ok $name"; else echo "not ok $name" && tail -n 12 out; fi
}
forever='interval:s:1000 { }'
status="sh -c 'cat /proc/self/status; ls -l /proc/self/fd'"
field() { awk -v "name=$1:" '$1 == name { print $2 }' out; }
# Numbers of descriptors above 2 that lead elsewhere than to the listing itself.
descriptors() { sed -nE 's/.* ([0-9]+) -> (.*)/\1 \2/p' out | awk '$1 > 2 && $2 !~ /^\/proc\/[0-9]+\/fd$/ { print $1 }' | tr '\n' ' '; }
own_bounding=$(awk '/^CapBnd:/ { print $2 }' /proc/self/status)

# ---- capabilities ----
both=-all,+bpf,+perfmon
as() { setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=$both --inh-caps=$both --ambient-caps=$both timeout 20 "$@"; }
none=0000000000000000
if as true 2>/dev/null; then
    as ./spoor -q -c "$status" -e "$forever" >out 2>&1 </dev/null
    check "-c: no ambient capabilities" test "$(field CapAmb)" = $none
    check "-c: nor inheritable, permitted, effective ones" test "$(field CapInh) $(field CapPrm) $(field CapEff)" = "$none $none $none"
    as ./spoor -q --unsafe -e "begin { system(\"$status\"); exit(); }" >out 2>&1 </dev/null
    check "system(): neither" test "$(field CapAmb) $(field CapInh) $(field CapPrm)" = "$none $none $none"
else
    echo "skip ambient capabilities: they cannot be given here"
fi
setpriv --inh-caps=+bpf timeout 20 ./spoor -q -c "$status" -e "$forever" >out 2>&1 </dev/null
check "root's own command has nothing inheritable either" test "$(field CapInh)" = $none
check "and the rest as root has it" test "$(field CapBnd) $(field NoNewPrivs)" = "$own_bounding 0"
timeout 20 ./spoor -q --user 65534 -c "$status" -e "$forever" >out 2>&1 </dev/null
check "another user's has none, and none to get" test "$(field CapBnd) $(field CapPrm) $(field CapEff) $(field CapInh) $(field CapAmb) $(field NoNewPrivs)" = "$none $none $none $none $none 1"
SUDO_UID=65534 SUDO_GID=65534 timeout 20 ./spoor -q -c "$status" -e "$forever" >out 2>&1 </dev/null
check "nor has that of who called sudo" test "$(field CapBnd) $(field NoNewPrivs)" = "$none 1"
timeout 20 ./spoor -q --user 65534 --new-privileges -c "$status" -e "$forever" >out 2>&1 </dev/null
check "--new-privileges: it may get some" test "$(field CapBnd) $(field CapPrm) $(field NoNewPrivs)" = "$own_bounding $none 0"

# ---- set-user-ID ----
cp commands setuid && chmod 4755 setuid
if [ "$(setpriv --reuid=65534 --regid=65534 --clear-groups ./setuid ids)" = "ids 65534 0" ]; then
    timeout 20 ./spoor -q --user 65534 -c "./setuid ids" -e "$forever" >out 2>&1 </dev/null
    check "set-user-ID gives nothing" grep -q '^ids 65534 65534$' out
    check "which is said" grep -q "^WARNING: './setuid' is set-user-ID, which a command that runs as another user does not get" out
    timeout 20 ./spoor -q --user 65534 --new-privileges -c "./setuid ids" -e "$forever" >out 2>&1 </dev/null
    check "--new-privileges lets it" grep -q '^ids 65534 0$' out
    check "without a word" test "$(grep -c WARNING out)" = 0
    timeout 20 ./spoor -q -c "setpriv --reuid=65534 --regid=65534 --clear-groups ./setuid ids" -e "$forever" >out 2>&1 </dev/null
    check "root's own command may" grep -q '^ids 65534 0$' out
else
    echo "skip set-user-ID: this file system does not know it"
fi
if cp commands capable && setcap cap_net_raw+ep capable 2>/dev/null; then
    timeout 20 ./spoor -q --user 65534 -c "./capable ids" -e "$forever" >out 2>&1 </dev/null
    check "capabilities of files are told, too" grep -q "^WARNING: './capable' has capabilities" out
else
    echo "skip capabilities of files: they cannot be set here"
fi

# ---- descriptors ----
exec 17<"$root/LICENSE" # the caller's
sh -c 'cat /proc/self/status; ls -l /proc/self/fd' >out 2>&1 </dev/null
given=$(descriptors)
timeout 20 ./spoor -q -o output -c "$status" -e "$forever profile:hz:1 { @[ustack] = count(); }" >out 2>&1 </dev/null
check "root's own command has its caller's descriptors, and none of ours" test "$(descriptors)" = "$given"
timeout 20 ./spoor -q -o output --user 65534 -c "$status" -e "$forever profile:hz:1 { @[ustack] = count(); }" >out 2>&1 </dev/null
check "another user's has the standard streams" test -z "$(descriptors)"
timeout 20 ./spoor -q --unsafe -e "begin { system(\"$status\"); exit(); }" >out 2>&1 </dev/null
check "so has system()" test -z "$(descriptors)"
exec 17<&-

# ---- terminals ----
if command -v python3 >/dev/null; then
    python3 "$root/tests/programs/commands.py" "$dir/spoor" "$dir/commands"
else
    echo "skip terminals: there is no python3"
fi
