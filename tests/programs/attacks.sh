#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What somebody else's program may try against a tracer of root's: file systems that they serve themselves, namespaces of their
# own, set-user-ID programs, links in the way of files that follow each other, files that change places, endless names.
#   tests/programs/attacks.sh BUILD
set -u
build=$(cd "${1:?usage: attacks.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor
[ "$(id -u)" = 0 ] || { echo "skip everything: needs root" && exit 0; }
. "$root/tests/programs/recording.bash"
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-attacks.XXXXXX") || exit 1
server='' program='' attacker='' silent=''
finish() {
    [ -z "$attacker" ] || { kill -KILL "$attacker" 2>/dev/null && wait "$attacker" 2>/dev/null; }
    [ -z "$program" ] || { kill -KILL "$program" 2>/dev/null && wait "$program" 2>/dev/null; }
    [ -z "$server" ] || { kill -TERM "$server" 2>/dev/null && wait "$server" 2>/dev/null; }
    [ -z "$silent" ] || { kill -TERM "$silent" 2>/dev/null && wait "$silent" 2>/dev/null; }
    rm -rf "$dir"
}
trap finish EXIT
cd "$dir" || exit 1
chmod 755 .
unset SUDO_UID SUDO_GID SPOOR_TRACE
nobody=65534
# Whatever happens to this script, what it started does not go on: everything here would do so for ever.
mortal=(setpriv --pdeathsig KILL)
as_nobody=("${mortal[@]}" --reuid="$nobody" --regid="$nobody" --clear-groups) # no function: the process must be the one that is ended
cat >calls.c <<'END'
#include <unistd.h>
enum { LIFE = 300 /* seconds; a set-user-ID program outlives who started it */ };
__attribute__((noinline, noclone)) int serve(int number) { __asm__ volatile("" ::: "memory"); return number; }
int main(int argc, char **argv)
{
    alarm(LIFE);
    for (int i = 0; argc < 3 || i < 100; i++, usleep(2000))
        serve(i);
    return execv(argv[1], (char *[]){argv[1], 0});
}
END
gcc -g -O1 -fno-omit-frame-pointer calls.c -o calls || exit 1

# ---- a file system that they serve ----
gcc -O1 -o served "$root/tests/programs/served.c" || exit 1
cp "$build/targets/recording" . || exit 1
recording=$(SPOOR_TRACE_DIR=$dir ./recording bench 1000 1 0 4096 </dev/null | head -n 1)
mkdir mounted unread
# One that answers no read, at which spoor looks for half a minute: the end of it is checked last.
./served unread calls read >said.fuse 2>errors &
silent=$!
until_so eval '[ -s said.fuse ] || ! kill -0 $silent 2>/dev/null'
timeout -k 2 60 "$spoor" -l 'uprobe:unread/file:*' >unread.out 2>unread.errors &
reader=$!
serve() { # FILE WHAT [OPTIONS…]
    rm -f said
    ./served "${@:3}" mounted "$1" "$2" >said 2>errors &
    server=$!
    until_so eval '[ -s said ] || ! kill -0 $server 2>/dev/null'
    [ -s said ]
}
# Waits for an answer that does not come, and SIGKILL does not end it.
is_held_up() { # PID
    until_so grep -q asked said && kill -KILL $1 && until_so grep -q '^State:.*D' /proc/$1/status
}
unserve() {
    kill -TERM $server
    wait $server 2>/dev/null
    server=''
}
if serve calls honest; then
    check "a file that a process serves can be probed" eval "'$spoor' -l 'uprobe:mounted/file:serve' >out 2>errors && grep -q serve out"
    unserve
    wrong=0 tried=0
    for file in calls "$recording"; do
        serve "$file" changing
        for ((i = 0; i < 40; i++)); do
            for command in "-l uprobe:mounted/file:*" "-l usdt:mounted/file:*" "list -l mounted/file" "-q --dry-run -e 'uprobe:mounted/file:serve { print(arg0); }'" \
                "report -f mounted/file" "report --stats -f mounted/file" "ctl -f mounted/file show" "ctl -f mounted/file dump dumped"; do
                rm -f dumped
                eval "timeout -k 2 20 '$spoor' $command" >out 2>errors </dev/null
                status=$?
                tried=$((tried + 1))
                [ $status -le 1 ] || { wrong=$((wrong + 1)) && echo "$command: $status" && tail -n 3 errors; }
            done
        done
        unserve
    done
    check "one that is another at each look is an error or a file ($tried times)" [ $wrong = 0 ]
    serve calls honest -p
    timeout -k 2 20 "$spoor" -l 'uprobe:mounted/file:*' >out 2>errors
    check "one that is another user's alone is closed to root" [ $? = 1 ]
    check "which is said" grep -q '^stdin:.*ERROR' errors
    unserve
    serve calls open
    "${mortal[@]}" "$spoor" -l 'uprobe:mounted/file:*' >out 2>errors &
    program=$!
    check "one that does not even answer the opening holds up spoor" is_held_up $program
    unserve
    check "until it goes" timeout 20 tail --pid=$program -f /dev/null
    wait $program 2>/dev/null
    program=''
    echo 'macro imported() { 1 }' >macros.bt
    ln -s mounted/file linked.bt
    serve macros.bt honest -u 0 -o 0
    check "from one of root's is imported" timeout 20 "$spoor" --check -e 'import "./linked.bt"; begin { print(imported()); }' 2>errors
    unserve
    serve macros.bt honest -o 0
    timeout 20 "$spoor" --check -e 'import "./linked.bt"; begin { print(imported()); }' >out 2>errors
    check "from one of others, who say that it is root's, is not" eval "[ $? = 1 ] && grep -q 'is a file system of user $nobody' errors"
    unserve
else
    echo "skip file systems in user space: $(tail -n 1 errors)"
    server=''
fi

# ---- namespaces of their own ----
gone() { ! pgrep -u $nobody -x calls >/dev/null; }
# In a user namespace where they are root, with a root directory that is made for us: links that lead out, and no files.
if "${as_nobody[@]}" unshare -U -r true 2>/dev/null; then
    mkdir jail && chown $nobody jail && gcc -g -O1 -static -fno-omit-frame-pointer calls.c -o jail/calls || exit 1
    mkfifo pipe
    exec 8<>pipe
    "${as_nobody[@]}" unshare -U -r -m -p -f --kill-child sh -c 'cd jail && mkdir -p old proc && mount -t tmpfs none old && cp calls old/ &&
        cd old && mkdir dev etc && ln -s /etc/shadow calls.debug && mkfifo waits && ln -s /../../../etc/shadow etc/passwd &&
        exec unshare -R . ./calls' <&8 >said 2>errors &
    attacker=$!
    until_so eval 'program=$(pgrep -u '$nobody' -x calls)'
    path=/proc/$program/root/calls
    check "a program in a user namespace is traced" eval "timeout 20 '$spoor' -q --max-events 3 -p $program -e 'uprobe:$path:serve { printf(\"%s\\n\", ustack(1)); }' >out 2>errors && grep -q serve out"
    check "and in its own directory" eval "timeout 20 '$spoor' -q --max-events 3 -p $program -e 'uprobe:/calls:serve { printf(\"%s\\n\", ustack(1)); }' >out 2>errors && grep -q serve out"
    for name in calls.debug etc/passwd waits nowhere; do
        timeout -k 2 20 "$spoor" -l -p "$program" "uprobe:/proc/$program/root/$name:*" >out 2>errors
        check "$name in its root leads nowhere" [ $? = 1 ]
    done
    kill -KILL $attacker
    wait $attacker 2>/dev/null
    until_so gone
    attacker='' program=''
    exec 8>&-
else
    echo "skip namespaces: no user namespaces for users here"
fi

# A file system that they serve in there. Root is kept out of it, but not out of an overlay of theirs, which asks it as them.
mkdir lower second merged && chown $nobody lower second merged
mknod -m 666 fuse c 10 229
serve_there() { # WHAT [OPTION]: $program has its files
    rm -f said
    "${as_nobody[@]}" unshare -U -r -m -p -f --kill-child ./served -d ./fuse -u 0 ${2:+"$2"} lower calls "$1" \
        sh -c 'mount -t overlay -o lowerdir=lower:second,userxattr overlay merged && exec ./calls none' >said 2>errors &
    attacker=$!
    until_so eval 'program=$(pgrep -u '$nobody' -x calls) || ! kill -0 $attacker 2>/dev/null || [ -s errors ]'
    [ -n "$program" ]
}
unserve_there() {
    kill -KILL $attacker
    wait $attacker 2>/dev/null
    until_so gone
    attacker='' program=''
}
if serve_there honest -p; then
    path=/proc/$program/root$dir
    timeout -k 2 20 "$spoor" -l "uprobe:$path/lower/file:*" >out 2>errors
    check "a file system served in a user namespace is closed to root" [ $? = 1 -a ! -s out ]
    check "but not below an overlay" eval "timeout 20 '$spoor' -l 'uprobe:$path/merged/file:serve' 2>errors | grep -q serve"
    unserve_there
    serve_there honest
    timeout -k 2 20 "$spoor" -l "uprobe:/proc/$program/root$dir/lower/file:*" >out 2>errors
    check "so is one for everybody" [ $? = 1 -a ! -s out ]
    unserve_there
    serve_there open
    "${mortal[@]}" "$spoor" -l "uprobe:/proc/$program/root$dir/merged/file:*" >out 2>errors &
    tracer=$!
    check "one that does not answer holds up spoor below an overlay" is_held_up $tracer
    unserve_there
    check "until its namespace goes" timeout 20 tail --pid=$tracer -f /dev/null
    wait $tracer 2>/dev/null
else
    echo "skip file systems in user namespaces: $(tail -n 1 errors)"
    unserve_there
fi

# ---- a program that becomes root ----
cp calls becomes && chmod 4755 becomes
"${as_nobody[@]}" ./calls ./becomes once >out 2>&1 &
program=$!
"${mortal[@]}" "$spoor" -q -p $program -e 'uprobe:./calls:serve { @[uid] = count(); } uprobe:./becomes:serve { @[uid] = count(); printf("%s\n", ustack(1)); }
    interval:s:2 { exit(); }' >out 2>errors &
tracer=$!
timeout 20 tail --pid=$tracer -f /dev/null
wait $tracer
check "a process that executes a set-user-ID program is traced on" [ $? = 0 ]
check "and named" grep -q 'serve' out
kill -KILL $program
wait $program 2>/dev/null
program=''

# ---- a program that becomes root, and records ----
cp recording raised && chmod 4755 raised
mkdir wanted && chmod 777 wanted
record_as_nobody() { # PROGRAM: its recording is what it says
    "${as_nobody[@]}" env SPOOR_TRACE_DIR="$dir/wanted" SPOOR_TRACE="$2" "$1" becomes 3 1 0 </dev/null 2>errors | head -n 1
}
theirs=$(record_as_nobody ./recording tcp)
ours=$(record_as_nobody ./raised tcp)
check "a program records where and what the environment says" [ "${theirs%/*}" = "$dir/wanted" -a -z "$("$spoor" report -f "$theirs" | grep BDEV)" ]
check "but not a set-user-ID program of its caller's environment" [ "${ours%/*}" = /dev/shm -a -z "$("$spoor" report -f "$ours" 2>errors | grep TCP)" ]
check "what that one records is root's alone" [ "$(stat -c '%u %a' "$ours")" = "0 600" ]
"${as_nobody[@]}" "$spoor" report -f "$ours" >out 2>&1
check "and not for its caller to read" grep -q 'Permission denied' out
"${as_nobody[@]}" "$spoor" ctl -f "$ours" enable tcp >out 2>&1
check "or to change" grep -q 'Permission denied' out
rm -f "$ours"

# ---- a program that forks without end ----
# Each of its processes makes two and ends; a user of its own may have 60 of them, and the clock ends all.
cat >forks.c <<'END'
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline, noclone)) int forked(int number) { __asm__ volatile("" ::: "memory"); return number; }
int main(void)
{
    const time_t end = time(NULL) + 3;
    const struct rlimit limit = {60, 60};
    if (setrlimit(RLIMIT_NPROC, &limit) || setgid(64999) || setuid(64999))
        return 1;
    usleep(500000);
    while (time(NULL) < end) {
        pid_t first = fork(), second = first > 0 ? fork() : 0;
        forked(1);
        if (first > 0 && second > 0)
            _exit(0);
        usleep(1000);
    }
    return 0;
}
END
gcc -g -O1 forks.c -o forks || exit 1
timeout -k 2 30 "$spoor" -q --follow -c ./forks -e 'config = { max_map_keys = 16 } uprobe:./forks:forked { @n++; }' >out 2>errors
check "a program that forks without end is followed to its end" [ $? = 0 ]
check "which is told where it has more processes than there is room for" grep -q 'there are more than max_map_keys' errors
check "and counted" grep -qE '^@n: [0-9]{2,}$' out

