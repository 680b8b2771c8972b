# SPDX-License-Identifier: BSD-3-Clause
# Words that were given up for those of docs/GLOSSARY.md do not come back: as names, in comments, in documents.
cd "$1" || exit 1
bad=0
# Given up everywhere; what to write instead.
while read -r word instead; do
    grep -rnE "$word" src include docs man tests/unit --include='*.[ch]' --include='*.md' --include='*.[0-9]' |
        sed "s/\$/  <- write $instead/" | grep . && bad=1
done <<'LIST'
\b[Mm]ishaps?\b|_mishap|mishap_|MISHAP_ runtime error
\bactors?\b|actor_ event handler
\bsite_ladder\b|\bladders?\b|\brungs?\b attach_strategy
\bwitness\b eof_fd
_turns?\b|\bturns?_|_turns?_ iteration
\bunwind_wish|\bwish(es)?\b unwind_request
\bheld_key\b cached_key
\blower_knowne?\b value_cache
\bown_code\b tracing_glue
[Cc]ramped|CRAMPED avoid_stack
\bsession_miss\b session_demote_missing_probe
\bPROBE_ONCE\b PROBE_ITERATE
\bDWARF_QUESTION\b DWARF_QUERY_SCOPE
\b[A-Z]+_MOST\b|\bMOST_[A-Z]+\b|\bLONGEST a name that ends with _MAX
\b[A-Z]+_LEAST\b|\bLEAST_[A-Z]+\b a name that ends with _MIN
LIST
# A source position is a span; places are where something lies in memory or in a file.
grep -rnE "\bstruct place\b" src/base src/lang src/bpf src/builtin src/probe src/session src/kernel src/tracer src/cmd &&
    echo "a source position is a struct span" && bad=1
grep -q "struct span" src/base/diagnostic.h || { echo "no span was found: this check must follow the source" && bad=1; }
exit $bad
