/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the parser: trees of every production, positions, attach points, errors, and what is parsed behind them.
 * Trees are compared as one line: `(binary + (integer 1) (name pid))`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/parse/parse.h"

struct parsed {
    struct arena arena;
    struct diagnostics diagnostics;
    struct source source;
    char *memory; /* allocated with exactly the text's size, so that ASan sees a read behind it */
    struct parameters parameters;
    struct script *script;
};

static struct parsed *parse_bytes(const char *text, size_t length, size_t count, const char *const *values)
{
    struct parsed *parsed = calloc(1, sizeof *parsed);
    parsed->memory = malloc(length + 1);
    memcpy(parsed->memory, text, length);
    parsed->memory[length] = 0;
    parsed->source = (struct source){"stdin", parsed->memory, length};
    parsed->diagnostics.arena = &parsed->arena;
    parsed->parameters = (struct parameters){.values = values, .count = count};
    parsed->script = script_parse(&parsed->arena, &parsed->diagnostics, &parsed->source, &parsed->parameters);
    return parsed;
}

static struct parsed *parse(const char *text)
{
    return parse_bytes(text, strlen(text), 0, NULL);
}

static void release(struct parsed *parsed)
{
    arena_free(&parsed->arena);
    free(parsed->memory);
    free(parsed);
}

/* Folds the lines of node_print, indented by two, into one line with parentheses. */
static void fold_lines(struct text *out, const char *lines)
{
    int depth = -1;
    for (; *lines; lines += strcspn(lines, "\n") + 1) {
        int indent = (int)strspn(lines, " ") / 2;
        for (; depth >= indent; depth--)
            text_char(out, ')');
        depth = indent;
        text_add(out, out->length ? " (" : "(");
        const char *line = lines + indent * 2;
        text_append(out, line, strcspn(line, "\n"));
    }
    for (; depth >= 0; depth--)
        text_char(out, ')');
}

static void expect_node(const char *source, const struct node *node, const char *tree)
{
    struct text lines = {0}, line = {0};
    node_print(&lines, node, 0);
    fold_lines(&line, text_string(&lines));
    if (strcmp(text_string(&line), tree))
        fail_msg("%s\n  gave   %s\n  wanted %s", source, text_string(&line), tree);
    text_free(&lines);
    text_free(&line);
}

static void expect_clean(const struct parsed *parsed)
{
    struct text text = {0};
    diagnostics_render(&text, &parsed->diagnostics, DIAGNOSTIC_ERROR, false);
    if (parsed->diagnostics.errors)
        fail_msg("%s", text_string(&text));
    text_free(&text);
}

/* Compares the tree of a statement that stands alone in a block. */
static void expect_statement(const char *statement, const char *tree)
{
    struct text text = {0};
    text_printf(&text, "BEGIN { %s }", statement);
    struct parsed *parsed = parse(text_string(&text));
    expect_clean(parsed);
    const struct node *body = parsed->script->blocks->body;
    assert_int_equal(body->kind, NODE_BLOCK);
    assert_int_equal(body->list.count, 1);
    expect_node(statement, body->list.first, tree);
    struct node *clone = node_clone(&parsed->arena, body->list.first);
    expect_node(statement, clone, tree);
    release(parsed);
    text_free(&text);
}

static void expect_expression(const char *expression, const char *tree)
{
    struct text text = {0};
    text_printf(&text, "(expression %s)", tree);
    expect_statement(expression, text_string(&text));
    text_free(&text);
}

static void expect_errors(const char *text, ...)
{
    struct parsed *parsed = parse(text);
    va_list messages;
    va_start(messages, text);
    size_t i = 0;
    for (const char *message; (message = va_arg(messages, const char *)); i++) {
        if (i >= parsed->diagnostics.count)
            fail_msg("%s: no error '%s'", text, message);
        const struct diagnostic *diagnostic = &parsed->diagnostics.items[i];
        struct text line = {0};
        diagnostic_render(&line, diagnostic, false);
        const char *got = text_string(&line) + strlen("stdin:");
        if (!diagnostic->span.source)
            got = diagnostic->message;
        if (strncmp(got, message, strlen(message)))
            fail_msg("%s\n  gave   %s\n  wanted %s", text, text_string(&line), message);
        text_free(&line);
    }
    va_end(messages);
    if (i != parsed->diagnostics.count)
        fail_msg("%s: one more error: %s", text, parsed->diagnostics.items[i].message);
    release(parsed);
}

