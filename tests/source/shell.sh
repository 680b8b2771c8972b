# SPDX-License-Identifier: BSD-3-Clause
# In scripts nothing is found by shellcheck but what .shellcheckrc names.
cd "$1" || exit 1
. tests/lib/changed.sh
set -o pipefail
{
    grep -rlIE --exclude-dir=build* '^#!/bin/(ba)?sh' .ci bench examples packaging tests tools
    ls tests/source/*.sh tests/tools/*.sh
} | sort -u | changed_files shell .shellcheckrc tests/lib/*.sh tests/*/*.bash |
    xargs -r shellcheck --shell=bash --severity=warning --source-path=SCRIPTDIR --source-path=. && changed_settled shell
