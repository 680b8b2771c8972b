#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Where output goes: readers that leave, that pause, that never come; full disks; files of limited size; files that somebody
# laid in wait; terminals. Nothing hangs, nothing is lost without a word. And how a trace ends by itself.
#   tests/programs/outputs.sh BUILD
set -u
build=$(cd "${1:?usage: outputs.sh BUILD}" && pwd) || exit 1
spoor=$build/spoor
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-outputs.XXXXXX") || exit 1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
chmod 755 .
unset SUDO_UID SUDO_GID BPF_OUTFILE
unset SPOOR_HOST
if [ "$(id -u)" != 0 ]; then
    echo "skip everything: needs root"
    exit 0
fi

check() { # NAME COMMAND…
    local name=$1
    shift
    if "$@"; then echo "ok $name"; else echo "not ok $name" && tail -n 5 err; fi
}
many='interval:us:100 { printf("%d a line that is long enough to fill what a pipe holds before very long\n", ++@n); }'

# ---- readers ----
timeout 20 "$spoor" -q -e "$many" 2>err | head -n 1 >out
check "a reader that leaves ends the trace" [ "${PIPESTATUS[0]}" = 0 -a -s out ]
timeout 20 "$spoor" -q -e "$many" >/dev/full 2>err
check "a full disk is an error" [ $? = 1 ]
check "and is named" grep -q 'cannot write the output: No space left' err
(ulimit -f 64; exec timeout 20 "$spoor" -q -o limited -e "$many end { warnf(\"of %d\", @n); }") 2>err
check "so is a file that may not grow any more" [ $? = 1 ]
check "which is named" grep -q 'cannot write the output: File too large' err
check "with how many events are not in it" [ $(($(grep -c 'a line .* long$' limited) + $(sed -n 's/^Lost \([0-9]*\) events that could not be written$/\1/p' err))) = "$(sed -n 's/.*WARNING: of //p' err)" ]
timeout 20 "$spoor" -q -f json -e 'begin { printf("hello\n"); } interval:ms:10 { exit(); } end { warnf("seven is %d", 7); }' >/dev/full 2>err
check "what JSON would have told then is among the messages" grep -q 'WARNING: seven is 7$' err
timeout 20 "$spoor" -q -e "$many" >&- 2>err
check "a closed output is an error" [ $? = 1 ]
check "and is named, too" grep -q 'cannot write the output' err

mkfifo pipe
# shellcheck disable=SC2217 # it only holds the pipe open
sleep 1000 <pipe &
sleeper=$!
"$spoor" -q -e "$many" >pipe 2>err &
tracer=$!
sleep 2 # until the pipe is full; if it is not, the test proves less, and does not fail
kill -INT $tracer
wait $tracer
check "Ctrl-C ends a trace that nobody reads" [ $? = 1 ]
check "and it says what is lost" grep -q 'nobody reads the output' err
kill $sleeper
wait $sleeper 2>/dev/null # or its pipe would hand on what it holds

(sleep 1; cat) <pipe >out &
reader=$!
timeout 30 "$spoor" -q --max-events 20000 -e "$many" >pipe 2>err
check "a reader that pauses gets everything" [ $? = 0 ]
wait $reader
check "in order, and to the last line" [ "$(grep -c 'a line' out)" = "$(grep 'a line' out | tail -n 1 | cut -d' ' -f1)" ]
check "which the map agrees with" [ "$(grep -c 'a line' out)" -le "$(sed -n 's/^@n: //p' out)" ]

# ---- files ----
umask 022
"$spoor" -q -o file -e 'begin { printf("hello\n"); exit(); }'
check "a file of output is its owner's alone" [ "$(stat -c %a file)" = 600 ]
mkdir shared && chmod 1777 shared
echo precious >victim
ln -s ../victim shared/link
"$spoor" -q -o shared/link -e 'begin { printf("hello\n"); exit(); }' 2>err
check "a link in a shared directory is refused" [ $? = 1 -a "$(cat victim)" = precious ]
check "and that is explained" grep -q '^HINT: in a directory that others may write' err
ln victim shared/hard
"$spoor" -q -o shared/hard -e 'begin { exit(); }' 2>err
check "so is a second name of a file" [ $? = 1 -a "$(cat victim)" = precious ]
echo theirs >shared/theirs && chown 65534 shared/theirs
"$spoor" -q -o shared/theirs -e 'begin { exit(); }' 2>err
check "so is somebody else's file" [ $? = 1 -a "$(cat shared/theirs)" = theirs ]
mkdir directory && ln -s ../victim directory/link && chown -h 65534 directory directory/link
"$spoor" -q -o directory/link -e 'begin { exit(); }' 2>err
check "so is a link in a directory of somebody else's" [ $? = 1 -a "$(cat victim)" = precious ]
"$spoor" -q -o directory/new -e 'begin { printf("hello\n"); exit(); }' 2>err
check "where a new file is made" [ $? = 0 -a "$(head -n 1 directory/new)" = hello ]
SUDO_UID=65534 SUDO_GID=65534 "$spoor" -q -o given -e 'begin { exit(); }' 2>err
check "under sudo the file is the caller's" [ "$(stat -c %u.%a given)" = 65534.600 ]
ln -s file own
"$spoor" -q -o own -e 'begin { printf("again\n"); exit(); }' 2>err
check "one's own link in one's own directory is followed" [ -L own -a "$(head -n 1 file)" = again ]

"$spoor" -q -o turn --rotate-size 1K --keep 3 --max-events 200 -e "$many" 2>err
check "files of limited size: the newest are kept" [ "$(ls turn.* | wc -l)" = 3 ]
check "none is larger" [ -z "$(find . -name 'turn.*' -size +1024c)" ]
check "lines are whole, none is missing" [ "$(ls turn.* | sort -t. -k2n | xargs cat | grep 'a line' | awk 'NR > 1 && $1 != last + 1 { print } { last = $1 }' | wc -l)" = 0 ]
check "the last one is there" [ "$(ls turn.* | sort -t. -k2n | xargs cat | grep 'a line' | tail -n 1 | cut -d' ' -f1)" = 200 ]

# ---- terminals ----
foreign='begin { printf("%s|%c|\033[1mbold\033[0m\n", "a\033]0;title\007", 27); exit(); }'
if command -v script >/dev/null; then
    script -qec "'$spoor' -q -e '$foreign'" /dev/null </dev/null >out 2>err
    check "on a terminal strings cannot command it" grep -qF 'a\x1b]0;title\x07' out
    check "but the script's own formats can" grep -q $'\033\\[1mbold' out
fi
"$spoor" -q -e "$foreign" >out 2>err
check "elsewhere bytes are as they are" grep -q $'a\033]0;title\007' out

# ---- ends ----
timeout 30 "$spoor" -q --duration 300ms -e 'interval:ms:10 { @++; }' >out 2>err
check "--duration ends the trace" [ $? = 0 -a "$(sed -n 's/^@: //p' out)" -gt 0 ]
check "--max-events ends it at the event" [ "$("$spoor" -q --max-events 3 -e 'interval:ms:50 { printf("%d\n", ++@n); } end { printf("end\n"); }' 2>err | grep -v '^@\|^$' | tr '\n' ' ')" = "1 2 3 end " ]
for wrong in "--duration x" "--max-events 0" "--max-memory -1" "--keep 3" "--rotate-size 1K"; do
    # shellcheck disable=SC2086
    "$spoor" $wrong -e 'begin { exit(); }' >out 2>err
    check "'$wrong' is refused" [ $? = 1 -a -s err ]
done
