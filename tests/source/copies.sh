# SPDX-License-Identifier: BSD-3-Clause
# What src/base has is not written again elsewhere: arrays that double (vector_make_room() in base/vector.h, arena_push() in base/arena.h),
# searches that halve (partition_point() in base/sorted.h), names for numbers of the kernel, clocks (base/clock.h). src/recorder is left
# out: it is a library that depends on nothing.
cd "$1/src" || exit 1
bad=0
files=$(find . -name '*.[ch]' -not -path './base/*' -not -path './recorder/*')
doubles='room \? (2 \* [a-z_>.*-]*room|[a-z_>.*-]*room \* 2) :'
for file in $(grep -lE 'realloc(array)?\(' $files); do
    grep -HnE "$doubles" "$file" && echo "use vector_make_room()" && bad=1
done
grep -HnE '(low|first|begin|from|left) \+ \((high|last|end|to|right) - (low|first|begin|from|left)\) / 2' $files &&
    echo "use partition_point()" && bad=1
grep -HnE '\b524\b|feature_helper\([^,]*, [0-9]' $files && echo "errors and helpers have names: base/kernel_error.h, BPF_FUNC_…" && bad=1
grep -HnE 'tv_sec \* 1000000000' $files && echo "use clock_ns() or timespec_ns(): base/clock.h" && bad=1
# A number is read by base/number.h, a pattern by base/glob.h. print/value.c reads floating-point numbers, kallsyms.c the only
# numbers that are so many that a call for each can be felt. sscanf() is for lines of several fields.
grep -HnE "\b(strto(u|i|um)?(l|ll|max)|ato(i|l|ll)|fnmatch)\(|\* (10|16) \+|- '0'|<< 4 \|" $files ./base/*.[ch] |
    grep -vE '^\./(base/number\.[ch]|sym/kernel/kallsyms\.c):' && echo "use base/number.h, base/glob.h" && bad=1
grep -qe "- '0'" sym/kernel/kallsyms.c || { echo "kallsyms.c has changed: this check must follow the source" && bad=1; }
grep -qE 'room > most / 2' base/vector.c || { echo "vector.c has changed: this check must follow the source" && bad=1; }
grep -qE 'low_ \+ \(high_ - low_\) / 2' base/sorted.h || { echo "sorted.h has changed: this check must follow the source" && bad=1; }
exit $bad
