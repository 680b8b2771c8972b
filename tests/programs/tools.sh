#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The ready-made tools: each compiles, and each that can run here sees what is done for it to see.
# tests/programs/tools.sh BUILD
set -u
build=$(cd "${1:?usage: tools.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor
tools=$root/tools

not_ok() {
    echo "not ok $1"
    shift
    printf '  %s\n' "$@"
}

for tool in "$tools"/*.bt; do
    name=$(basename "$tool" .bt)
    if ! grep -q "^// $name: " "$tool" || ! grep -q '^// Run:' "$tool" || ! grep -qE '^// (Columns|Output):' "$tool"; then
        not_ok "tools: $name says what it shows, how to run it, and what comes out"
    fi
    "$spoor" | grep -qw "$name" || not_ok "tools: the menu of spoor names $name"
    "$spoor" help "$name" | head -n 1 | grep -q "^$name: " || not_ok "tools: spoor help $name says what it shows"
    grep -q "^## $name\$" "$root/docs/tools.md" || not_ok "tools: docs/tools.md has an example of $name"
done

[ "$(id -u)" = 0 ] || {
    echo "skip all: needs root"
    exit 0
}
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/spoor-tools.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
gcc -std=gnu11 -D_GNU_SOURCE -O1 -g -I"$root/include" -o actions "$root/bench/actions.c" || exit 1
cat >worker.c <<'EOF'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static volatile long sum;
__attribute__((noinline)) static void crunch(void)
{
    for (time_t end = time(NULL) + 2; time(NULL) < end;)
        for (long i = 0; i < 1000000; i++)
            sum += i;
}
__attribute__((noinline)) static void *worker(void *unused)
{
    return unused;
}
__attribute__((noinline)) static void forget(void)
{
    for (int i = 0; i < 7; i++)
        *(volatile char *)malloc(1000) = 1;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    forget();
    free(malloc(50));
    if (argc > 1 && argv[1][0] == 't' && !pthread_create(&thread, NULL, worker, NULL))
        pthread_join(thread, NULL);
    if (argc > 1 && argv[1][0] == 'c')
        crunch();
    if (argc > 2) { /* a name is looked up while its process is there */
        puts("ready");
        fflush(stdout);
        pause();
    }
    return 0;
}
EOF
gcc -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -rdynamic -o worker worker.c -lpthread || exit 1

cat >socketpair.c <<'EOF'
#include <sys/socket.h>
int main(void)
{
    char bytes[32];
    int ends[2];
    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || send(ends[0], "hello sockets", 13, 0) != 13 ||
           recv(ends[1], bytes, sizeof bytes, 0) != 13;
}
EOF
gcc -O1 -o socketpair socketpair.c || exit 1

# Which system calls and tracepoints there are depends on the machine: a tool without its own is left out.
lacks() { # TOOL PARAMETER
    "$spoor" --check "$tools/$1.bt" ${2:+"$2"} >checked 2>&1 && return 1
    grep -qE "tracepoint|kprobe|binary|does not exist|No matches" checked
}

# stays ARGUMENT: a worker that has done what it does, and is there until the tool has ended.
stays() {
    rm -f ready
    ./worker "$1" stays >ready &
    echo $! >staying
    until [ -s ready ]; do sleep 0.02; done
}

