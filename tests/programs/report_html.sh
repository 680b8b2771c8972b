#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# report --html in a browser: the page has what report says, its keys, wheel, selections, search and address do what they
# promise, nothing leaves it, and what was recorded commands nothing. Pictures of it are left in BUILD/html.
#   tests/programs/report_html.sh BUILD
set -u
build=$(cd "${1:?usage: report_html.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor
. "$root/tests/programs/recording.bash"
. "$root/tests/lib/browsers.bash"
mapfile -t browsers < <(browsers)
if [ ${#browsers[@]} = 0 ]; then
    echo "skip everything: there is no browser"
    exit 0
fi
if [ ! -e "$build/libspoor.a" ]; then
    echo "skip everything: $build/libspoor.a is not built"
    exit 0
fi
begin_test html
export SPOOR_TRACE_DIR=$dir LC_ALL=C.UTF-8
cp "$build"/targets/{recording,hostile_names,queue} . || exit 1

./recording small 300 3 20 </dev/null >out || exit 1
mv "$(head -1 out)" small
./recording many 20000 2 0 16384 </dev/null >out || exit 1
mv "$(head -1 out)" many
./recording overwritten 8000 2 0 64 </dev/null >out || exit 1
mv "$(head -1 out)" overwritten
./queue 1500 10 >out || exit 1
mv "$(head -1 out)" queue.spoor
./recording empty 0 0 0 </dev/null >out || exit 1
mv "$(head -1 out)" empty
cp small damaged
# blocks in the middle of the file, of events that are there
python3 - damaged <<'END' || exit 1
import sys
with open(sys.argv[1], "r+b") as file:
    data = file.read()
    places = [at for at in range(0, len(data), 4096) if data[at:at + 4096].strip(b"\0")]
    for at in places[len(places) // 2:len(places) // 2 + 3]:
        file.seek(at + 1000)
        file.write(b"\xff" * 64)
END
# 21 bytes in place of the x of each name
hostile=0
for what in '<svg/onload=alert(1)>' '</script><svg><!-- x>'; do
    python3 - "$what" <<'END' || exit 1
import re, sys
data = open("hostile_names", "rb").read()
open("renamed", "wb").write(re.sub(rb"(Z[a-z]+_)x{21}", lambda found: found[1] + sys.argv[1].encode(), data))
END
    chmod +x renamed
    ./renamed '</script><svg onload=a()>' </dev/null >out || exit 1
    mv "$(head -1 out)" "hostile.$((++hostile))"
done
spdk=
if [ -w /dev/shm ]; then
    compile_spdk spdk_writer
    (unset SPOOR_TRACE_DIR && ./spdk_writer "spoor_html_$$" 200 0 </dev/null >out) || exit 1
    mv "$(head -1 out)" spdk && spdk=spdk
else
    echo "skip SPDK: no /dev/shm that can be written"
fi
rm -rf "$build/html"
for browser in "${browsers[@]}"; do
    pictures=$build/html/${browser##*/}
    mkdir -p "$pictures"
    python3 "$root/tests/programs/report_html.py" "$root" "$spoor" "$browser" "$dir" "$pictures" $spdk
done
