#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A sample of tests/hostile/run, which `make check HOSTILE=1` does in full and with sanitizers: allocations and system calls
# fail one at a time, and spoor says so and ends.
#   tests/programs/hostile.sh BUILD
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(id -u)" != 0 ]; then
    echo "skip everything: needs root"
    exit 0
fi
"$root/tests/hostile/run" "${1:?usage: hostile.sh BUILD}" 97 >/tmp/spoor-hostile.$$ 2>&1
status=$?
while read -r name rest; do
    case $rest in *tried*) [ $status = 0 ] && echo "ok hostile ${name%:}: $rest" ;; esac
done </tmp/spoor-hostile.$$
[ $status = 0 ] || { echo "not ok hostile"; cat /tmp/spoor-hostile.$$; }
rm -f /tmp/spoor-hostile.$$