# see TOOL EXPRESSION PARAMETER COMMAND: a line of the tool's output matches while the command runs (ERE). With a duration the
# tool ends by itself, and has all the time that names need.
see() {
    local tool=$1 expression=$2 parameter=$3 command=$4 pid
    if lacks "$tool" "$parameter"; then
        echo "skip $tool: $(grep -m1 ERROR checked)"
        return
    fi
    if ! "$spoor" --check "$tools/$tool.bt" ${parameter:+"$parameter"} >checked 2>&1; then
        not_ok "tools: $tool compiles" "$(cat checked)"
        return
    fi
    : >errors # of the tool before it
    "$spoor" ${duration:+--duration "$duration"} "$tools/$tool.bt" ${parameter:+"$parameter"} ${options:+-- "$options"} >out 2>errors &
    pid=$!
    while :; do
        grep -q '^Attached' errors && break
        kill -0 $pid 2>/dev/null || break
        sleep 0.05
    done
    (eval "$command") >said 2>&1
    [ -n "${duration:-}" ] || kill -INT $pid 2>/dev/null
    wait $pid
    [ ! -e staying ] || kill "$(cat staying)"
    rm -f staying
    # Names are not looked up for want of a CPU. Tools look at everybody: a text of somebody's may lie in a page that is not in memory.
    if grep WARNING errors | grep -qvE 'names were not looked up: that takes long|: WARNING: Memory could not be read$'; then
        not_ok "tools: $tool warns of nothing" "$(head -n 20 errors)"
    elif grep -qE -- "$expression" out; then
        echo "ok tools: $tool"
    elif grep -q 'this kernel has no kprobes' errors; then
        echo "skip $tool: this kernel has no kprobes"
    else
        not_ok "tools: $tool" "no line matches $expression" "$(tail -n 20 errors)" "$(tail -n 40 out)" "the command: $(tail -n 20 said)"
    fi
}

me=spoor-tools-$$
see execsnoop "/bin/true $me\$" "" "/bin/true $me"
see opensnoop " -1 +2 /nowhere/$me\$" "" "cat /nowhere/$me"
see statsnoop " 2 /nowhere/$me\$" "" "stat /nowhere/$me"
see syscount 'sys_enter_read]: ([2-9][0-9]{4}|[0-9]{6,})$' "" "dd if=/dev/zero of=/dev/null bs=1 count=20000"
see runqlat '^\[.*\|@+' "" "./actions switch 1000"
see runqlen '^\[[0-9]+\] .*@' "" "sleep 0.5"
see cpuwalk '^\[[0-9]+\] .*@' "" "./worker c"
duration=4s see offcpu ', sleep]: [2-9][0-9]{5}$' "" "sleep 0.25"
"$tools/fold" <out >folded
grep -qE '^sleep;.*(nanosleep|schedule);__schedule [0-9]+$' folded && echo "ok tools: fold" || not_ok "tools: fold" "$(cat folded)"
see mallocleaks '^]: 7$' "" "stays forget"
see threadsnoop 'worker +worker$' "" "stays threads"
see killsnoop " 0 - +$$ +ok\$" "" "kill -0 $$"
see naptime 'sleep +0\.123$' "" "sleep 0.123"
see setuids 'setpriv +0 +setresuid +12345 +12345 +12345 +0$' "" "setpriv --reuid 12345 --clear-groups true"
see syncsnoop 'actions .*sys_exit_fsync$' "" "./actions sync 3 0 $dir/file"
see gethostlatency 'actions +[0-9]+\.[0-9]{3} 127.0.0.1$' "" "./actions resolve 3"
see pgquery '[0-9]+ SELECT abalance FROM' "$dir/actions" "./actions query 3"
see tcpconnect 'actions +127.0.0.1 +127.0.0.1 +[0-9]+$' "" "./actions tcp 3"
see tcpaccept 'actions +127.0.0.1 +[0-9]+ +127.0.0.1 +[0-9]+$' "" "./actions tcp 3"
see tcplife 'actions +127.0.0.1 +[0-9]+ +127.0.0.1 +[0-9]+ +0 +0 +[0-9]+$' "" "./actions tcp 3"
see tcpdrop ' 127.0.0.1 +1 ' "" "echo >/dev/tcp/127.0.0.1/1"
see tcpretrans '^TIME +LOCAL' "" true
see pidpersec '@made: [1-9]' "" "for i in 1 2 3 4 5 6; do /bin/true; sleep 0.2; done"
see loads '^[0-9:]{8} [0-9.]+ [0-9.]+ [0-9.]+ [0-9]+/[0-9]+ [0-9]+$' "" "sleep 1.2"
see oomkill '^TIME +PID' "" true
see capable 'setpriv +[0-9]+ +yes$' "" "setpriv --reuid 12345 --clear-groups true"
see ssllatency '^$' "" true
see writeback '^TIME +DEVICE' "" true
see undump 'socketpair +13 hello sockets$' "" "./socketpair"
see dcsnoop ' [RM] hostname$' "" "cat /etc/hostname"
see tcpsynbl '^@queue.[0-9]+]' "" "./actions tcp 3"
see swapin '^[0-9]{2}:[0-9]{2}:[0-9]{2}$' "" "sleep 1.2"
options="--magic=0x$(stat -f -c %t .)" see xfsdist '^@us.open]:' "" "cat $dir/actions; dd if=/dev/zero of=$dir/file bs=4k count=4"
see vfscount '^@\[vfs_read\]: [0-9]+$' "" "cat /proc/version"
see vfsstat '^@\[vfs_read\]: [0-9]+$' "" "cat /proc/version; sleep 1"
if command -v script >/dev/null; then
    see bashreadline " echo $me\$" "" "printf 'echo $me\\nexit\\n' | script -qc 'bash --norc -i' /dev/null"