static void test_primaries(void **state)
{
    (void)state;
    expect_expression("1", "(integer 1)");
    expect_expression("18446744073709551615", "(integer 18446744073709551615)");
    expect_expression("0x10", "(integer 16)");
    expect_expression("true", "(bool true)");
    expect_expression("false", "(bool false)");
    expect_expression("\"a\\n\\0\"", "(string \"a\\n\\x00\")");
    expect_expression("pid", "(name pid)");
    expect_expression("$x", "(variable $x)");
    expect_expression("@", "(map @)");
    expect_expression("@m", "(map @m)");
    expect_expression("@m[1]", "(map @m (integer 1))");
    expect_expression("@[pid]", "(map @ (name pid))");
    expect_expression("@m[1, \"a\"]", "(map @m (tuple (integer 1) (string \"a\")))");
    expect_expression("@m[(1, \"a\")]", "(map @m (tuple (integer 1) (string \"a\")))");
    expect_expression("@m[1][2]", "(index (map @m (integer 1)) (integer 2))");
    expect_expression("$3", "(parameter $3)");
    expect_expression("$#", "(parameter $#)");
    expect_expression("f()", "(call f)");
    expect_expression("f(1, $x, )", "(call f (integer 1) (variable $x))");
    expect_expression("f (g(1))", "(call f (call g (integer 1)))");
}

static void test_tuples(void **state)
{
    (void)state;
    expect_expression("()", "(tuple)");
    expect_expression("(1)", "(integer 1)");
    expect_expression("(1,)", "(tuple (integer 1))");
    expect_expression("(1, \"a\")", "(tuple (integer 1) (string \"a\"))");
    expect_expression("(1, (2, 3), )", "(tuple (integer 1) (tuple (integer 2) (integer 3)))");
    expect_expression("$t.0", "(field .0 (variable $t))");
    expect_expression("$t.0.1", "(field .1 (field .0 (variable $t)))");
    expect_expression("(1, 2).1", "(field .1 (tuple (integer 1) (integer 2)))");
}

static void test_postfix(void **state)
{
    (void)state;
    expect_expression("args.x", "(field .x (name args))");
    expect_expression("args->x.y", "(field .y (field .x (name args)))");
    expect_expression("$p->if", "(field .if (variable $p))");
    expect_expression("$a[1]", "(index (variable $a) (integer 1))");
    expect_expression("args.v[$i + 1].w",
                      "(field .w (index (field .v (name args)) (binary + (variable $i) (integer 1))))");
    expect_expression("$x++", "(step ++ after (variable $x))");
    expect_expression("@m[pid]--", "(step -- after (map @m (name pid)))");
    expect_expression("str(args.f)[0]", "(index (call str (field .f (name args))) (integer 0))");
}

static void test_unary(void **state)
{
    (void)state;
    expect_expression("-1", "(unary - (integer 1))");
    expect_expression("!~-$x", "(unary ! (unary ~ (unary - (variable $x))))");
    expect_expression("*$p", "(unary * (variable $p))");
    expect_expression("**$p", "(unary * (unary * (variable $p)))");
    expect_expression("&$x", "(unary & (variable $x))");
    expect_expression("&@m[1]", "(unary & (map @m (integer 1)))");
    expect_expression("++$x", "(step ++ before (variable $x))");
    expect_expression("--@", "(step -- before (map @))");
    expect_expression("*$p.f", "(unary * (field .f (variable $p)))");
    expect_expression("1 - -1", "(binary - (integer 1) (unary - (integer 1)))");
}

static void test_precedence(void **state)
{
    (void)state;
    expect_expression("1 + 2 * 3", "(binary + (integer 1) (binary * (integer 2) (integer 3)))");
    expect_expression("(1 + 2) * 3", "(binary * (binary + (integer 1) (integer 2)) (integer 3))");
    expect_expression("1 - 2 - 3", "(binary - (binary - (integer 1) (integer 2)) (integer 3))");
    expect_expression("8 / 4 % 3", "(binary % (binary / (integer 8) (integer 4)) (integer 3))");
    /* One operator of each level: from the loosest to the tightest they nest to the right; reversed, to the left. */
    expect_expression(
        "$a || $b && $c | $d ^ $e & $f == $g < $h << $i + $j * $k",
        "(binary || (variable $a) (binary && (variable $b) (binary | (variable $c) (binary ^ "
        "(variable $d) (binary & (variable $e) (binary == (variable $f) (binary < (variable $g) "
        "(binary << (variable $h) (binary + (variable $i) (binary * (variable $j) (variable "
        "$k)))))))))))");
    expect_expression(
        "$a * $b + $c >> $d >= $e != $f & $g ^ $h | $i && $j || $k",
        "(binary || (binary && (binary | (binary ^ (binary & (binary != (binary >= (binary >> "
        "(binary + (binary * (variable $a) (variable $b)) (variable $c)) (variable $d)) (variable "
        "$e)) (variable $f)) (variable $g)) (variable $h)) (variable $i)) (variable $j)) "
        "(variable $k))");
    expect_expression("1 <= 2 > 3", "(binary > (binary <= (integer 1) (integer 2)) (integer 3))");
    expect_expression("-1 / 2", "(binary / (unary - (integer 1)) (integer 2))");
}

