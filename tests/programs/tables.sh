#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# report --export csv and ndjson: the rows are what the listing has, whatever was recorded; files are whole or not there.
#   tests/programs/tables.sh BUILD
set -u
build=$(cd "${1:?usage: tables.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor
command -v python3 >/dev/null || { echo "skip everything: there is no python3" && exit 0; }
if [ ! -e "$build/libspoor.a" ]; then
    echo "skip everything: $build/libspoor.a is not built"
    exit 0
fi
. "$root/tests/programs/recording.bash"
begin_test tables
shared=
trap '[ -z "$shared" ] || rm -f "$shared"; end_test' EXIT
export SPOOR_TRACE_DIR=$dir LC_ALL=C.UTF-8
compile() { ${CC:-gcc} -std=gnu11 -O2 -g -I"$root/include" -o "$1" "$2" "$build/libspoor.a" -lpthread ${SAN:+-fsanitize=address,undefined} || exit 1; }
cp "$build/targets/recording" . || exit 1
compile_spdk spdk_writer
is_like() { python3 "$root/tests/programs/tables.py" "$@" >seen 2>errors && cat seen; }
record() { # NAME ARGUMENTS…: $file
    ./recording "$@" </dev/null >out || exit 1
    file=$(head -1 out)
}
# tabled WHAT OPTIONS…: each kind of row in each format has what -j has, and what --stats counts.
tabled() {
    local what=$1 rows format
    shift
    rm -f ./*.csv* ./*.ndjson*
    "$spoor" report "$@" -j >json 2>errors
    "$spoor" report "$@" -j --stats >stats 2>errors
    for rows in events objects; do
        for format in csv ndjson; do
            "$spoor" report "$@" --export $format --rows $rows -o $rows.$format 2>errors || echo "not ok $what: $rows as $format: status $?"
            check "$what: $rows as $format" is_like $rows $format $rows.$format json stats
            check "$what: the schema of $rows as $format" is_like schema $rows.$format
        done
        check "$what: $rows are the same in both" is_like same $rows.csv $rows.ndjson
    done
}

# ---- what was recorded is what comes out ----
record small 100 3 0
small=$file
tabled "a recording" -f "$small"
check "the names of values are there" grep -q '"IO_WRITE"' events.csv
check "and in the schema" grep -q '"values": {"1": "IO_READ", "2": "IO_WRITE", "3": "IO_FLUSH"}' events.csv.schema.json
# filtered WHAT OPTIONS…: the rows of events alone.
filtered() {
    local what=$1 format
    shift
    rm -f ./*.csv* ./*.ndjson*
    "$spoor" report "$@" -j >json 2>errors
    for format in csv ndjson; do
        "$spoor" report "$@" --export $format -o events.$format 2>errors || echo "not ok $what: status $?"
        check "$what: events as $format" is_like events $format events.$format json
    done
}
filtered "a group" -f "$small" --group bdev
check "only what can come has columns" sh -c "! grep -q arg_qpair events.csv && grep -q arg_ctx events.csv"
"$spoor" report -f "$small" --group bdev --export csv --rows objects -o objects.csv 2>errors
check "of objects, too" is_like objects csv objects.csv json
filtered "an owner and a window" -f "$small" --owner t02 --from 0 --to 10s
filtered "an object" -f "$small" --object r42
filtered "a thread" -f "$small" --thread reactor_1
"$spoor" report -f "$small" --group bdev -j >json
check "the checker sees a difference" sh -c "! python3 '$root/tests/programs/tables.py' events csv events.csv json 2>errors"
check "a filter that nothing passes gives no rows" sh -c "'$spoor' report -f '$small' --from 100s --export csv -o none.csv 2>errors; [ \$(wc -l <none.csv) = 1 ] && grep -q '\"count\": 0' none.csv.schema.json"
record lossy 4000 2 0 64
tabled "with events overwritten" -f "$file"
check "what is missing stands in the schema" grep -q '"missing": \["[^"]*overwritten' events.csv.schema.json
record empty 0 0 0
tabled "an empty recording" -f "$file"
check "an empty table has its head" sh -c '[ $(wc -l <events.csv) = 1 ] && [ ! -s events.ndjson ]'
if [ -w /dev/shm ]; then
    SPOOR_TRACE_DIR= ./spdk_writer spoor_tables_$$ 200 0 </dev/null >out
    shared=$(head -1 out)
    tabled "SPDK" -f "$shared" --whole
    check "SPDK: lives without an end that is recorded" grep -q '"life_ns"' objects.ndjson
else
    echo "skip SPDK: no /dev/shm that can be written"
fi

# ---- values and names at their ends ----
cat >values.c <<'END'
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <spoor/trace.h>
SPOOR_GROUP(g, "values");
enum e { LEAST = -2147483647 - 1, MOST = 2147483647 };
SPOOR_ENUM(e, SPOOR_VALUE(LEAST), SPOOR_VALUE(MOST));
SPOOR_TRACEPOINT(g, VALUES, none, SPOOR_USES, (enum e, event, e), (int64_t, integer), (uint64_t, string), (double, real),
                 (int8_t, small), (_Bool, yes), (const void *, pointer));
SPOOR_TRACEPOINT(g, OTHERS, none, SPOOR_USES, (const char *, integer), (double, event), (uint64_t, ARG_Yes), (_Bool, STRING));
SPOOR_TRACEPOINT_HERE(VALUES);
SPOOR_TRACEPOINT_HERE(OTHERS);
int main(void)
{
    const struct spoor_trace_options options = {.size = sizeof options, .name = "values", .enable = "all"};
    const double reals[] = {0.1, -0.1, 1.0 / 3, 1e300, 5e-324, -0.0, 0.000001, 123456.789, 999999999.5, 1e9, 4503599627370497.5, 2.5, -1, 0};
    if (spoor_trace_open(&options))
        return 1;
    SPOOR_RECORD(VALUES, SPOOR_NO_OWNER, 0, LEAST, INT64_MIN, UINT64_MAX, 1e300, -128, 1, (void *)-1);
    SPOOR_RECORD(VALUES, SPOOR_NO_OWNER, 0, 5, INT64_MAX, 9007199254740993, NAN, 127, 0, NULL);
    SPOOR_RECORD(VALUES, SPOOR_NO_OWNER, 0, MOST, -1, 1, -INFINITY, 0, 0, &options);
    SPOOR_RECORD(VALUES, SPOOR_NO_OWNER, 0, -7, 99999999, 100000000, INFINITY, 0, 0, &options);
    for (uint64_t i = 1, k = 0; k < 20; i *= 10, k++)
        SPOOR_RECORD(VALUES, SPOOR_NO_OWNER, 0, 1, -(int64_t)(i - 1), i, reals[k % 14], 0, 0, NULL);
    SPOOR_RECORD(OTHERS, SPOOR_NO_OWNER, 0, "text", 0.5, 7, 1);
    puts(spoor_trace_path());
}
END
compile values values.c
./values >out || exit 1
tabled "values at the ends of their types" -f "$(head -1 out)"
check "numbers beyond 2^53 have all their digits" sh -c 'grep -q "[:,]18446744073709551615,.*-9223372036854775808\|-9223372036854775808,.*18446744073709551615" events.ndjson && grep -q 9007199254740993 events.csv'
check "one name of two kinds is two columns" grep -q '"arg_integer","arg_string".*"arg_integer_text"' events.csv

cat >texts.c <<'END'
#include <stdio.h>
#include <spoor/trace.h>
SPOOR_GROUP(Zgroup_xxxxxxxxxxxx, "texts");
SPOOR_OBJECT(Zobject_xxxxxxxxxxx, 'o');
SPOOR_OWNER(Zowner_xxxxxxxxxxxx, 'w');
enum Zenum { Zenumerator_xxxxxxxx = 1 };
SPOOR_ENUM(Zenum, SPOOR_VALUE(Zenumerator_xxxxxxxx));
SPOOR_TRACEPOINT(Zgroup_xxxxxxxxxxxx, Zpoint_xxxxxxxxxxxx, Zobject_xxxxxxxxxxx, SPOOR_BEGINS, (const char *, text),
                 (uint64_t, Zargument_xxxxxxxxxx), (uint64_t, Zargument_xxxxxxxxxy), (enum Zenum, kind, Zenum));
SPOOR_TRACEPOINT_HERE(Zpoint_xxxxxxxxxxxx);
int main(void)
{
    static const char *const texts[] = {"", NULL, "plain", "a,b", "a\"b", "\"", "\"\"", "line\nbreak", "carriage\rreturn", "\r\n",
        "\\N", "NULL", "null", "(null)", " spaces ", "\t", "\001\002\033[2J\177", "\xff", "\xc3", "\xc3\xbc", "\xed\xa0\x80",
        "\xf0\x9f\x98\x80", "\xf4\x90\x80\x80", "\xc0\xaf", "a\x80z", "'; DROP TABLE x; --", "\\", "\\\"", "\\u0041", "{\"a\":1}", "\xe2\x80\xa8",
        "\xe2\x80\xae", "\xef\xbb\xbf", "1", "-1", "true", "nan", "=1+1", "12345678901234567890", "\n", ",", ",,", "\",\"" };
    const struct spoor_trace_options options = {.size = sizeof options, .name = "texts", .enable = "all"};
    if (spoor_trace_open(&options))
        return 1;
    spoor_trace_thread("a\"b,\xff\n");
    const uint32_t owner = spoor_owner_register(&spoor_owner_Zowner_xxxxxxxxxxxx, "owner \",\n\xff");
    FILE *wanted = fopen("wanted", "w");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        SPOOR_RECORD(Zpoint_xxxxxxxxxxxx, owner, i + 1, texts[i], i, i, 1);
        if (!texts[i])
            fputs("NULL\n", wanted);
        else {
            fputc('x', wanted);
            for (const char *at = texts[i]; *at; at++)
                fprintf(wanted, "%02x", (unsigned char)*at);
            fputc('\n', wanted);
        }
    }
    puts(spoor_trace_path());
    return fclose(wanted) != 0;
}
END
compile texts texts.c
./texts >out || exit 1
file=$(head -1 out)
python3 - "$file" <<'END' || exit 1
import re, sys
# Names that no compiler lets through, of the same length: quotes, an escape sequence, what is no UTF-8, a comma, a backtick.
data = open(sys.argv[1], "rb").read()
tail = b"\",`\\\x1b[2J\n\xff'\xe2\x80\xae"
named = re.sub(rb"(Z[a-z]+_)(x{8,}y?)", lambda found: found[1] + (tail * 2)[:len(found[2])], data)
assert named.count(tail[:4]) >= 7, named.count(tail[:4])
open(sys.argv[1], "wb").write(named)
END
rm -f ./*.csv* ./*.ndjson*
for rows in events objects; do
    for format in csv ndjson; do
        "$spoor" report -f "$file" --export $format --rows $rows -o $rows.$format 2>errors || echo "not ok hostile names: status $?"
        check "hostile names: the schema of $rows as $format" is_like schema $rows.$format
    done
    check "hostile names: $rows are the same in both" is_like same $rows.csv $rows.ndjson
    check "hostile texts: of $rows each is read back" is_like strings $rows.csv $rows.ndjson wanted
done

# ---- damaged ----
cp "$small" damaged
python3 - damaged <<'END' || exit 1
import random, sys
data = bytearray(open(sys.argv[1], "rb").read())
random.seed(7)
for _ in range(400):
    data[random.randrange(len(data) // 2, len(data))] ^= 1 << random.randrange(8)
open(sys.argv[1], "wb").write(data)
END
rm -f ./*.csv*
if "$spoor" report -f damaged --export csv -o damaged.csv 2>said; then
    "$spoor" report -f damaged -j >json 2>errors
    check "damaged: the events that are there" is_like events csv damaged.csv json
    check "damaged: what is missing is said, and stands in the schema" sh -c 'grep -q NOTE: said && ! grep -q "missing\": \[\]" damaged.csv.schema.json'
else
    check "damaged: an error, and no file" sh -c 'grep -q ERROR said && [ ! -e damaged.csv ] && [ ! -e damaged.csv.schema.json ]'
fi

# ---- files ----
rm -f ./*.csv* ./*.ndjson*
"$spoor" report -f "$small" --export csv -o one.csv.gz 2>errors
"$spoor" report -f "$small" --export csv >two.csv 2>errors
check "compressed, if the name says so" sh -c 'gzip -dc one.csv.gz | cmp - two.csv && [ -s two.csv ] && [ -s one.csv.gz.schema.json ] && [ ! -e two.csv.schema.json ]'
check "standard output by its name" sh -c "'$spoor' report -f '$small' --export csv -o - 2>errors | cmp - two.csv"
echo mine >taken.csv.schema.json
check "a schema that exists is not overwritten" sh -c "! '$spoor' report -f '$small' --export csv -o taken.csv 2>errors && grep -q 'cannot create taken.csv.schema.json: File exists' errors && [ \$(cat taken.csv.schema.json) = mine ] && [ ! -e taken.csv ]"
(
    trap '' XFSZ
    ulimit -f 64
    exec "$spoor" report -f "$small" --export csv -o full.csv
) >out 2>errors
check "no room is an error, and nothing is left" test $? = 1 -a ! -e full.csv -a ! -e full.csv.schema.json
"$spoor" report -f "$small" --export csv -o mode.csv 2>errors
check "for its owner only" test "$(stat -c %a mode.csv mode.csv.schema.json | xargs)" = "600 600"
check "--rows is for tables" sh -c "! '$spoor' report -f '$small' --export folded --rows objects 2>errors && grep -q 'rows is for tables' errors"
check "--rows alone is refused" sh -c "! '$spoor' report -f '$small' --rows objects 2>errors && grep -q -e '--export' errors"
check "other lines have no place in it" sh -c "! '$spoor' report -f '$small' --export csv --merge lines -o merged.csv 2>errors && grep -q 'no place for the lines of --merge' errors && [ ! -e merged.csv ]"

# ---- long recordings ----
if [ -z "${SAN:-}" ]; then
    record long 12000 2 0 16384
    for rows in events objects; do
        little=$(python3 "$root/tests/programs/export.py" memory "$spoor" report -f "$small" --export csv --rows $rows -o little.csv 2>errors)
        much=$(python3 "$root/tests/programs/export.py" memory "$spoor" report -f "$file" --export csv --rows $rows -o much.csv 2>errors)
        check "$rows: of 192000 events $much KiB of memory, of 2400 $little" test "$much" -lt $((little + 4096))
        rm -f little.csv* much.csv*
    done
fi
exit 0
