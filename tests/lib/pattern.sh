# SPDX-License-Identifier: BSD-3-Clause
# The expected lines of cases, for awk: pattern(line) is the regular expression (ERE) of a line with {{…}} in it.
# shellcheck disable=SC2016 # the $ are awk's
pattern_functions='
function literal(text,    i, c, out) {
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        out = out (index("\\^", c) ? "\\" c : index(".[]|()*+?{}$", c) ? "[" c "]" : c)
    }
    return out
}
function pattern(line,    out, at, end) {
    while ((at = index(line, "{{")) > 0 && (end = index(line, "}}")) > at) {
        out = out literal(substr(line, 1, at - 1)) "(" substr(line, at + 2, end - at - 2) ")"
        line = substr(line, end + 2)
    }
    return "^" out literal(line) "$"
}
'
