/* SPDX-License-Identifier: BSD-3-Clause */
/* Random scripts that are right: scripts SEED [PROBE] prints one. Every type fits, every loop ends, every variable
 * has a value before it is read, and the output does not depend on where or when the script runs: so all hosts and
 * all ways to compile it must print the same. The first block is at PROBE (begin) and runs once, the second at the
 * end. One seed always gives the same script.
 *
 * Left out is what user space does when a record arrives (print of a map, clear), what depends on the order of a
 * map's elements, and what reads another program's memory. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INTEGERS = 6, TEXTS = 3, SCALARS = 4, TUPLES = 2, DEPTH = 4, NESTED = 3, STATEMENTS = 14 };

static uint64_t state;
/* loops around this place; printf calls in the script; counters that have been made */
static unsigned loops, printed, counters;
static unsigned functions; /* how many functions may be called here */
/* The kernel has 8 frames for functions, loops and searches in texts. How many are taken at this place, how many at
 * most in the function that is being written, and how many each function takes. */
enum { FRAMES = 8, FUNCTIONS = 3 };
static unsigned frames = 1, frames_most = 1, function_frames[FUNCTIONS];
static bool in_block; /* in the first block, where an aggregation may be read after it was made */
static unsigned indent = 1;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1du;
}

static unsigned below(unsigned n)
{
    return (unsigned)((next() >> 33) % n);
}

static bool one_in(unsigned n)
{
    return !below(n);
}

#define PICK(...)                                                                                            \
    (((const char *const[]){__VA_ARGS__})[below(sizeof(const char *[]){__VA_ARGS__} / sizeof(char *))])

static void line(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("%*s", (int)(4 * indent), "");
    vprintf(format, arguments);
    va_end(arguments);
}

/* Whether so many more frames are free; notes that they were taken. */
static bool may_take(unsigned more)
{
    if (frames + more > FRAMES)
        return false;
    if (frames + more > frames_most)
        frames_most = frames + more;
    return true;
}

static void integer(unsigned depth);
static void text(unsigned depth);
static void condition(unsigned depth);

static void constant(void)
{
    static const char *const edges[] = {
        "0",     "1",          "2",          "7",          "-1",         "127",
        "128",   "255",        "256",        "-128",       "32767",      "65535",
        "65536", "2147483647", "2147483648", "4294967295", "4294967296", "9223372036854775807"};
    if (one_in(2))
        printf("%s", edges[below(sizeof edges / sizeof *edges)]);
    else
        printf("%u", below(1000));
}

/* Writes the key of a map with keys of integers, or of texts and integers. */
static void key(bool is_pair)
{
    if (is_pair) {
        text(1);
        printf(", ");
    }
    printf("(");
    integer(1);
    printf(") %% 5");
}

/* Writes the key of a map of tuples: (a small number, (text, number)), a truth. */
static void deep_key(void)
{
    printf("(((int8)(");
    integer(1);
    printf("), (");
    text(0);
    printf(", (uint16)%u)), (", below(4));
    integer(1);
    printf(") > 0)");
}

static void condition(unsigned depth)
{
    if (!depth) {
        printf("$i%u > $i%u", below(INTEGERS), below(INTEGERS));
        return;
    }
    switch (below(9)) {
    case 0:
        text(depth / 2);
        printf(" %s ", PICK("==", "!="));
        text(depth / 2);
        break;
    case 2:
        if (!may_take(1)) {
            condition(0);
            return;
        }
        printf("strcontains(");
        text(depth / 2);
        printf(", ");
        text(0);
        printf(")");
        break;
    case 3:
        printf("!(");
        condition(depth - 1);
        printf(")");
        break;
    case 4: printf("$p%u %s $p%u", below(TUPLES), PICK("==", "!="), below(TUPLES)); break;
    case 5:
        printf("has_key(@deep, ");
        deep_key();
        printf(")");
        break;
    case 1:
        printf("has_key(@hash, ");
        key(false);
        printf(")");
        break;
    default:
        printf("(");
        integer(depth - 1);
        printf(") %s (", PICK("==", "!=", "<", "<=", ">", ">=", "&&", "||"));
        integer(depth - 1);
        printf(")");
    }
}

