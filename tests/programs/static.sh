#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What `make static` makes, alone in an empty root directory: it needs no file, has its tools, knows users without the C library's
# modules, and reads what is packed.
#   tests/programs/static.sh BUILD
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: static.sh BUILD}" && pwd) || exit 1
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-static.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

result() { # STATUS NAME [FILE]
    if [ "$1" = 0 ]; then echo "ok $2"; else
        echo "not ok $2"
        [ -z "${3:-}" ] || tail -n 20 "$3" | sed 's/^/    /'
    fi
}
if nm "$build/spoor" 2>/dev/null | grep -q __asan_init; then
    echo "skip the static program: sanitizers are shared libraries"
    exit 0
fi

make -s -C "$root" BUILD="$build" static >log 2>&1
result $? "it is linked" log
[ -x "$build/spoor-static" ] || exit 0
[ "$(stat -c %s "$build/spoor-static")" -lt $((5 << 20)) ]
result $? "it has less than 5 MB"
[ "$(readelf -lW "$build/spoor-static" | grep -c INTERP)$(readelf -dW "$build/spoor-static" | grep -c NEEDED)" = 00 ]
result $? "it asks for no loader and no library"
if [ "$(id -u)" != 0 ]; then
    echo "skip an empty root directory: needs root"
    exit 0
fi

# ---- an empty root directory ----
mkdir empty
cp "$build/spoor-static" empty/spoor
alone() { chroot empty /spoor "$@" </dev/null >out 2>errors; }
alone --version
[ $? = 0 ] && grep -q '^spoor [0-9]' out
result $? "--version" errors
alone --list-tools
[ $? = 0 ] && grep -q ' biolatency ' out
result $? "it lists the tools" errors
for tool in "$root"/tools/*.bt; do
    name=$(basename "$tool" .bt)
    alone "$name" --help
    [ $? = 0 ] && grep -q "^$name: " out || echo "$name"
done >missing
[ ! -s missing ]
result $? "it has all of them" missing
alone --check -e 'interval:s:1 { @[comm] = lhist(pid, 0, 100, 10); }'
[ $? = 0 ] && [ ! -s errors ]
result $? "--check" errors
alone --check killsnoop.bt
[ $? = 1 ] && grep -q "cannot read the script 'killsnoop.bt'" errors
result $? "a file is not a tool" errors
alone -q -e 'BEGIN { printf("x\n"); exit(); }'
[ $? = 0 ] && [ "$(grep . out)" = x ]
result $? "a script is run by the kernel" errors
alone --host vm -q -e 'BEGIN { printf("%s\n", strftime("%Y", 0)); exit(); }'
[ $? = 0 ] && [ "$(grep -cE '^20[0-9]{2}$' out)" = 1 ]
result $? "the time is told without files of time zones" errors
alone top --batch -n 1 -i 100ms -e 'interval:ms:10 { @ticks = count(); }'
[ $? = 0 ] && grep -qE '^ +[0-9]+ .* @ticks$' out
result $? "top prints tables" errors
script -qec "$build/spoor-static top -e 'begin { exit(); }'" /dev/null </dev/null >out 2>&1
[ $? = 1 ] && grep -q 'the screen needs libncursesw.so.6: this program is linked statically' out && grep -q 'HINT: .*--batch' out
result $? "top says that a screen needs a library" out
"$build/spoor-static" -q --openmetrics "unix:$dir/socket" -e 'interval:ms:100 { @ticks = count(); }' >out 2>errors &
static=$!
for _ in $(seq 200); do
    python3 -c 'import socket
one = socket.socket(socket.AF_UNIX)
one.connect("socket")
one.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
print(one.makefile().read())' >page 2>/dev/null && grep -q '^spoor_ticks_total [1-9]' page && break
    sleep 0.05
done
if nm "$build/gen/microhttpd.o" | grep -q MHD_start_daemon; then
    grep -q '^spoor_ticks_total [1-9]' page
    result $? "metrics over HTTP need no library" errors
else
    grep -q 'need libmicrohttpd.so.12: this program is linked statically' errors && grep -q 'HINT: .*FILE.prom' errors
    result $? "metrics over HTTP need a library" errors
fi
kill -INT $static
wait $static
"$build/spoor-static" -q --openmetrics ./static.prom -e 'begin { @ = count(); exit(); }' >out 2>&1 && grep -qx 'spoor_total 1' static.prom
result $? "metrics in a file need none" out
alone doctor
grep -q 'elfutils .* reads debug information' out && grep -q 'liblzma unpacks' out
result $? "elfutils and liblzma are inside" out
mkdir empty/mine
printf '// biolatency: mine.\nbegin { exit(); }\n' >empty/mine/biolatency.bt
SPOOR_TOOLS=/mine alone biolatency --help
[ $? = 0 ] && grep -q '^biolatency: mine' out
result $? "a tool in a directory wins" out

# ---- users and groups ----
mkdir empty/etc
printf 'other:x:1:1::/:/\nada:x:1234:1235::/:/\nzero:x:0:0::/:/' >empty/etc/passwd
printf 'ours:x:1235:\nfirst:x:7:bob,ada\nother:x:8:bob\nlast:x:9:ada' >empty/etc/group
printf 'passwd: nothing files\ngroup: nothing files\n' >empty/etc/nsswitch.conf
cat >groups.c <<'END'
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    gid_t groups[64];
    const int count = getgroups(64, groups);
    printf("%u:%u:", getuid(), getgid());
    for (int i = 0; i < count; i++)
        printf(" %u", groups[i]);
    return puts("") < 0;
}
END
gcc -static -o empty/groups groups.c >log 2>&1
result $? "a program for the root directory is built" log
for name in ada 1234; do
    alone -q --user $name -c /groups -e 'interval:s:60 { }'
    [ $? = 0 ] && grep -qx '1234:1235: 7 9 1235' out
    result $? "--user $name has the user's groups" errors
done
alone --user bob -c /groups -e 'interval:s:60 { }'
[ $? = 1 ] && grep -q "there is no user 'bob'" errors
result $? "a user without an entry is an error" errors
alone -q -e 'begin { printf("%s\n", username); exit(); }'
[ "$(grep . out)" = zero ]
result $? "who runs the script has a name" out
exit 0
