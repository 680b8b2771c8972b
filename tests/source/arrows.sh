# SPDX-License-Identifier: BSD-3-Clause
# A folder of src may include only itself and the folders below it; and of the folders within one, each only itself and those below it.
# What lies beside those folders is their common contract, and what joins them. The recorder is for nobody but itself: what
# it shares with the reader is its format header. The compiler and the session know no builtin and no kind of probe.
cd "$1/src" || exit 1
awk '
    BEGIN {
        count = split("cmd remote serve top otlp metrics history tracer profile session probe builtin kernel vm export chart print bpf lang reader recorder sym type base", order, " ")
        for (i = 1; i <= count; i++)
            rank[order[i]] = i
        count = split("bpf/lower bpf/emit bpf/opt bpf/ir lang/check lang/parse lang/c export/html sym/dwarf sym/process sym/kernel sym/elf sym/machine", order, " ")
        for (i = 1; i <= count; i++)
            within[order[i]] = i
    }
    FNR == 1 && split(FILENAME, from, "/") > 2 && !((from[1] "/" from[2]) in within) {
        printf "%s: which folders may %s include? This check does not know it\n", FILENAME, from[1] "/" from[2]
        bad = 1
    }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
        split(FILENAME, from, "/")
        split($0, quoted, "\"")
        if (split(quoted[2], to, "/") < 2 || !(to[1] in rank))
            next # generated, or a public header
        if (rank[to[1]] < rank[from[1]]) {
            printf "%s:%d: %s may not include %s: the arrows run %s\n", FILENAME, FNR, from[1], quoted[2], "cmd → … → base"
            bad = 1
        }
        inner = from[1] "/" from[2]
        target = to[1] "/" to[2]
        if (from[1] == to[1] && inner in within && target in within && within[target] < within[inner]) {
            printf "%s:%d: %s may not include %s\n", FILENAME, FNR, inner, quoted[2]
            bad = 1
        }
        if (to[1] == "recorder" && from[1] != "recorder" && quoted[2] != "recorder/layout.h") {
            printf "%s:%d: nobody includes the recorder\n", FILENAME, FNR
            bad = 1
        }
        if (from[1] == "session" && to[1] == "builtin" && quoted[2] != "builtin/event_handler.h" ||
            (from[1] == "session" && to[1] == "probe" && quoted[2] !~ /^probe\/(kind|point|expand)\.h$/)) {
            printf "%s:%d: the session is handed its builtins and probe kinds, it names none\n", FILENAME, FNR
            bad = 1
        }
    }
    END { exit bad }
' $(find . -name '*.[ch]' | sed 's#^\./##') || exit 1

# Names of builtins and probe kinds as string literals: the registries of src/builtin and src/probe say which.
names="tracepoint|uprobe|uretprobe|kprobe|kretprobe|usdt|rawtracepoint|profile|interval|software|hardware"
names="$names|printf|strncmp|ustack|kstack|lhist|nsecs|comm|strftime|has_key"
grep -nE "\"($names)\"" $(find lang bpf session -name '*.[ch]') | grep -vE '/\*.*"|^[^:]*:[0-9]*: *\*' && echo "these name a builtin or a probe kind" && exit 1
exit 0