static void test_ternary(void **state)
{
    (void)state;
    expect_expression("$a ? 1 : 2", "(ternary (variable $a) (integer 1) (integer 2))");
    expect_expression("$a || $b ? 1 : $c ? 2 : 3",
                      "(ternary (binary || (variable $a) (variable $b)) (integer 1) (ternary (variable $c) "
                      "(integer 2) (integer 3)))");
    expect_expression("$a ? $b ? 1 : 2 : 3",
                      "(ternary (variable $a) (ternary (variable $b) (integer 1) (integer 2)) (integer 3))");
    expect_expression("$a ?: 2", "(ternary ?: (variable $a) (integer 2))");
    struct parsed *parsed = parse("BEGIN { rand ?: 2 }");
    expect_clean(parsed);
    struct node *node = parsed->script->blocks->body->list.first->unary.operand;
    assert_ptr_equal(node->ternary.yes, node->ternary.condition);
    struct node *clone = node_clone(&parsed->arena, node);
    assert_ptr_equal(clone->ternary.yes, clone->ternary.condition);
    assert_ptr_not_equal(clone->ternary.yes, node->ternary.yes);
    release(parsed);
}

static void test_casts(void **state)
{
    (void)state;
    expect_expression("(uint64)1", "(cast uint64 (integer 1))");
    expect_expression("(uint64)(1000 * 1000)", "(cast uint64 (binary * (integer 1000) (integer 1000)))");
    expect_expression("(uint64)$x + 1", "(binary + (cast uint64 (variable $x)) (integer 1))");
    expect_expression("(int32)-5/2", "(binary / (cast int32 (unary - (integer 5))) (integer 2))");
    expect_expression("(int8)(int16)*$x", "(cast int8 (cast int16 (unary * (variable $x))))");
    expect_expression("(struct task_struct *)$x", "(cast struct task_struct * (variable $x))");
    expect_expression("((struct a *)$x)->b.c", "(field .c (field .b (cast struct a * (variable $x))))");
    expect_expression("(enum e)1", "(cast enum e (integer 1))");
    expect_expression("(int8 **)$x", "(cast int8 ** (variable $x))");
    expect_expression("(int8[4])$x", "(cast int8[4] (variable $x))");
    expect_expression("(uint8[])\"ab\"", "(cast uint8[] (string \"ab\"))");
    expect_expression("(unsigned long)$x", "(cast unsigned long (variable $x))");
    expect_expression("(unsigned long long *)$x", "(cast unsigned long long * (variable $x))");
    expect_expression("(size_t)$x", "(cast size_t (variable $x))");
    expect_expression("(size_t)(1)", "(cast size_t (integer 1))");
    expect_expression("(size_t *)-1", "(cast size_t * (unary - (integer 1)))");
    expect_expression("(string)args.x", "(cast string (field .x (name args)))");
    /* These are no casts: what follows is a binary operator, or nothing. */
    expect_expression("(pid)", "(name pid)");
    expect_expression("(pid) - 1", "(binary - (name pid) (integer 1))");
    expect_expression("(pid) * 2", "(binary * (name pid) (integer 2))");
    expect_expression("(pid) & 2", "(binary & (name pid) (integer 2))");
    expect_expression("(pid * 2)", "(binary * (name pid) (integer 2))");
    expect_expression("(pid) ? 1 : 2", "(ternary (name pid) (integer 1) (integer 2))");
    expect_expression("(args.a)[1]", "(index (field .a (name args)) (integer 1))");
}

static void test_sizeof(void **state)
{
    (void)state;
    expect_expression("sizeof(uint64)", "(sizeof uint64)");
    expect_expression("sizeof(struct x)", "(sizeof struct x)");
    expect_expression("sizeof(int8 *)", "(sizeof int8 *)");
    expect_expression("sizeof(foo *)", "(sizeof foo *)");
    expect_expression("sizeof(int8[4])", "(sizeof int8[4])");
    expect_expression("sizeof($x)", "(sizeof (variable $x))");
    expect_expression("sizeof(int8*[4]*)", "(sizeof int8 *[4] *)");
    expect_expression("sizeof(x[4]**)", "(sizeof x[4] **)");
    expect_expression("sizeof(buffer[8])", "(sizeof buffer[8])");
    expect_expression("(struct x *[3])$x", "(cast struct x *[3] (variable $x))");
    expect_expression("(typeof($x) *)5", "(cast typeof() * (integer 5) (typeof (variable $x)))");
    expect_expression("sizeof(typeof(int8))", "(sizeof typeof() (typeof int8))");
    expect_expression("typeinfo(struct x)", "(typeinfo struct x)");
    expect_expression("typeinfo(@m).full_type", "(field .full_type (typeinfo (map @m)))");
    expect_expression("offsetof(struct x, a.b[2]->if)", "(offsetof struct x .a .b [2] .if)");
    expect_expression("offsetof(*$x, a)", "(offsetof .a (unary * (variable $x)))");
    expect_expression("container_of($p, struct x, a)",
                      "(cast struct x * (binary - (cast int8 * (variable $p)) (offsetof struct x .a)))");
    expect_expression("comptime 1 == 2", "(binary == (comptime (integer 1)) (integer 2))");
    expect_expression("(a=1, if=\"x\",)", "(tuple a,if (integer 1) (string \"x\"))");
    expect_expression("((a=1),)", "(tuple (tuple a (integer 1)))");
    expect_expression("&$x", "(unary & (variable $x))");
    expect_expression("&$p->a[1]", "(unary & (index (field .a (variable $p)) (integer 1)))");
    expect_expression("sizeof(args.x) * 2", "(binary * (sizeof (field .x (name args))) (integer 2))");
    struct parsed *parsed = parse("BEGIN { sizeof(pid_t) }");
    expect_clean(parsed);
    const struct node *node = parsed->script->blocks->body->list.first->unary.operand;
    assert_string_equal(node->cast.name.name, "pid_t");
    assert_int_equal(node->cast.operand->kind, NODE_NAME);
    release(parsed);
}