# ---- links in the way of files that follow each other ----
mkdir theirs && echo precious >victim && chown $nobody theirs
"${as_nobody[@]}" /usr/bin/python3 -c '
import os
while True:
    for number in range(2, 400):
        path = "theirs/out.%d" % number
        try:
            os.symlink("../victim", path + "new")
            os.rename(path + "new", path)
            open(path + "own", "w").close()
            os.rename(path + "own", path)
            os.link(path, path + "two")
            os.unlink(path + "two")
        except OSError:
            pass
' &
attacker=$!
many='interval:us:100 { printf("%d a line that is long enough to fill a file before very long\n", ++@n); }'
for ((i = 0; i < 30; i++)); do
    rm -f theirs/out.1
    timeout -k 2 20 "$spoor" -q -o theirs/out --rotate-size 1K --keep 2 --max-events 500 -e "$many" >out 2>errors
    [ $? -le 1 ] || break
done
check "files that follow each other go through no link" [ $i = 30 -a "$(cat victim)" = precious ]
check "which keeps its owner" [ "$(stat -c %u victim)" = 0 ]
kill -KILL $attacker
wait $attacker 2>/dev/null
attacker=''

# ---- files that change places ----
# The same place has another name in each; whoever believes the path alone names the wrong one.
for name in right wrong; do
    echo "int $name(int n, int (*f)(int)) { return f(n) + 1; }" >$name.c
    gcc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -shared -fPIC $name.c -o $name.so || exit 1