else
    echo "skip bashreadline: there is no script(1)"
fi

# A file system on a block device?
if dd if=/dev/zero of=blocks bs=64k count=4 oflag=direct >/dev/null 2>&1 && [ -b "$(df --output=source . | tail -n 1)" ]; then
    options=--major=$((0x$(stat -c %D .) >> 8)) see mdflush ' dd +[0-9]+,[0-9]+ +F[A-Z]*$' "" "dd if=/dev/zero of=blocks bs=64k count=4 oflag=sync"
    see biosnoop ' dd +[0-9]+ +[0-9]+,[0-9]+ +W.* 65536 +[0-9]+$' "" "dd if=/dev/zero of=blocks bs=64k count=4 oflag=direct"
    # A device that is kept busy takes most requests later, from threads of the kernel's, and some of them again. Where requests
    # lie beside each other on the disk the kernel may make one of two, so that not every byte is told to be the asker's.
    cp "$(command -v dd)" flood && cp flood asker
    for number in 1 2 3 4; do
        (while [ ! -e flooded ]; do ./flood if=/dev/zero of=flood.$number bs=4M count=16 oflag=direct 2>/dev/null; done) &
    done
    see biosnoop ' asker +[0-9]+ +[0-9]+,[0-9]+ +W' "" "./asker if=/dev/zero of=blocks bs=64k count=64 oflag=direct"
    asked=$(awk '$5 ~ /^WS?$/ { bytes[$2 ~ /^kworker/ ? "kernel" : $2] += $7 }
        END { print (bytes["asker"] >= 32 * 65536 && bytes["flood"] > 4 * bytes["kernel"] ? "right" : bytes["asker"] " " bytes["flood"] " " bytes["kernel"]) }' out)
    touch flooded
    wait
    if [ "$asked" = right ]; then
        echo "ok tools: biosnoop says who asked a busy device"
    else
        not_ok "tools: biosnoop says who asked a busy device" "bytes of the asker (of $((64 * 65536))), of those beside it, and of the kernel: $asked" \
            "$(tail -n 40 out)"
    fi
    see biolatency '^@usecs\[W' "" "dd if=/dev/zero of=blocks bs=64k count=4 oflag=direct"
    see bitesize '^@bytes\[dd]:' "" "dd if=/dev/zero of=blocks bs=64k count=4 oflag=direct"
    see biostacks '^ +submit_bio' "" "dd if=/dev/zero of=blocks bs=64k count=4 oflag=direct"
else
    echo "skip biosnoop, biolatency, bitesize, biostacks: there is no block device under $dir"
fi
