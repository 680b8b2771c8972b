# SPDX-License-Identifier: BSD-3-Clause
# In scripts nothing is found by shellcheck but what .shellcheckrc names.
cd "$1" || exit 1
{
    grep -rlIE --exclude-dir=build* '^#!/bin/(ba)?sh' .ci bench examples packaging tests tools
    ls tests/source/*.sh tests/tools/*.sh
} | sort -u | xargs shellcheck --shell=bash --severity=warning --source-path=SCRIPTDIR --source-path=.