static void test_assignments(void **state)
{
    (void)state;
    expect_expression("$x = 1", "(assign = (variable $x) (integer 1))");
    expect_expression("@ = count()", "(assign = (map @) (call count))");
    expect_expression("@m[pid, 1] = hist($x)",
                      "(assign = (map @m (tuple (name pid) (integer 1))) (call hist (variable $x)))");
    expect_expression("$x += 1;", "(assign += (variable $x) (integer 1))");
    expect_expression("$x -= 1", "(assign -= (variable $x) (integer 1))");
    expect_expression("$x *= 1", "(assign *= (variable $x) (integer 1))");
    expect_expression("$x /= 1", "(assign /= (variable $x) (integer 1))");
    expect_expression("$x %= 1", "(assign %= (variable $x) (integer 1))");
    expect_expression("$x &= 1", "(assign &= (variable $x) (integer 1))");
    expect_expression("$x |= 1", "(assign |= (variable $x) (integer 1))");
    expect_expression("$x ^= 1", "(assign ^= (variable $x) (integer 1))");
    expect_expression("$x <<= 1", "(assign <<= (variable $x) (integer 1))");
    expect_expression("$x >>= 1", "(assign >>= (variable $x) (integer 1))");
    expect_statement("_ = f()", "(expression _ = (call f))");
    expect_statement("let $x", "(let (variable $x))");
    expect_statement("let $x = 1 + 2;", "(let (variable $x) (binary + (integer 1) (integer 2)))");
    expect_statement("let $x : uint16;", "(let uint16 (variable $x))");
    expect_statement("let $x : struct foo * = $y", "(let struct foo * (variable $x) (variable $y))");
    expect_statement("let $x: string[16]", "(let string[16] (variable $x))");
}

static void test_control(void **state)
{
    (void)state;
    expect_statement("if ($x) { 1 }", "(if (variable $x) (block (expression (integer 1))))");
    expect_statement("if $x { }", "(if (variable $x) (block))");
    expect_statement("if !$x { } else { return }", "(if (unary ! (variable $x)) (block) (block (return)))");
    expect_statement(
        "if (1) { } else if (2) { } else { 3 }",
        "(if (integer 1) (block) (block (if (integer 2) (block) (block (expression (integer 3))))))");
    expect_statement("if (pid) { }", "(if (name pid) (block))");
    expect_statement(
        "while ($i < 3) { $i++; }",
        "(while (binary < (variable $i) (integer 3)) (block (expression (step ++ after (variable "
        "$i)))))");
    expect_statement("for ($i : 0..10) { continue }",
                     "(for (variable $i) (integer 0) (integer 10) (block (continue)))");
    expect_statement(
        "for ($i : $a + 1..f($b)) { }",
        "(for (variable $i) (binary + (variable $a) (integer 1)) (call f (variable $b)) (block))");
    expect_statement("for ($kv : @m) { break; }", "(for (variable $kv) (map @m) (block (break)))");
    expect_statement("unroll(5) { }", "(unroll (integer 5) (block))");
    expect_statement("unroll ($1) { }", "(unroll (parameter $1) (block))");
    expect_statement("{ { } ; 1 }", "(block (block) (expression (integer 1)))");
    expect_statement("return 1 + 1;", "(return (binary + (integer 1) (integer 1)))");
    expect_statement(";; break ;;", "(break)");
}

