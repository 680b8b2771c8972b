#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The unit for systemd: it is right, closes what can be closed, and what it allows is enough. tests/programs/service.sh BUILD
set -u
build=$(cd "${1:?usage: service.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/programs/recording.bash"
begin_test service
result() { # STATUS NAME [FILE]
    if [ "$1" = 0 ]; then echo "ok $2"; else
        echo "not ok $2"
        [ -z "${3:-}" ] || sed 's/^/    /' "$3"
    fi
}
sed "s,@PREFIX@/bin,$build," "$root/packaging/spoor-serve.service.in" >spoor-serve.service
if command -v systemd-analyze >/dev/null; then
    systemd-analyze verify --man=no "$dir/spoor-serve.service" >log 2>&1 && [ ! -s log ]
    result $? "systemd finds no mistake" log
    if systemd-analyze --help | grep -q -- --offline; then
        systemd-analyze security --offline=yes --no-pager --threshold=40 "$dir/spoor-serve.service" >log 2>&1
        result $? "its exposure is at most 4.0" log
    else
        echo "skip exposure: systemd-analyze is older than 250"
    fi
else
    echo "skip systemd: systemd-analyze is not installed"
fi

# With the rights of the unit.
[ "$(id -u)" = 0 ] || { echo "skip rights: needs root"; exit 0; }
mkdir scripts
cat >scripts/all.bt <<'END'
tracepoint:raw_syscalls:sys_enter { @calls = count(); }
uprobe:/proc/self/exe:main { @main = count(); }
profile:hz:99 { @stacks[kstack(1)] = count(); }
END
bounding=$(sed -n 's/^CapabilityBoundingSet=//p' spoor-serve.service | tr 'A-Z' 'a-z' | sed 's/cap_/+/g; s/ /,/g')
unshare --mount bash -c 'mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
    exec setpriv --no-new-privs --bounding-set="-all,$1" "$2" serve --openmetrics "$PWD/out.prom" --openmetrics-period 100ms scripts' \
    bash "$bounding" "$build/spoor" >out 2>err &
served=$!
for _ in $(seq 600); do
    grep -qs '^spoor_all_calls_total{script="all"} [1-9]' out.prom && break
    kill -0 $served 2>/dev/null || break
    sleep 0.05
done
grep -qs '^spoor_all_calls_total{script="all"} [1-9]' out.prom
result $? "what it allows is enough to trace" err
grep -q '^spoor_serve_script_up{script="all"} 1$' out.prom
result $? "with all probes" err
[ "$(cat /proc/sys/kernel/bpf_stats_enabled)" = 1 ] || grep -q 'HINT: sysctl kernel.bpf_stats_enabled=1' err
result $? "what it does not allow is told" err
kill $served
wait $served
result $? "it ends" err