done
cat >loads.c <<'END'
#include <dlfcn.h>
#include <unistd.h>
__attribute__((noinline, noclone)) int leaf(int number) { __asm__ volatile("" ::: "memory"); return number; }
int main(void)
{
    int (*right)(int, int (*)(int)) = (int (*)(int, int (*)(int)))dlsym(dlopen("./right.so", RTLD_NOW), "right");
    for (int i = 0;; i++, usleep(500))
        right(i, leaf);
}
END
gcc -O1 -fno-omit-frame-pointer loads.c -ldl -o loads || exit 1
"${mortal[@]}" ./loads &
program=$!
until_so grep -q right.so /proc/$program/maps
"${mortal[@]}" python3 -c '
import ctypes
libc = ctypes.CDLL(None)
while True: libc.renameat2(-100, b"right.so", -100, b"wrong.so", 2)
' &
attacker=$!
for ((i = 0; i < 5; i++)); do
    timeout 20 "$spoor" -q --max-events 200 -p $program -e 'uprobe:./loads:leaf { printf("%s\n", ustack(2)); }' >>stacks 2>errors
done
check "files that change places while they are looked at: stacks" [ "$(grep -c leaf stacks)" = 1000 ]
check "with no name of the other file" [ "$(grep -c wrong+ stacks)" = 0 ]
kill -KILL $attacker $program
wait $attacker $program 2>/dev/null
attacker='' program=''