static void test_kinds_of_loops(void **state)
{
    (void)state;
    struct parsed *parsed = parse("BEGIN { for ($i : 0..1) { } for ($i : @a) { } unroll(2) { } }");
    expect_clean(parsed);
    const struct node *node = parsed->script->blocks->body->list.first;
    assert_int_equal(node->kind, NODE_FOR_RANGE);
    assert_non_null(node->loop.to);
    assert_int_equal(node->next->kind, NODE_FOR_MAP);
    assert_string_equal(node->next->loop.map->map.name, "@a");
    assert_int_equal(node->next->next->kind, NODE_UNROLL);
    release(parsed);
}

static void expect_span(const struct node *node, unsigned line, unsigned column, unsigned length)
{
    struct position position = source_position(node->span.source, node->span.begin);
    assert_int_equal(position.line, line);
    assert_int_equal(position.column, column);
    assert_int_equal(node->span.end - node->span.begin, length);
}

static void test_spans(void **state)
{
    (void)state;
    struct parsed *parsed = parse("BEGIN { foo(); }\n"
                                  "END\n"
                                  "{\n"
                                  "    $x = (1 + $yy) * args.f[2]; // c\n"
                                  "    if ($x) { @m[1, 22]++ }\n"
                                  "}\n");
    expect_clean(parsed);
    const struct action_block *begin = parsed->script->blocks, *end = begin->next;
    expect_span(begin->body->list.first->unary.operand, 1, 9, 5);
    expect_span(begin->body, 1, 7, 10);
    assert_int_equal(begin->span.begin, 0);
    assert_int_equal(begin->span.end, 16);
    expect_span(end->body, 3, 1, 68);
    const struct node *assign = end->body->list.first->unary.operand;
    expect_span(assign, 4, 5, 26);
    expect_span(assign->assign.target, 4, 5, 2);
    expect_span(assign->assign.value, 4, 10, 21);
    expect_span(assign->assign.value->binary.left, 4, 10, 9);
    expect_span(assign->assign.value->binary.right, 4, 22, 9);
    expect_span(assign->assign.value->binary.right->binary.left, 4, 22, 6);
    const struct node *branch = end->body->list.first->next;
    expect_span(branch, 5, 5, 23);
    const struct node *step = branch->ternary.yes->list.first->unary.operand;
    expect_span(step, 5, 15, 11);
    expect_span(step->step.target, 5, 15, 9);
    expect_span(step->step.target->map.key, 5, 18, 5);
    release(parsed);
}

/* Compares all attach points of a script: pieces are joined by |, points by spaces, blocks by ;, and P stands for a
 * predicate. */
static void expect_points(const char *text, size_t count, const char *const *values, const char *points)
{
    struct parsed *parsed = parse_bytes(text, strlen(text), count, values);
    expect_clean(parsed);
    struct text got = {0};
    for (const struct action_block *block = parsed->script->blocks; block; block = block->next) {
        for (const struct attach_point *point = block->attach_points; point; point = point->next) {
            for (size_t i = 0; i < point->piece_count; i++)
                text_printf(&got, "%s%s", i ? "|" : "", point->pieces[i].text);
            text_add(&got, point->next ? " " : "");
        }
        text_printf(&got, "%s%s", block->predicate ? " P" : "", block->next ? "; " : "");
    }
    if (strcmp(text_string(&got), points))
        fail_msg("%s\n  gave   %s\n  wanted %s", text, text_string(&got), points);
    text_free(&got);
    release(parsed);
}

static void test_attach_points(void **state)
{
    (void)state;
    expect_points("BEGIN{}END{}", 0, NULL, "BEGIN; END");
    expect_points("#!/usr/bin/env spoor\nBEGIN { }", 0, NULL, "BEGIN");
    expect_points("interval:s:1 { }", 0, NULL, "interval|s|1");
    expect_points("interval:10ms { }", 0, NULL, "interval|10ms");
    expect_points("software:cpu-clock: { }", 0, NULL, "software|cpu-clock|");
    expect_points("k:a, k:b,\n\n// c\nk:c, , { }", 0, NULL, "k|a k|b k|c");
    expect_points("interval : s :\n 1 /* c */ { }", 0, NULL, "interval|s|1");
    expect_points("uprobe:/bin/bash:readline+0x10 { }", 0, NULL, "uprobe|/bin/bash|readline+0x10");
    expect_points("uprobe:/bin//x:f { }", 0, NULL, "uprobe|/bin//x|f");
    expect_points("uprobe: //bin/x:f { }", 0, NULL, "uprobe|//bin/x|f");
    expect_points("uprobe:/usr/lib/*/libc.so*:mal* { }", 0, NULL, "uprobe|/usr/lib/*/libc.so*|mal*");
    expect_points("uprobe:libc:[mc]alloc? { }", 0, NULL, "uprobe|libc|[mc]alloc?");
    expect_points("usdt:./a-b/c:prov:request-start { }", 0, NULL, "usdt|./a-b/c|prov|request-start");
    expect_points("usdt:__EXE__:x { }", 0, NULL, "usdt|__EXE__|x");
    expect_points("uprobe:\"/bin/a b,{\":\"ns::f(int, char)\" { }", 0, NULL,
                  "uprobe|/bin/a b,{|ns::f(int, char)");
    expect_points("uprobe:/x:cpp:\"a:b\" { }", 0, NULL, "uprobe|/x|cpp|a:b");
    expect_points("uprobe:x:\"a\\\"b\\$1\" { }", 0, NULL, "uprobe|x|a\"b$1");
    expect_points("uprobe:x:f.llvm.$ { }", 0, NULL, "uprobe|x|f.llvm.$");
    expect_points("uprobe:/bin/$1/x:\"p$2\", k:$2$1 { }", 2, (const char *const[]){"one", "t:o"},
                  "uprobe|/bin/one/x|pt:o k|t:oone");
}

