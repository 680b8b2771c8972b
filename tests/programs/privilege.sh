#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The least privilege: CAP_BPF and CAP_PERFMON are enough, what is missing is named, commands run as who called sudo, and
# nobody gets more by calling spoor than they had.
#   tests/programs/privilege.sh BUILD
set -u
build=$(cd "${1:?usage: privilege.sh BUILD}" && pwd) || exit 1
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
    echo "skip everything: needs root and setpriv"
    exit 0
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-privilege.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
cp "$build/spoor" "$build/targets/calls" "$build/targets/fires" "$dir"
cd "$dir" || exit 1
unset SUDO_UID SUDO_GID

check() { # NAME COMMAND…
    local name=$1
    shift
    if "$@"; then echo "ok $name"; else echo "not ok $name" && tail -n 5 out; fi
}
# as CAPABILITIES COMMAND…: nobody, with these (+bpf,+perfmon)
as() {
    local list=$1
    shift
    setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set="-all$list" --inh-caps="-all$list" --ambient-caps="-all$list" \
        timeout 20 "$@"
}
prints() { # NAME EXPECTED COMMAND…: the output has a line like this
    local name=$1 expected=$2
    shift 2
    "$@" >out 2>&1 </dev/null
    check "$name" grep -q -- "$expected" out
}

both=,+bpf,+perfmon
if as $both true 2>/dev/null; then
    prints "uprobe with two capabilities" '^1 2$' as $both ./spoor -q -c './calls 2' -e 'uprobe:./calls:calls_add { @ += 1; printf("%d %d\n", arg0, @); }'
    prints "USDT with its text" '^1001 null0$' as $both ./spoor -q -c './fires 2' -e 'usdt:./fires:fires:request { printf("%d %s\n", arg0, str(arg2)); }'
    prints "raw tracepoint" '^@: [1-9]' as $both ./spoor -q --duration 5s -e 'rawtracepoint:sched_switch { @ = count(); if (@ > 10) { exit(); } }'
    (while kill -0 $$ 2>/dev/null; do /bin/true; done) & # whose pages come in
    faulting=$!
    prints "interval, software event" '^@: [1-9]' as $both ./spoor -q --duration 5s -e 'software:page-faults:1 { @ = count(); } interval:ms:100 { if (@ > 0) { exit(); } }'
    kill $faulting && wait $faulting 2>/dev/null
    prints "CAP_PERFMON is named" 'CAP_PERFMON is missing' as ,+bpf ./spoor -e 'interval:s:1 { exit(); }'
    prints "CAP_BPF is named" 'CAP_BPF is missing' as ,+perfmon ./spoor -e 'interval:s:1 { exit(); }'
    if ! as $both test -r /sys/kernel/tracing/events; then
        prints "what tracepoints need is named" '/sys/kernel/tracing is readable by root' as $both ./spoor -e 'tracepoint:sched:sched_switch { exit(); }'
    fi
else
    echo "skip two capabilities: they cannot be given here"
fi
prints "without any, both are named" 'CAP_BPF and CAP_PERFMON' setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all ./spoor -e 'interval:s:1 { exit(); }'
check "checking a script needs none" setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all ./spoor --check -e 'interval:s:1 { exit(); }' 2>out

# ---- commands ----
command="sh -c 'id -u; id -G'"
said() { # LINE OPTIONS…: what the command prints; its end ends the trace
    local line=$1
    shift
    timeout 30 ./spoor -q "$@" -c "$command" -e 'interval:s:20 { exit(); }' 2>&1 | sed -n "${line}p"
}
check "root's command is root's" [ "$(said 1)" = 0 ]
check "under sudo it is the caller's" [ "$(SUDO_UID=65534 SUDO_GID=65534 said 1)" = 65534 ]
check "with no group of root" [ "$(SUDO_UID=65534 SUDO_GID=65534 said 2)" = 65534 ]
check "--user root is asked for by name" [ "$(SUDO_UID=65534 SUDO_GID=65534 said 1 --user root)" = 0 ]
check "--user by number" [ "$(said 1 --user 65534)" = 65534 ]
prints "a user that is not there" "there is no user 'nobody-at-all'" ./spoor --user nobody-at-all -c id -e 'begin { exit(); }'
for odd in x -1 4294967295 "65534 " 99999999999999999999; do
    check "SUDO_UID='$odd' means nobody" [ "$(SUDO_UID=$odd SUDO_GID=65534 said 1)" = 0 ]
done

# ---- set-user-ID ----
cp spoor setuid && chmod 4755 setuid
prints "set-user-ID is refused" 'not made to be set-user-ID' setpriv --reuid=65534 --regid=65534 --clear-groups ./setuid -e 'begin { exit(); }'
