#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# bench/scale knows curves that grow too fast, and those that do not: on made-up costs, with noise and constants.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "python3 is not installed" && exit 77; }
bad=0
"$root/bench/scale" --self-test >"${TMPDIR:-/tmp}/scale.$$" 2>&1 || { cat "${TMPDIR:-/tmp}/scale.$$" && bad=1; }
grep -q '^the fit knows all of them$' "${TMPDIR:-/tmp}/scale.$$" || { echo "nothing is said of the fit" && bad=1; }
rm "${TMPDIR:-/tmp}/scale.$$"
"$root/bench/scale" --list | grep -q '^uprobes  *function$' || { echo "curves are not listed" && bad=1; }
"$root/bench/scale" build none-such >/dev/null 2>&1 && { echo "a curve that is not there is measured" && bad=1; }
exit $bad