static void test_predicates(void **state)
{
    (void)state;
    expect_points("BEGIN/pid==1/ { }", 0, NULL, "BEGIN P");
    expect_points("BEGIN /1/{ }", 0, NULL, "BEGIN P");
    expect_points("k:a,\nk:b\n/pid == 1/\n{ }", 0, NULL, "k|a k|b P");
    expect_points("uprobe:/bin/x:f/arg0 == 1/ { }", 0, NULL, "uprobe|/bin/x|f P");
    expect_points("uprobe:/bin/x:f/comm == \"a:b\"/ { }", 0, NULL, "uprobe|/bin/x|f P");
    expect_points("uprobe:bin/x:f /arg0/ { }", 0, NULL, "uprobe|bin/x|f P");
    expect_points("usdt:./blockd:request_done /args.status/ { }", 0, NULL, "usdt|./blockd|request_done P");
    expect_points("tracepoint:syscalls:*/pid/ { } uprobe:*/libc:f/1/{}", 0, NULL,
                  "tracepoint|syscalls|* P; uprobe|*/libc|f P");
    expect_points("interval:s:1/@x/ { }", 0, NULL, "interval|s|1 P");

    struct parsed *parsed = parse("k:f / arg0 / 2 > 1 / { }\nk:g /(@a[1] / 2) / 3/ // c\n/* d */ { }");
    expect_clean(parsed);
    expect_node("1", parsed->script->blocks->predicate,
                "(binary > (binary / (name arg0) (integer 2)) (integer 1))");
    expect_node("2", parsed->script->blocks->next->predicate,
                "(binary / (binary / (map @a (integer 1)) (integer 2)) (integer 3))");
    release(parsed);
}

static void test_attach_spans(void **state)
{
    (void)state;
    struct parsed *parsed = parse("BEGIN, uprobe:\"/a\":f {}");
    expect_clean(parsed);
    const struct attach_point *point = parsed->script->blocks->attach_points->next;
    assert_string_equal(point->text, "uprobe:\"/a\":f");
    assert_int_equal(point->span.begin, 7);
    assert_int_equal(point->span.end, 20);
    assert_true(point->pieces[1].quoted);
    assert_false(point->pieces[2].quoted);
    assert_int_equal(point->pieces[1].span.begin, 14);
    assert_int_equal(point->pieces[1].span.end, 18);
    release(parsed);
}

static struct attach_point *parse_pattern(struct parsed *parsed, const char *text)
{
    *parsed = (struct parsed){.source = {"pattern", text, strlen(text)}};
    parsed->diagnostics.arena = &parsed->arena;
    return attach_point_parse(&parsed->arena, &parsed->diagnostics, &parsed->source, NULL);
}

static void test_patterns(void **state)
{
    (void)state;
    struct parsed parsed;
    struct attach_point *point = parse_pattern(&parsed, " uprobe:bin/x/y:* ");
    assert_non_null(point);
    assert_int_equal(point->piece_count, 3);
    assert_string_equal(point->pieces[1].text, "bin/x/y");
    arena_free(&parsed.arena);
    assert_non_null(point = parse_pattern(&parsed, "a/b"));
    assert_string_equal(point->pieces[0].text, "a/b");
    arena_free(&parsed.arena);
    static const char *const wrong[] = {"", "  ", "a b", "a,b", "{", "\"x", "}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_null(parse_pattern(&parsed, wrong[i]));
        assert_int_equal(parsed.diagnostics.errors, 1);
        arena_free(&parsed.arena);
    }
}

static void test_missing_parameter(void **state)
{
    (void)state;
    struct parsed *parsed = parse("kprobe:$1 { }");
    assert_int_equal(parsed->diagnostics.errors, 0);
    assert_int_equal(parsed->diagnostics.count, 1);
    assert_int_equal(parsed->diagnostics.items[0].severity, DIAGNOSTIC_WARNING);
    assert_string_equal(parsed->diagnostics.items[0].message, "Parameter $1 is not given: it is empty here");
    assert_string_equal(parsed->script->blocks->attach_points->pieces[1].text, "");
    release(parsed);
}

