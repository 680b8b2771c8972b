/* SPDX-License-Identifier: BSD-3-Clause */
/* Random scripts that are right: scripts SEED [PROBE] prints one. Every type fits, every loop ends, every
 * variable has a value before it is read, and what is printed does not depend on where or when the script
 * runs: so all hosts and all ways to compile it must print the same. The block stands at PROBE (begin). The
 * same seed gives the same script. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INTEGERS = 6, TEXTS = 3, SCALARS = 4, DEPTH = 4, NESTED = 3, STATEMENTS = 14 };

static uint64_t state;
static unsigned loops, printed, counters; /* around this place; in the script; made so far */
static unsigned indent = 1;
/* Loops over texts are what verifiers follow step by step, and the kernel's gives up a program with more than
 * 8192 jumps on one way through it: so there are only so many of them. */
static unsigned loops_over_texts = 12;

static bool may_loop_over_text(void)
{
    if (loops || !loops_over_texts)
        return false;
    loops_over_texts--;
    return true;
}

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

static void integer(unsigned depth);
static void text(unsigned depth);

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

/* Of a map with keys of integers, or of texts and integers. */
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

static void condition(unsigned depth)
{
    switch (below(5)) {
    case 0:
        text(depth / 2);
        printf(" %s ", PICK("==", "!="));
        text(depth / 2);
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

/* An operator and what is right of it. A division by what is known to be 0 is an error; by a variable it is
 * not. */
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
    switch (below(12)) {
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
        if (!may_loop_over_text())
            break;
        printf("(int64)strlen(");
        text(depth - 1);
        printf(")");
        return;
    case 5:
        if (!may_loop_over_text())
            break;
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
    switch (depth ? below(5) : below(3)) {
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
    default: printf("$t%u", below(TEXTS)); return;
    }
}

static void print(void)
{
    if (++printed > 12)
        return;
    switch (below(4)) {
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

static void block(unsigned nested);

static void aggregate(void)
{
    static const char *const kinds[] = {"sum", "min", "max", "avg", "stats", "hist"};
    unsigned kind = below(8);
    bool has_key = one_in(2);
    if (kind == 6) {
        line("@count[");
        text(1);
        printf("] = count();\n");
        return;
    }
    line("@%s%s", kind == 7 ? "lhist" : kinds[kind], has_key ? "_by[" : "");
    if (has_key) {
        key(false);
        printf("]");
    }
    printf(" = %s(", kind == 7 ? "lhist" : kinds[kind]);
    printf("(int64)(");
    integer(2);
    printf(")%s);\n", kind == 7 ? ", 0, 100, 10" : "");
}

static void statement(unsigned nested)
{
    unsigned number = counters;
    switch (below(nested ? 13 : 9)) {
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
    case 10:
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
    case 11:
        if (loops > 1)
            return;
        counters++;
        loops++;
        if (loops > 1) /* a second level is short: each round is a way of its own for the verifier */
            line("unroll(2) {\n");
        else if (one_in(3)) {
            line("$c%u = 0;\n", number);
            line("while ($c%u < %u) {\n", number, 1 + below(6));
            indent++;
            line("$c%u++;\n", number);
            indent--;
            nested = 1; /* the verifier goes through each round */
        } else if (one_in(2))
            line("for ($c%u : 0..%u) {\n", number, 1 + below(6));
        else
            line("unroll(%u) {\n", 1 + below(3));
        block(nested - 1);
        line("}\n");
        loops--;
        return;
    default:
        if (loops)
            return;
        line("for ($kv : @%s) { @n%u %s (int64)($kv.1); @seen = sum(%s); }\n", one_in(2) ? "hash" : "pair",
             below(SCALARS), PICK("+=", "^="), PICK("$kv.1", "1"));
    }
}

static void block(unsigned nested)
{
    unsigned count = 1 + below(nested == NESTED ? STATEMENTS : loops ? 2 : 4);
    indent++;
    for (unsigned i = 0; i < count; i++)
        statement(nested);
    indent--;
}

int main(int argc, char **argv)
{
    state = argc > 1 ? strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15u + 1 : 1;
    for (int i = 0; i < 8; i++)
        next();
    printf("%s {\n", argc > 2 ? argv[2] : "begin");
    for (unsigned i = 0; i < INTEGERS; i++) {
        line("$i%u = (int64)", i);
        constant();
        printf(";\n");
    }
    for (unsigned i = 0; i < TEXTS; i++) {
        line("$t%u = ", i);
        printf("\"%s\";\n", PICK("first", "second text", "the longest of all the texts"));
    }
    for (unsigned i = 0; i < SCALARS; i++)
        line("@n%u = (int64)%u;\n", i, below(100));
    line("@hash[1] = (int64)%u; @hash[3] = (int64)-1; @pair[\"a\", 2] = (int64)%u;\n", below(10),
         below(1000));
    indent = 0;
    block(NESTED);
    indent = 1;
    for (unsigned i = 0; i < INTEGERS; i++)
        line("printf(\"i%u %%d\\n\", $i%u);\n", i, i);
    for (unsigned i = 0; i < TEXTS; i++)
        line("printf(\"t%u %%s\\n\", $t%u);\n", i, i);
    line("exit();\n}\n");
    return 0;
}