# ---- names without an end ----
# names OUT COUNT NAME EACH: a file of COUNT functions, whose names are all NAME, or begin one byte later each.
names() {
    python3 - "$@" <<'END'
import struct, sys
out, count, name, step = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode(), int(sys.argv[4])
text, strings, sections = b"\xc3" * (count + 4095 & ~4095), b"\0" + name + b"\0", b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
symbols = b"".join([bytes(24)] + [struct.pack("<IBBHQQ", 1 + i * step % len(name), 0x12, 0, 1, 0x1000 + i, 1) for i in range(count)])
places, at = [], 0x1000
for part in text, symbols, strings, sections:
    places.append((at, len(part)))
    at += len(part)
header = lambda name, kind, flags, address, place, link=0, entry=0: struct.pack("<IIQQQQIIQQ", name, kind, flags, address, *place, link, 1 if link else 0, 8, entry)
with open(out, "wb") as file:
    file.write(b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0x1000, 64, at, 0, 64, 56, 1, 64, 5, 4))
    file.write(struct.pack("<IIQQQQQQ", 1, 5, 0x1000, 0x1000, 0x1000, len(text), len(text), 4096))
    file.write(bytes(0x1000 - file.tell()) + text + symbols + strings + sections)
    file.write(bytes(64) + header(1, 1, 6, 0x1000, places[0]) + header(7, 2, 0, 0, places[1], 3, 24) + header(15, 3, 0, 0, places[2]) + header(23, 3, 0, 0, places[3]))
END
}
bounded() { # NAME STATUS MEGABYTES ARGUMENTS…: ends within 40 s, and no process of it has more memory
    local name=$1 wanted=$2 most=$3 status
    shift 3
    (ulimit -v 8000000 && exec /usr/bin/python3 - "$most" "$spoor" "$@" >out 2>errors <<'END'
import resource, subprocess, sys
try:
    status = subprocess.run(sys.argv[2:], timeout=40, stdout=subprocess.DEVNULL).returncode
except subprocess.TimeoutExpired:
    status = 99
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
print(status, most, "MB")
sys.exit(98 if most > int(sys.argv[1]) else status)
END
    )
    status=$?
    check "$name ($(cat out))" [ $status = "$wanted" ]
}
names many.elf 300000 "$(printf 'A%.0s' $(seq 4000))" 1
bounded "300,000 names of 4,000 bytes" 1 300 --check -e 'uprobe:./many.elf:nosuch { }'
bounded "a list of them" 0 300 -l 'uprobe:./many.elf:*'
names same.elf 200000 "$(python3 -c 'print("_Z1fI1AIiiE" + "".join("S0_IS%s_S%s_E" % (c, c) for c in "12345678") + "Evv")')" 0
bounded "200,000 names that stand for 9,000 bytes each" 1 600 -l 'uprobe:./same.elf:cpp:*'
check "which are an error" grep -q "^ERROR: cannot list 'uprobe:./same.elf:cpp:\*': File too large" errors
bounded "and one of them" 1 600 --check -e 'uprobe:./same.elf:cpp:nosuch { }'

# ---- the file that answers no read ----
wait $reader
status=$?
[ ! -s said.fuse ] || check "who reads one that answers no read is left behind" [ $status = 1 ]
exit 0
