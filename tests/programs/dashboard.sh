#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The dashboard for Grafana: it is well formed, and a server of Prometheus that scrapes spoor answers each of its queries.
#   tests/programs/dashboard.sh BUILD
set -u
build=$(cd "${1:?usage: dashboard.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "skip everything: there is no python3" && exit 0; }
. "$root/tests/programs/recording.bash"
begin_test dashboard
python3 "$root/tests/programs/dashboard.py" "$root" "$build"
