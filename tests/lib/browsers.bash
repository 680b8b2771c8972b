# SPDX-License-Identifier: BSD-3-Clause
# For the tests that look at pages, which source it.

# The programs of the browsers that there are, one in each line: Chromium's, and Firefox's.
browsers() {
    command -v chromium || command -v chromium-browser || command -v google-chrome
    local program
    for program in firefox-esr firefox; do # that of Ubuntu only says where there is one
        "$program" --version >/dev/null 2>&1 && command -v "$program" && return
    done
}