static void test_errors_around_blocks(void **state)
{
    (void)state;
    expect_errors("", "No probes in the script", NULL);
    expect_errors(" // c\n", "No probes in the script", NULL);
    expect_errors("BEGIN", "1:6-6: ERROR: syntax: expected '{', found the end of the script", NULL);
    expect_errors("BEGIN /1/", "1:10-10: ERROR: syntax: expected '{', found the end of the script", NULL);
    expect_errors("BEGIN {", "1:8-8: ERROR: syntax: expected '}', found the end of the script", NULL);
    expect_errors("BEGIN { if (1) { x", "1:19-19: ERROR: syntax: expected '}', found the end", NULL);
    expect_errors("{ }", "1:1-2: ERROR: A probe is missing before the block", NULL);
    expect_errors("BEGIN { } }", "1:11-12: ERROR: syntax: '}' without a '{' before it", NULL);
    expect_errors("kprobe:f printf(\"x\"); }", "1:10-11: ERROR: syntax: expected '{' after the probe", NULL);
    expect_errors("BEGIN /pid { $x = }",
                  "1:12-13: ERROR: syntax: expected '/' at the end of the predicate, found '{'",
                  "1:19-20: ERROR: syntax: expected an expression, found '}'", NULL);
    expect_errors("BEGIN / / { }", "1:9-10: ERROR: syntax: expected an expression, found '/'", NULL);
    expect_errors("uprobe:\"a { }", "1:8-14: ERROR: Unterminated string in a probe", NULL);
    expect_errors("uprobe:$0 { }", "1:8-10: ERROR: There is no such parameter: '$0'", NULL);
    expect_errors("BEGIN { } /* x", "1:11-13: ERROR: Unterminated comment", NULL);
    expect_errors("BEGIN { /* x", "1:9-11: ERROR: Unterminated comment", NULL);
}

static void test_errors_in_statements(void **state)
{
    (void)state;
    expect_errors("BEGIN { $x = 1 $y }", "1:16-18: ERROR: syntax: expected ';', found '$y'", NULL);
    expect_errors("BEGIN { f(1 2); }", "1:13-14: ERROR: syntax: expected ',' or ')', found '2'", NULL);
    expect_errors("BEGIN { if (pid) printf(\"x\"); }", "1:29-30: ERROR: syntax: expected '{', found ';'",
                  NULL);
    expect_errors("BEGIN { 1 = 2; }", "1:9-10: ERROR: Only scratch variables and maps can be assigned to",
                  NULL);
    expect_errors("BEGIN { pid++; }", "1:9-12: ERROR: '++' changes scratch variables and maps only", NULL);
    expect_errors("BEGIN { --1; }", "1:11-12: ERROR: '--' changes scratch variables and maps only", NULL);
    expect_errors("BEGIN { @m[] = 1; }", "1:11-13: ERROR: A key is missing", NULL);
    expect_errors("BEGIN { for (@x : @y) { } }",
                  "1:14-16: ERROR: syntax: expected a scratch variable, found '@x'", NULL);
    expect_errors("BEGIN { for ($x : 5) { } }", "1:19-20: ERROR: A loop goes over a map or over a range",
                  NULL);
    expect_errors("BEGIN { for ($x : @m[1]) { } }", "1:19-24: ERROR: A loop goes over a map or over a range",
                  NULL);
    expect_errors("BEGIN { let @x = 1; }", "1:13-15: ERROR: syntax: expected a scratch variable", NULL);
    expect_errors("BEGIN { $x = (int8[0])1; }", "1:20-21: ERROR: An array needs at least one element", NULL);
    expect_errors("BEGIN { $x = (struct)1; }", "1:21-22: ERROR: syntax: expected a name of a type", NULL);
    expect_errors("BEGIN { $x.01 }", "1:12-14: ERROR: syntax: expected a field, found '01'", NULL);
    expect_errors("BEGIN { $x = 1.5; }",
                  "1:14-17: ERROR: Floating-point numbers are not part of the language", NULL);
    expect_errors("BEGIN { printf(\"abc); }\n$x = ; }", "1:16-24: ERROR: Unterminated string",
                  "2:6-7: ERROR: syntax: expected an expression", NULL);
    expect_errors("BEGIN { f('c'); }", "1:11-12: ERROR: Unexpected character: '''", NULL);
    expect_errors("BEGIN { else { } }", "1:9-13: ERROR: syntax: expected an expression, found 'else'", NULL);
}