/* Writes an operator and its right operand. A division by a constant 0 is an error; by a variable it is not, and
 * its result is 1 on every host. */
static void operand(const char *operator, unsigned depth)
{
    bool divides = *operator== '/' || * operator== '%';
    printf("%s ", operator);
    if (divides && one_in(2)) {
        printf("$i%u", below(INTEGERS));
        return;
    }
    printf("(int64)((");
    integer(depth);
    printf(")%s)", divides ? " | 1" : "");
}

static void integer(unsigned depth)
{
    if (!depth) {
        switch (below(4)) {
        case 0: constant(); return;
        case 1: printf("@n%u", below(SCALARS)); return;
        default: printf("$i%u", below(INTEGERS)); return;
        }
    }
    switch (below(28)) {
    case 0:
        printf("(%s)(", PICK("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"));
        integer(depth - 1);
        printf(")");
        return;
    case 1:
        printf("%s(", PICK("-", "~"));
        integer(depth - 1);
        printf(")");
        return;
    case 2:
        printf("((");
        integer(depth - 1);
        printf(") %s ((", PICK("<<", ">>"));
        integer(depth - 1);
        printf(") & 31))");
        return;
    case 3:
        printf("((");
        integer(depth - 1);
        printf(") > (");
        integer(depth - 1);
        printf(") ? (int64)(");
        integer(depth - 1);
        printf(") : (int64)(");
        integer(depth - 1);
        printf("))");
        return;
    case 4:
        printf("(int64)strlen(");
        text(depth - 1);
        printf(")");
        return;
    case 5:
        printf("(int64)strncmp(");
        text(depth - 1);
        printf(", ");
        text(depth - 1);
        printf(", %u)", 1 + below(12));
        return;
    case 6:
        printf("@hash[");
        key(false);
        printf("]");
        return;
    case 7:
        printf("@pair[");
        key(true);
        printf("]");
        return;
    case 8: constant(); return;
    case 9: printf("(int64)($p%u.%u)", below(TUPLES), 2 * below(2)); return;
    case 10: printf("(int64)($r.%s)", PICK("a", "c.d", "c.e")); return;
    case 11: printf("(int64)($a[$i%u & %u])", below(INTEGERS), one_in(8) ? 15 : 7); return;
    case 12:
        printf("(int64)(@tuple[");
        key(false);
        printf("].%u)", 2 * below(2));
        return;
    case 13:
        printf("(int64)(@deep[");
        deep_key();
        printf("])");
        return;
    case 14:
        if (!may_take(1))
            break;
        printf("(int64)strstr(");
        text(depth - 1);
        printf(", ");
        text(0);
        printf(")");
        return;
    case 15:
        printf("(if (");
        condition(depth - 1);
        printf(") { (int64)(");
        integer(depth - 1);
        printf(") } else { (int64)(");
        integer(depth - 1);
        printf(") })");
        return;
    case 16:
        printf("((");
        condition(depth - 1);
        printf(") %s (", PICK("&&", "||"));
        condition(depth - 1);
        printf(") ? (int64)%u : (int64)-%u)", below(100), below(100));
        return;
    case 17:
        printf("%s(", PICK("larger", "mixed"));
        integer(depth - 1);
        printf(", ");
        integer(depth - 1);
        printf(")");
        return;
    case 18:
    case 19:
        if (!functions)
            break;
        unsigned function = below(functions);
        if (!may_take(function_frames[function]))
            break;
        printf("f%u((int64)(", function);
        integer(depth - 1);
        printf("), (int32)(");
        integer(depth - 1);
        printf("))");
        return;
    case 20:
        if (!in_block)
            break;
        printf("(int64)@%s", PICK("sum", "min", "max", "count_all"));
        return;
    case 21: printf("(int64)($t%u[%u])", below(TEXTS), below(4)); return;
    case 22: printf("(int64)(((struct bits *)&$x)->%s)", PICK("a", "b", "c", "d", "e[1]")); return;
    case 23: printf("(int64)(*(%s *)&$x)", PICK("int8", "uint16", "int32", "uint64")); return;
    default: break;
    }
    printf("((int64)(");
    integer(depth - 1);
    printf(") ");
    operand(PICK("+", "-", "*", "/", "%", "&", "|", "^"), depth - 1);
    printf(")");
}

