#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks that the OPTIONS of each manual page, and what documents write behind `spoor`, are what the commands' tables have:
# man_options.sh BUILD. Prints what differs; status 0 or 1.
set -u
build=$(cd "${1:?usage: man_options.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "python3 is not installed" && exit 77; }
exec python3 "$root/tests/tools/man_options.py" "$root" "$build/spoor"
