#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs as distributions build them: python3, OpenJDK, qemu-system, PostgreSQL: their probes, and their stacks, of which
# every frame has a name or a place in a file.
#   tests/programs/real_programs.sh BUILD
set -u
build=$(cd "${1:?usage: real_programs.sh BUILD}" && pwd) || exit 1
[ "$(id -u)" = 0 ] || { echo "skip everything: needs root"; exit 0; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-real.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export XDG_CACHE_HOME=$dir
unset DEBUGINFOD_URLS

result() { # STATUS NAME [FILE]
    if [ "$1" = 0 ]; then echo "ok $2"; else
        echo "not ok $2"
        [ -z "${3:-}" ] || tail -n 20 "$3" | cut -c1-300 | sed 's/^/    /'
    fi
}
spoor() { timeout 100 "$build/spoor" -q "$@"; }
has_probe() { "$build/spoor" -l "usdt:$1" 2>/dev/null | grep -q .; }

# ---- python3 ----
python=$(readlink -f /usr/bin/python3)
if [ -n "$python" ] && has_probe "$python:python:function__entry"; then
    cat >traced.py <<'py'
def inner(n): return n + 1
def outer(n): return inner(n) + inner(n)
print(sum(outer(i) for i in range(7)))
py
    # 3.11 does not fire function__entry where one function calls another.
    spoor -o printed -e "usdt:$python:python:function__entry { @entries = count() }
        usdt:$python:python:function__return { @[str(arg1)] = count() }" -c "$python traced.py" >output 2>problems
    grep -qx '@\[inner\]: 14' printed && grep -qx '@\[outer\]: 7' printed && grep -q '@entries: [1-9]' printed
    result $? "functions of python3 by its probes" printed
else
    echo "skip python3: it has no probes here"
fi

# ---- OpenJDK ----
java=$(readlink -f "$(command -v java)")
jvm=$(find "${java%/bin/java}" -name libjvm.so 2>/dev/null | head -n 1)
if [ -n "$java" ] && [ -n "$jvm" ] && has_probe "$jvm:hotspot:class__loaded"; then
    spoor -o printed -e "usdt:$jvm:hotspot:class__loaded { @[str(arg0, arg1)] = count() }
        usdt:$jvm:hotspot:vm__init__end { @started = count() }" -c "$java -version" >output 2>problems
    [ "$(grep -c '^@\[[a-z]*/[a-zA-Z/$]*' printed)" -gt 20 ] && grep -qx '@started: 1' printed
    result $? "probes of OpenJDK" printed
else
    echo "skip OpenJDK: it is not installed, or has no probes"
fi

# ---- stacks ----
frames() { # NAME COMMAND
    spoor -o printed -e 'tracepoint:syscalls:sys_enter_exit_group /pid == cpid/ { printf("%s", ustack(perf)) }' -c "$2" >output 2>problems
    # "address function+offset (file)", or the address and its place in the file; or the mark of what is no frame.
    grep -v '^$' printed >frames
    [ -s frames ] && ! grep -vE '^	([0-9a-f]+ (\[inlined\] )?[^ ].* \((/|\[)[^)]*\)|\[no frame pointer\])$' frames >strange
    result $? "every frame of $1 has a place" frames
}
[ -z "$python" ] || frames python3 "$python -c 1"
if command -v qemu-system-x86_64 >/dev/null; then frames qemu-system "qemu-system-x86_64 --version"; else echo "skip qemu-system: not installed"; fi
postgres=$(ls /usr/lib/postgresql/*/bin/postgres 2>/dev/null | tail -n 1)
if [ -n "$postgres" ]; then frames PostgreSQL "$postgres --version"; else echo "skip PostgreSQL: not installed"; fi