static void text(unsigned depth)
{
    switch (depth ? below(8) : below(3)) {
    case 0:
        printf("\"%s\"",
               PICK("", "a", "ab", "spoor", "a longer text than others", "x%y", "tab\\tend", "0123456789"));
        return;
    case 3:
        printf("((");
        integer(depth - 1);
        printf(") %% 3 == 0 ? ");
        text(depth - 1);
        printf(" : ");
        text(depth - 1);
        printf(")");
        return;
    case 4: printf("$p%u.1", below(TUPLES)); return;
    case 5: printf("$r.b"); return;
    case 6:
        printf("@tuple[");
        key(false);
        printf("].1");
        return;
    default: printf("$t%u", below(TEXTS)); return;
    }
}

/* Writes a tuple as $p and @tuple have. */
static void tuple(void)
{
    printf("((int64)(");
    integer(2);
    printf("), ");
    text(1);
    printf(", (int16)(");
    integer(1);
    printf("))");
}

static void record(void)
{
    printf("(a=(int64)(");
    integer(2);
    printf("), b=");
    text(1);
    printf(", c=(d=(uint32)(");
    integer(1);
    printf("), e=(int8)%u))", below(100));
}

static void print(void)
{
    if (++printed > 12)
        return;
    switch (below(9)) {
    case 4: line("print($p%u);\n", below(TUPLES)); return;
    case 5: line("print($r);\n"); return;
    case 6: line("print(($a, $a[%u]));\n", below(8)); return;
    case 7:
        line("printf(\"%%08lx|%%+d|%%-12ld|%%hhd|%%c|%%.3s|%%12s|%%r\\n\", ");
        for (unsigned i = 0; i < 4; i++) {
            integer(2);
            printf(", ");
        }
        printf("65 + (uint8)$i%u %% 26, ", below(INTEGERS));
        text(1);
        printf(", ");
        text(1);
        printf(", buf(\"%s\", %u));\n", PICK("abcdef", "x\\x01yz w"), 1 + below(5));
        return;
    case 8:
        line("printf(\"%%s %%s %%s\\n\", $p%u, $r, ", below(TUPLES));
        condition(2);
        printf(");\n");
        return;
    case 0:
        line("printf(\"%%d %%u %%x|%%5d|%%-8s|%%s\\n\", ");
        for (unsigned i = 0; i < 4; i++) {
            integer(2);
            printf(", ");
        }
        text(1);
        printf(", ");
        text(2);
        printf(");\n");
        return;
    case 1:
        line("print((");
        integer(2);
        printf(", ");
        text(1);
        printf(", (int8)(");
        integer(1);
        printf(")));\n");
        return;
    case 2:
        line("print((a=");
        integer(1);
        printf(", b=");
        text(1);
        printf("));\n");
        return;
    default:
        line("print(");
        integer(3);
        printf(");\n");
        return;
    }
}

static void aggregate(void)
{
    static const char *const kinds[] = {"sum", "min", "max", "avg", "stats", "hist", "lhist"};
    unsigned kind = below(9), has_key = below(3);
    if (kind >= 7) {
        line("@count%s", kind == 7 ? "_all" : "[");
        if (kind == 8) {
            text(1);
            printf(", ");
            text(0);
            printf("]");
        }
        printf(" = count();\n");
        return;
    }
    line("@%s%s", kinds[kind], has_key == 1 ? "_by[" : has_key == 2 ? "_deep[" : "");
    if (has_key == 1)
        key(false);
    if (has_key == 2)
        deep_key();
    printf("%s = %s((int64)(", has_key ? "]" : "", kinds[kind]);
    integer(2);
    printf(")%s);\n", kind == 6 ? ", 0, 100, 10" : kind == 5 && has_key ? ", 2" : "");
}

