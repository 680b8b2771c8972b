#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# --html in a browser: the page has what -f json prints of the same run, now and at earlier times; search, sorting, the cursor and
# the address do what they promise; nothing leaves the page, and what was printed commands nothing. Pictures of it are left
# in BUILD/live.
#   tests/programs/live_html.sh BUILD
set -u
build=$(cd "${1:?usage: live_html.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor
. "$root/tests/programs/recording.bash"
. "$root/tests/lib/browsers.bash"
mapfile -t browsers < <(browsers)
if [ ${#browsers[@]} = 0 ]; then
    echo "skip everything: there is no browser"
    exit 0
fi
begin_test live
export SPOOR_TRACE_DIR=$dir LC_ALL=C.UTF-8
if [ -e "$build/libspoor.a" ]; then
    cp "$build/targets/queue" . || exit 1
    ./queue 1500 10 >out || exit 1
    mv "$(head -1 out)" queue.spoor
fi
# What is wrong is told before the trace.
refused() { # NAME TEXT FILE
    rm -f out
    check "$1" sh -c '! "$0" --host vm -q --html "$2" -e "begin { printf(\"ran\"); }" >out 2>errors && [ ! -s out ] && grep -qF "$1" errors && grep -qF "$2" errors' "$spoor" "$2" "$3"
}
echo kept >old.html
refused "a file that exists is refused" "File exists" old.html
check "and kept" grep -qx kept old.html
refused "a directory that does not exist is told" "No such file or directory" no/page.html
check "without a trace there is no page" sh -c '! "$0" --host vm -q --html broken.html -e "begin { nonsense }" >/dev/null 2>&1 && [ ! -e broken.html ]' "$spoor"
if [ -w /dev/full ]; then
    check "a full disk is told, and the output is whole" sh -c '"$0" --host vm -q --html - -e "begin { printf(\"line\\n\"); @ = 1; }" >/dev/full 2>errors; [ $? = 1 ] && grep -qi "no space" errors' "$spoor"
fi
rm -rf "$build/live"
for browser in "${browsers[@]}"; do
    pictures=$build/live/${browser##*/}
    mkdir -p "$pictures"
    python3 "$root/tests/programs/live_html.py" "$root" "$spoor" "$browser" "$dir" "$pictures"
done