static void test_several_errors(void **state)
{
    (void)state;
    expect_errors("BEGIN { @x = ; $y = 3 4; foo(); $z = 08 }\nEND { +; }",
                  "1:14-15: ERROR: syntax: expected an expression, found ';'",
                  "1:23-24: ERROR: syntax: expected ';', found '4'",
                  "1:38-40: ERROR: Invalid digit in an octal number: '08'",
                  "2:7-8: ERROR: syntax: expected an expression, found '+'", NULL);
    expect_errors("BEGIN { if (1 { $x = 1; } else { $y = ; } $z = 1 + ; }",
                  "1:15-16: ERROR: syntax: expected ')', found '{'",
                  "1:52-53: ERROR: syntax: expected an expression, found ';'", NULL);
    expect_errors("BEGIN { if (1) { $x = ; } else { $y = ; } }",
                  "1:23-24: ERROR: syntax: expected an expression",
                  "1:39-40: ERROR: syntax: expected an expression", NULL);
    expect_errors("BEGIN { f( } END { g( } k:x { }",
                  "1:12-13: ERROR: syntax: expected an expression, found '}'",
                  "1:23-24: ERROR: syntax: expected an expression, found '}'", NULL);
}

static bool count_node(struct node *node, void *state)
{
    unsigned *counts = state;
    counts[0]++;
    counts[1] += node->kind == NODE_INTEGER;
    return node->kind != NODE_CALL; /* not below calls */
}

static void test_walk_and_clone(void **state)
{
    (void)state;
    struct parsed *parsed =
        parse("BEGIN { if (1) { f(2, 3); } else { $x = @m[4, 5] ?: 6; } for ($i : 7..8) { 9 } }");
    expect_clean(parsed);
    struct node *body = parsed->script->blocks->body;
    unsigned counts[2] = {0};
    node_walk(body, count_node, counts);
    assert_int_equal(counts[1], 7); /* 2 and 3 are below the call, and the condition of ?: is seen once */
    struct node *clone = node_clone(&parsed->arena, body);
    unsigned again[2] = {0};
    node_walk(clone, count_node, again);
    assert_int_equal(again[0], counts[0]);
    /* The clone shares no node: changing it leaves the original alone. */
    struct node *variable = clone->list.first->next->loop.variable;
    assert_ptr_not_equal(variable, body->list.first->next->loop.variable);
    assert_null(node_clone(&parsed->arena, NULL));
    release(parsed);
}

static void test_clone_forgets(void **state)
{
    (void)state;
    struct parsed *parsed = parse("BEGIN { f($x, @m, arg3, args.y, (int8)1) }");
    expect_clean(parsed);
    struct node *call = parsed->script->blocks->body->list.first->unary.operand;
    struct variable variable = {0};
    struct map_symbol map = {0};
    call->type = &type_i64;
    call->call.data = &variable;
    struct node *first = call->call.arguments.first;
    first->variable.symbol = &variable;
    first->next->map.symbol = &map;
    first->next->next->name.number = 3;
    first->next->next->next->field.found.offset = 8;
    call->call.arguments.last->cast.target = &type_i8;
    struct node *clone = node_clone(&parsed->arena, call);
    assert_null(clone->type);
    assert_null(clone->call.data);
    first = clone->call.arguments.first;
    assert_null(first->variable.symbol);
    assert_null(first->next->map.symbol);
    assert_int_equal(first->next->next->name.number, 0);
    assert_int_equal(first->next->next->next->field.found.offset, 0);
    assert_null(clone->call.arguments.last->cast.target);
    assert_int_equal(clone->call.arguments.count, 5);
    release(parsed);
}

static void test_print(void **state)
{
    (void)state;
    struct parsed *parsed = parse("BEGIN, k:$1 /pid/ { $x = 1; }");
    parsed->script->blocks->predicate->type = &type_u32;
    struct text text = {0};
    script_print(&text, parsed->script);
    assert_string_equal(text_string(&text), "probe BEGIN\n"
                                            "probe k:\n"
                                            "  predicate\n"
                                            "    name pid :: uint32\n"
                                            "  block\n"
                                            "    expression\n"
                                            "      assign =\n"
                                            "        variable $x\n"
                                            "        integer 1\n");
    text_free(&text);
    release(parsed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_primaries),
        cmocka_unit_test(test_tuples),
        cmocka_unit_test(test_postfix),
        cmocka_unit_test(test_unary),
        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_ternary),
        cmocka_unit_test(test_casts),
        cmocka_unit_test(test_sizeof),
        cmocka_unit_test(test_assignments),
        cmocka_unit_test(test_control),
        cmocka_unit_test(test_kinds_of_loops),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_attach_points),
        cmocka_unit_test(test_predicates),
        cmocka_unit_test(test_attach_spans),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_missing_parameter),
        cmocka_unit_test(test_errors_around_blocks),
        cmocka_unit_test(test_errors_in_statements),
        cmocka_unit_test(test_several_errors),
        cmocka_unit_test(test_walk_and_clone),
        cmocka_unit_test(test_clone_forgets),
        cmocka_unit_test(test_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