/* Writes a loop over a map whose effect does not depend on the order of the elements. */
static void loop_over_map(void)
{
    static const char *const maps[] = {"hash", "pair", "deep", "tuple"};
    unsigned map = below(4), number = counters++;
    if (!may_take(1))
        return;
    const char *value = map == 3 ? "(int64)($kv%u.1.0)" : "(int64)($kv%u.1)";
    line("for ($kv%u : @%s) {\n", number, maps[map]);
    indent++;
    if (one_in(3)) {
        line("if (");
        printf(value, number);
        printf(" > %u) {\n", below(100));
        line("    @over[%u] = count();\n", below(4));
        if (one_in(2))
            line("    continue;\n");
        line("}\n");
    }
    if (map == 1 && one_in(2))
        line("if ($kv%u.0.0 == \"%s\") { @named = count(); }\n", number, PICK("a", "ab", "first"));
    line("%s%u %s ", one_in(2) ? "@n" : "$i", below(SCALARS), PICK("+=", "^=", "-="));
    printf(value, number);
    printf(";\n");
    line("@seen = sum(");
    printf(value, number);
    printf(");\n");
    indent--;
    line("}\n");
}

static void block(unsigned nested);

static void loop(unsigned nested)
{
    unsigned number = counters++, kind = below(4);
    bool is_unrolled = kind == 3 || !may_take(1);
    switch (is_unrolled ? 3 : kind) {
    case 0:
        line("$c%u = 0;\n", number);
        line("while ($c%u < %u) {\n", number, 1 + below(6));
        line("    $c%u++;\n", number);
        break;
    case 1: line("for ($c%u : 0..%u) {\n", number, 1 + below(6)); break;
    case 2:
        line("for ($c%u : %d..((int64)(", number, (int)below(4) - 2);
        integer(1);
        printf(") & 7)) {\n");
        break;
    default: line("unroll(%u) {\n", 1 + below(3));
    }
    loops++;
    frames += !is_unrolled;
    block(nested - 1);
    if (!is_unrolled && one_in(3)) {
        line("    if (");
        condition(2);
        printf(") { %s; }\n", PICK("break", "continue"));
        line("    @n%u++;\n", below(SCALARS));
    }
    frames -= !is_unrolled;
    loops--;
    line("}\n");
}

static void statement(unsigned nested)
{
    switch (below(nested ? 20 : 14)) {
    case 0:
        line("$i%u = (int64)(", below(INTEGERS));
        integer(DEPTH);
        printf(");\n");
        return;
    case 1:
        line("$t%u = ", below(TEXTS));
        text(2);
        printf(";\n");
        return;
    case 2:
        line("@n%u = (int64)(", below(SCALARS));
        integer(DEPTH);
        printf(");\n");
        return;
    case 3:
        line("@hash[");
        key(false);
        printf("] = (int64)(");
        integer(2);
        printf(");\n");
        return;
    case 4:
        line("@pair[");
        key(true);
        printf("] = (int64)(");
        integer(2);
        printf(");\n");
        return;
    case 5: aggregate(); return;
    case 6:
        line("$i%u ", below(INTEGERS));
        operand(PICK("+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="), 2);
        printf(";\n");
        return;
    case 7:
        if (one_in(2))
            line("%s%s%u%s;\n", one_in(2) ? "++" : "--", one_in(2) ? "$i" : "@n", below(SCALARS), "");
        else {
            line("delete(@hash, ");
            key(false);
            printf(");\n");
        }
        return;
    case 8: print(); return;
    case 9:
        line("$p%u = ", below(TUPLES));
        tuple();
        printf(";\n");
        return;
    case 10:
        line("$r = ");
        record();
        printf(";\n");
        return;
    case 11:
        line("$a = (uint8[8])(int64)(");
        integer(2);
        printf(");\n");
        return;
    case 12:
        line("@tuple[");
        key(false);
        printf("] = ");
        tuple();
        printf(";\n");
        return;
    case 13:
        if (one_in(4)) {
            line("delete(@deep, ");
            deep_key();
            printf(");\n");
            return;
        }
        line("@deep[");
        deep_key();
        printf("] = (int32)(");
        integer(2);
        printf(");\n");
        return;
    case 18:
        line("if (");
        condition(3);
        printf(") {\n");
        block(nested - 1);
        if (one_in(2)) {
            line("} else {\n");
            block(nested - 1);
        }
        line("}\n");
        return;
    case 14:
    case 15:
    case 16:
        if (loops < 3)
            loop(nested);
        return;
    case 19:
        line("$x = (uint64)(");
        integer(2);
        printf(");\n");
        return;
    case 17:
        if (loops < 2)
            loop_over_map();
        return;
    default:
        line("if (find(@hash, ");
        key(false);
        printf(", $f%u)) {\n", counters);
        line("    $i%u = (int64)$f%u;\n", below(INTEGERS), counters++);
        line("}\n");
    }
}

static void block(unsigned nested)
{
    unsigned count = 1 + below(nested == NESTED ? STATEMENTS : 4);
    indent++;
    for (unsigned i = 0; i < count; i++)
        statement(nested);
    indent--;
}

static void variables(unsigned from)
{
    for (unsigned i = from; i < INTEGERS; i++) {
        line("$i%u = (int64)", i);
        constant();
        printf(";\n");
    }
    for (unsigned i = 0; i < TEXTS; i++) {
        line("$t%u = ", i);
        printf("\"%s\";\n", PICK("first", "second text", "the longest of all the texts"));
    }
    for (unsigned i = 0; i < TUPLES; i++)
        line("$p%u = ((int64)%u, \"a text of some length: 1234\", (int16)%u);\n", i, below(100), below(100));
    line("$r = (a=(int64)%u, b=\"a text of some length: 1234\", c=(d=(uint32)1, e=(int8)2));\n", below(100));
    line("$a = (uint8[8])%u;\n", below(100000));
    line("$x = (uint64)0x%llx;\n", (unsigned long long)next());
}

static void function(unsigned number)
{
    printf("fn f%u($i0 : int64, $i1 : int64) : %s {\n", number, PICK("int64", "int32", "uint8"));
    variables(2);
    functions = number;
    frames = frames_most = 1;
    indent = 0;
    block(2);
    indent = 1;
    line("if (");
    condition(2);
    printf(") { return (int8)(");
    integer(2);
    printf("); }\n");
    line("return (int8)(");
    integer(2);
    printf(");\n}\n");
    function_frames[number] = frames_most;
}

static void variables_printed(void)
{
    for (unsigned i = 0; i < INTEGERS; i++)
        line("printf(\"i%u %%d\\n\", $i%u);\n", i, i);
    for (unsigned i = 0; i < TEXTS; i++)
        line("printf(\"t%u %%s\\n\", $t%u);\n", i, i);
    line("print(($p0, $p1, $r, $a));\n");
}

int main(int argc, char **argv)
{
    state = argc > 1 ? strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15u + 1 : 1;
    for (int i = 0; i < 8; i++)
        next();
    printf("struct bits { uint32_t a:3; int32_t b:7; uint8_t c; int8_t e[2]; int16_t d; };\n");
    printf("macro larger(a, b) { (int64)(a) > (int64)(b) ? (int64)(a) : (int64)(b) }\n");
    printf("macro mixed(a, b) { $m = (int64)(a); $m ^= (int64)(b); $m * 3 }\n");
    unsigned all = below(FUNCTIONS + 1);
    for (unsigned i = 0; i < all; i++)
        function(i);
    functions = all;
    printf("%s /@once == 0/ {\n", argc > 2 ? argv[2] : "begin");
    line("@once = 1;\n");
    variables(0);
    for (unsigned i = 0; i < SCALARS; i++)
        line("@n%u = (int64)%u;\n", i, below(100));
    line("@hash[1] = (int64)%u; @hash[3] = (int64)-1; @pair[\"a\", 2] = (int64)%u;\n", below(10),
         below(1000));
    line("@tuple[1] = ((int64)3, \"a text of some length: 1234\", (int16)%u);\n", below(10));
    line("@deep[(((int8)1, (\"ab\", (uint16)2)), true)] = (int32)7;\n");
    line("@sum = sum(1); @min = min(7); @max = max(7); @count_all = count();\n");
    indent = 0;
    in_block = true;
    block(NESTED);
    in_block = false;
    indent = 1;
    variables_printed();
    line("exit();\n}\n");
    printf("end {\n");
    variables(0);
    indent = 0;
    block(2);
    indent = 1;
    variables_printed();
    printf("}\n");
    return 0;
}
