/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the types that the checker gives to maps, variables and nodes. What it refuses is in
 * check_mistakes_test.c. */
#include "check_testing.h"

/* ---- types ---- */

/* Returns whether everything has a type and is resolved. Lowering relies on it. */
static bool is_complete(struct node *node, void *state)
{
    const char *text = state;
    bool resolved = node->kind != NODE_PARAMETER && (node->kind != NODE_NAME || node->name.builtin) &&
                    (node->kind != NODE_CALL || node->call.builtin) &&
                    (node->kind != NODE_VARIABLE || (node->variable.symbol && node->variable.symbol->type)) &&
                    (node->kind != NODE_MAP || (node->map.symbol && node->map.symbol->value));
    if (!node->type || !resolved)
        fail_msg("%s: a node of kind %d is not complete", text, node->kind);
    return true;
}

/* Compares the value type (and key type) of @r after the script. */
static void maps_get_types(void **state)
{
    (void)state;
    static const struct {
        const char *text, *key, *value;
    } cases[] = {
        {"BEGIN { @r = 1 }", "-", "int8"},
        {"BEGIN { @r = 300 }", "-", "int16"},
        {"BEGIN { @r = 1; @r = 70000 }", "-", "int32"},
        {"BEGIN { @r = -1; @r = 200 }", "-", "int16"},
        {"BEGIN { @r = 18446744073709551615 }", "-", "uint64"},
        {"BEGIN { @r = 0; @r = nsecs }", "-", "uint64"},
        {"BEGIN { @r = nsecs; @r = 0 }", "-", "uint64"},
        {"BEGIN { @r = pid; @r = 5000000000 }", "-", "uint64"},
        {"BEGIN { @r = nsecs; @r = -1 }", "-", "int64"},
        {"BEGIN { @r = pid; @r = retval }", "-", "int64"},
        {"BEGIN { @r = pid + 1 }", "-", "uint64"},
        {"BEGIN { @r = nsecs - 1 }", "-", "int64"},
        {"BEGIN { @r = -pid }", "-", "int64"},
        {"BEGIN { @r = ~pid }", "-", "uint64"},
        {"BEGIN { @r = pid & 0xff }", "-", "uint32"},
        {"BEGIN { @r = retval / 1000 }", "-", "int64"},
        {"BEGIN { @r = nsecs / 1000 }", "-", "uint64"},
        {"BEGIN { @r = pid == 1 }", "-", "bool"},
        {"BEGIN { @r = !pid }", "-", "bool"},
        {"BEGIN { @r = pid && nsecs }", "-", "bool"},
        {"BEGIN { @r = true }", "-", "bool"},
        {"BEGIN { @r++ }", "-", "int64"},
        {"BEGIN { @r = pid; @r++ }", "-", "uint64"},
        {"BEGIN { @r = pid; @r-- }", "-", "int64"},
        {"BEGIN { @r += 5 }", "-", "int64"},
        {"BEGIN { @r += nsecs }", "-", "uint64"},
        {"BEGIN { @r = @r + 1 }", "-", "int64"},
        {"BEGIN { @r = @r + arg0 }", "-", "uint64"},
        {"BEGIN { @r = \"ab\"; @r = \"abcd\" }", "-", "string[5]"},
        {"BEGIN { @r = comm }", "-", "string[16]"},
        {"BEGIN { @r = count() }", "-", "count_t"},
        {"BEGIN { @r = hist(pid) } END { @r = hist(nsecs) }", "-", "hist_t"},
        {"BEGIN { @c = count(); @r = @c }", "-", "int64"},
        {"BEGIN { @c = sum(pid); @r = @c }", "-", "uint64"},
        {"BEGIN { @c = sum(-1); @r = @c }", "-", "int64"},
        {"BEGIN { @r[1] = count() }", "int8", "count_t"},
        {"BEGIN { @r[pid] = 1; @r[nsecs] = 2 }", "uint64", "int8"},
        {"BEGIN { @r[1] = 1; @r[nsecs] = 2 }", "uint64", "int8"},
        {"BEGIN { @r[\"a\"] = 1; @r[comm] = 2 }", "string[16]", "int8"},
        {"BEGIN { @r[1, \"a\"] = 1; @r[nsecs, comm] = 2 }", "(uint64,string[16])", "int8"},
        {"BEGIN { @r[nsecs, comm] = 2; @r[(1, \"a\")] = 1 }", "(uint64,string[16])", "int8"},
        {"BEGIN { @r = (1, (\"x\", nsecs)) }", "-", "(int8,(string[2],uint64))"},
        {"BEGIN { @r = (1, 2); @r = (nsecs, 300) }", "-", "(uint64,int16)"},
        {"BEGIN { @r = (1, 2); @s = @r; @r = (nsecs, 300) }", "-", "(uint64,int16)"},
        {"BEGIN { @s = (1, (2, nsecs)); @r = @s.1 }", "-", "(int8,uint64)"},
        {"BEGIN { $t = (1, nsecs); @r = $t; $t = (nsecs, 2) }", "-", "(uint64,uint64)"},
        {"BEGIN { @r = (1, \"x\").1 }", "-", "string[2]"},
        {"BEGIN { @r = (1, \"x\")[0 + 1] }", "-", "string[2]"},
        {"BEGIN { $x = 0; $x = nsecs; @r = $x }", "-", "uint64"},
        {"BEGIN { $x = 1; $x = $x + 1; @r = $x }", "-", "int64"},
        {"BEGIN { $x = 1; $x++; @r = $x }", "-", "int64"},
        {"BEGIN { let $x; @r = $x }", "-", "int64"},
        {"BEGIN { let $x; $x = comm; @r = $x }", "-", "string[16]"},
        {"BEGIN { let $x : uint16 = 5; @r = $x }", "-", "uint16"},
        {"BEGIN { let $x : uint8 = 5; $x += 300; @r = $x }", "-", "uint8"},
        {"BEGIN { @r = @s } END { @s = comm }", "-", "string[16]"},
        {"BEGIN { @r = @a } END { @a = @b; @b = @c; @c = @d; @d = 5 }", "-", "int8"},
        {"BEGIN { @r = pid ? 1 : nsecs }", "-", "uint64"},
        {"BEGIN { @r = pid ? \"a\" : comm }", "-", "string[16]"},
        {"BEGIN { @r = pid ?: 7 }", "-", "uint32"},
        {"BEGIN { @r = str(arg0) }", "-", "string[64]"},
        {"BEGIN { @r = str(args.comm) }", "-", "string[17]"},
        {"BEGIN { @r = curtask.pid }", "-", "int32"},
        {"BEGIN { @r = curtask->comm }", "-", "string[17]"},
        {"BEGIN { @r = curtask->comm[0] }", "-", "int8"},
        {"BEGIN { @r = curtask.mac }", "-", "uint8[6]"},
        {"BEGIN { @r = curtask.mac[5] }", "-", "uint8"},
        {"BEGIN { @r = curtask.high }", "-", "uint16"},
        {"BEGIN { @r = curtask.state }", "-", "enum state"},
        {"BEGIN { @r = curtask.parent.parent->comm }", "-", "string[17]"},
        {"BEGIN { @r = *curtask }", "-", "struct task_struct"},
        {"BEGIN { @r = curtask[2].pid }", "-", "int32"},
        {"BEGIN { @r = curtask + 1 }", "-", "struct task_struct *"},
        {"BEGIN { @r = curtask - curtask }", "-", "int64"},
        {"BEGIN { @r = args.status }", "-", "int32"},
        {"BEGIN { @r = args.filename }", "-", "int8 *"},
        {"BEGIN { @r = str(args.filename) }", "-", "string[64]"},
        {"BEGIN { @r = args.task.pid }", "-", "int32"},
        {"BEGIN { @r = BUSY }", "-", "enum state"},
        {"BEGIN { @r = BUSY + 1 }", "-", "int8"},
        {"BEGIN { @r = (enum state)pid }", "-", "enum state"},
        {"BEGIN { @r = (struct task_struct *)arg0; @s = ((struct task_struct *)arg0)->pid }", "-",
         "struct task_struct *"},
        {"BEGIN { @r = (uint8)nsecs }", "-", "uint8"},
        {"BEGIN { @r = (a=1, b=\"x\") }", "-", "(a=int8,b=string[2])"},
        {"BEGIN { @r = (a=1, b=\"x\"); @r = (b=comm, a=nsecs) }", "-", "(a=uint64,b=string[16])"},
        {"BEGIN { @r = (a=1, b=(c=nsecs)).b.c }", "-", "uint64"},
        {"BEGIN { @r[(k=1, l=2)] = 1; @r[(l=nsecs, k=2)] = 1 }", "(k=int8,l=uint64)", "int8"},
        {"BEGIN { let $x : int32*[4]*; @r = *$x }", "-", "int32 *[4]"},
        {"BEGIN { let $x : int32[2][3]; @r = $x[0] }", "-", "int32[2]"},
        {"BEGIN { let $x : string[9]; @r = $x }", "-", "string[9]"},
        {"BEGIN { let $x : buffer[9]; @r = $x }", "-", "buffer[9]"},
        {"BEGIN { let $x : typeof(curtask.pid); @r = $x }", "-", "int32"},
        {"BEGIN { let $x : typeof(@s); @s = 1; @r = $x; @s = nsecs }", "-", "uint64"},
        {"BEGIN { @r = (typeof(struct task_struct) *)arg0 }", "-", "struct task_struct *"},
        {"BEGIN { @r = offsetof(struct task_struct, parent) }", "-", "int8"},
        {"BEGIN { @r = offsetof(*curtask, low) + sizeof(typeof(curtask->comm)) }", "-", "uint64"},
        {"BEGIN { @r = container_of(&curtask.mac, struct task_struct, mac) }", "-", "struct task_struct *"},
        {"BEGIN { $x = pid; @r = &$x }", "-", "uint32 *"},
        {"BEGIN { @r = &curtask.mac[2] }", "-", "uint8 *"},
        {"BEGIN { @r = &curtask.comm }", "-", "int8[16] *"},
        {"BEGIN { @r = &curtask.mac }", "-", "uint8[6] *"},
        {"BEGIN { @s[1] = comm; @r = *&@s[1] }", "-", "string[16]"},
        {"BEGIN { @r = typeinfo(pid).full_type }", "-", "string[7]"},
        {"BEGIN { if comptime (sizeof(pid) == 4) { @r = nsecs } else { @r = comm } }", "-", "uint64"},
        {"BEGIN { if comptime (typeinfo(@s).base_type == \"string\") { @r = 1 } else { @r = comm } @s = "
         "\"x\" }",
         "-", "int8"},
        {"BEGIN { @r = comptime (1 == 2) ? comm.x : nsecs }", "-", "uint64"},
        {"BEGIN { @r = (probe == \"x\") }", "-", "bool"},
        {"BEGIN { $c = *curtask; @r = ($c == *curtask) }", "-", "bool"},
        {"BEGIN { @r = (pid_t)nsecs }", "-", "int32"},
        {"BEGIN { @r = (uint64)curtask }", "-", "uint64"},
        {"BEGIN { @r = (uint8[8])12345 }", "-", "uint8[8]"},
        {"BEGIN { @r = (uint64)(uint8[8])arg0 }", "-", "uint64"},
        {"BEGIN { @r = *(uint32 *)arg0 }", "-", "uint32"},
        {"BEGIN { @r = sizeof(struct task_struct) }", "-", "int8"},
        {"BEGIN { $x = 1; $x = nsecs; @r[sizeof($x)] = sizeof(comm) }", "uint64", "uint64"},
        {"BEGIN { for ($i : 0..10) { @r = $i } }", "-", "int64"},
        {"BEGIN { @m[pid, comm] = count(); for ($kv : @m) { @r[$kv.0.1] = $kv.1 } }", "string[16]", "int64"},
        {"BEGIN { @r[pid] = 1 } END { if (has_key(@r, nsecs)) { } }", "uint64", "int8"},
        {"BEGIN { @r[probe] = count() }", "string", "count_t"},
        /* Pointers of two different address spaces become a number. */
        {"BEGIN { @r = curtask; @r = arg2 }", "-", "uint64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct checked c;
        check_script(&c, cases[i].text, false);
        if (!c.is_right)
            fail_msg("%s", report(&c));
        const struct map_symbol *map = table_find(&c.checker.map_table, "@r");
        assert_non_null(map);
        if (strcmp(text_of(&c, map->key), cases[i].key) != 0 ||
            strcmp(text_of(&c, map->value), cases[i].value) != 0)
            fail_msg("%s: [%s] %s", cases[i].text, text_of(&c, map->key), text_of(&c, map->value));
        assert_true(map->is_written);
        node_walk(c.units[0].body, is_complete, (void *)cases[i].text);
        release(&c);
    }
}

static void pointers_keep_their_space(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum address_space space;
    } cases[] = {
        {"BEGIN { @r = curtask }", SPACE_KERNEL},
        {"BEGIN { @r = curtask.parent }", SPACE_KERNEL},
        {"BEGIN { @r = curtask.parent.parent }", SPACE_KERNEL},
        {"BEGIN { @r = (*curtask).parent }", SPACE_KERNEL},
        {"BEGIN { @r = curtask[1].parent }", SPACE_KERNEL},
        {"BEGIN { @r = curtask.user }", SPACE_USER},
        {"BEGIN { @r = curtask.user.parent }", SPACE_USER},
        {"BEGIN { @r = args.task }", SPACE_USER},
        {"BEGIN { @r = arg3 }", SPACE_USER},
        {"BEGIN { @r = args.filename }", SPACE_KERNEL},
        {"BEGIN { @r = (struct task_struct *)arg0 }", SPACE_USER},
        {"BEGIN { @r = (int8 *)curtask }", SPACE_KERNEL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct checked c;
        check_script(&c, cases[i].text, false);
        if (!c.is_right)
            fail_msg("%s", report(&c));
        const struct map_symbol *map = table_find(&c.checker.map_table, "@r");
        if (map->value->kind != TYPE_POINTER || map->value->space != cases[i].space)
            fail_msg("%s: space %d", cases[i].text, map->value->space);
        release(&c);
    }
}

/* ---- resolutions ---- */

static struct node *statement(struct checked *c, unsigned number)
{
    struct node *node = c->script->blocks->body->list.first;
    while (number--)
        node = node->next;
    return node;
}

static void names_are_resolved(void **state)
{
    (void)state;
    struct checked c;
    check_script(&c, "BEGIN { _ = arg1; _ = BUSY; printf(\"%d %s\", pid, comm) }", false);
    assert_true(c.is_right);
    struct node *argument = statement(&c, 0)->unary.operand;
    assert_int_equal(argument->kind, NODE_NAME);
    assert_string_equal(argument->name.builtin->name, "arg");
    assert_int_equal(argument->name.number, 1);
    assert_ptr_equal(argument->type, &type_i64);
    struct node *busy = statement(&c, 1)->unary.operand;
    assert_int_equal(busy->kind, NODE_INTEGER);
    assert_int_equal(busy->integer.value, 7);
    assert_ptr_equal(busy->type, &type_state);
    struct node *call = statement(&c, 2)->unary.operand;
    assert_string_equal(call->call.builtin->name, "printf");
    assert_ptr_equal(check_argument(call, 1)->type, &type_u32);
    assert_null(check_argument(call, 3));
    assert_string_equal(check_literal(check_argument(call, 0)), "%d %s");
    assert_ptr_equal(statement(&c, 2)->type, &type_none);
    release(&c);
}

static void fields_are_found(void **state)
{
    (void)state;
    struct checked c;
    check_script(&c,
                 "BEGIN { _ = curtask.high; _ = curtask.flag; _ = curtask.comm; _ = address(curtask.comm) }",
                 false);
    assert_true(c.is_right);
    assert_int_equal(statement(&c, 0)->unary.operand->field.found.offset, 48 + inner_fields[1].offset);
    assert_int_equal(statement(&c, 1)->unary.operand->field.found.bit_size, 2);
    assert_int_equal(statement(&c, 2)->unary.operand->type->kind, TYPE_STRING);
    assert_int_equal(statement(&c, 2)->unary.operand->field.found.type->kind, TYPE_ARRAY);
    /* As the operand of & it stays an array. */
    assert_int_equal(check_argument(statement(&c, 3)->unary.operand, 0)->type->kind, TYPE_ARRAY);
    release(&c);
}

static void literals_take_the_other_sign(void **state)
{
    (void)state;
    struct checked c;
    check_script(
        &c, "BEGIN { _ = nsecs > 5; _ = retval > 5; _ = pid + -1; _ = nsecs >> 3; _ = (nsecs, 1) == (5, 1) }",
        false);
    assert_true(c.is_right);
    assert_false(check_is_signed(statement(&c, 0)->unary.operand));
    assert_true(check_is_signed(statement(&c, 1)->unary.operand));
    assert_true(check_is_signed(statement(&c, 2)->unary.operand));
    assert_false(check_is_signed(statement(&c, 3)->unary.operand));
    const struct node *tuples = statement(&c, 4)->unary.operand;
    assert_int_equal(tuples->binary.right->type->fields[0].type->is_signed, false);
    release(&c);
}

static void whole_maps_are_told_apart(void **state)
{
    (void)state;
    struct checked c;
    check_script(&c,
                 "BEGIN { print(@k); print(@s); print(@k[1]); print(@h[1]); clear(@s); }"
                 "END { @k[1] = count(); @s = 5; @h[1] = hist(5) }",
                 false);
    if (!c.is_right)
        fail_msg("%s", report(&c));
    struct node *keyed = check_argument(statement(&c, 0)->unary.operand, 0);
    assert_true(check_is_whole_map(keyed));
    assert_ptr_equal(keyed->type, &type_none);
    struct node *scalar = check_argument(statement(&c, 1)->unary.operand, 0);
    assert_false(check_is_whole_map(scalar));
    assert_ptr_equal(scalar->type, &type_i8);
    struct node *element = check_argument(statement(&c, 2)->unary.operand, 0);
    assert_false(check_is_whole_map(element));
    assert_ptr_equal(element->type, &type_i64);
    assert_int_equal(check_argument(statement(&c, 3)->unary.operand, 0)->type->kind, TYPE_AGGREGATION);
    release(&c);
}

static void captures_are_marked(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool captured; /* whether the block reads the outer $x */
    } cases[] = {
        {"BEGIN { $x = 1; @r = $x }", false},
        {"BEGIN { $x = 1; if (pid) { $x = 2 } }", false},
        {"BEGIN { $x = 1; unroll(3) { $x++ } }", false},
        {"BEGIN { $x = 1; while (pid) { $x++ } }", true},
        {"BEGIN { $x = 1; while ($x < 5) { } }", true},
        {"BEGIN { $x = 1; for ($i : 0..$x) { } }", false},
        {"BEGIN { $x = 1; for ($i : 0..5) { @r = $x } }", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct checked c;
        check_script(&c, cases[i].text, false);
        if (!c.is_right)
            fail_msg("%s", report(&c));
        struct node *assign = statement(&c, 0)->unary.operand;
        if (assign->assign.target->variable.symbol->captured != cases[i].captured)
            fail_msg("%s", cases[i].text);
        release(&c);
    }
    struct checked c;
    check_script(&c, "BEGIN { for ($i : 0..5) { $x = 1; @r = $x + $i } }", false);
    struct node *loop = statement(&c, 0);
    assert_false(loop->loop.variable->variable.symbol->captured);
    assert_false(loop->loop.body->list.first->unary.operand->assign.target->variable.symbol->captured);
    release(&c);
    check_script(&c, "BEGIN { for ($i : 0..5) { for ($j : 0..5) { @r = $i } } }", false);
    assert_true(statement(&c, 0)->loop.variable->variable.symbol->captured);
    release(&c);
}

static void unsafe_is_allowed_when_asked(void **state)
{
    (void)state;
    struct checked c;
    check_script(&c, "BEGIN { system(\"ls %d\", pid) }", true);
    assert_true(c.is_right);
    release(&c);
}

static void uses_are_found(void **state)
{
    (void)state;
    struct checked c;
    check_script(&c, "usdt:x:y /arg1 > 2/ { @ = args.status + args.status; @[args.comm] = 1; _ = arg40; }",
                 false);
    struct context_uses uses = check_uses(&c.arena, &builtins, c.script->blocks);
    assert_int_equal(uses.arguments, 1u << 1 | 1u << 31);
    assert_true(uses.args);
    assert_false(uses.all_fields);
    assert_string_equal(uses.fields[0], "status");
    assert_string_equal(uses.fields[1], "comm");
    assert_null(uses.fields[2]);
    assert_false(uses.retval || uses.ctx || uses.site || uses.registers || uses.user_memory);
    release(&c);
    check_script(&c, "BEGIN { print(args); @[probe, str(arg0), retval, ctx] = reg(\"sp\"); }", false);
    uses = check_uses(&c.arena, &builtins, c.script->blocks);
    assert_true(uses.args && uses.all_fields && uses.retval && uses.ctx && uses.site && uses.registers);
    assert_true(uses.user_memory);
    assert_int_equal(uses.arguments, 1);
    release(&c);
    check_script(&c, "BEGIN { @ = args.task->pid }", false);
    uses = check_uses(&c.arena, &builtins, c.script->blocks);
    assert_true(uses.user_memory && !uses.all_fields);
    release(&c);
}

static void builtins_are_found(void **state)
{
    (void)state;
    uint32_t number = 0;
    assert_string_equal(builtin_find(&builtins, "arg12", &number)->name, "arg");
    assert_int_equal(number, 12);
    assert_string_equal(builtin_find(&builtins, "args", &number)->name, "args");
    static const char *const unknown[] = {"arg", "arg01", "arg1x", "arg99999999999", "", "pidd", "arg-1"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_null(builtin_find(&builtins, unknown[i], &number));
}

/* ---- hostile scripts ---- */

/* Types that double with each line must end in a message, and quickly. */
static void doubling_tuples_end(void **state)
{
    (void)state;
    static const char *const seeds[] = {"1", "()", "\"x\""};
    for (unsigned s = 0; s < 3; s++) {
        struct text text = {0};
        text_printf(&text, "BEGIN { $a0 = (%s, %s); ", seeds[s], seeds[s]);
        for (int i = 1; i < 60; i++)
            text_printf(&text, "$a%d = ($a%d, $a%d); ", i, i - 1, i - 1);
        text_add(&text, "}");
        struct checked c;
        check_script(&c, text_string(&text), false);
        assert_false(c.is_right);
        assert_non_null(strstr(report(&c), "This tuple is too large"));
        release(&c);
        text_free(&text);
    }
}

static void long_chains_end(void **state)
{
    (void)state;
    struct text text = {0};
    text_add(&text, "BEGIN { ");
    for (int i = 0; i < 400; i++)
        text_printf(&text, "@m%d = @m%d; ", i, i + 1);
    text_add(&text, "@m400 = 1 }");
    struct checked c;
    check_script(&c, text_string(&text), false);
    assert_false(c.is_right);
    assert_int_equal(c.diagnostics.errors, 1);
    release(&c);
    /* With its statements in order of dependence, the script is checked quickly and without errors. */
    text_clear(&text);
    text_add(&text, "BEGIN { @m0 = 1; ");
    for (int i = 0; i < 4000; i++)
        text_printf(&text, "@m%d = @m%d; ", i + 1, i);
    text_add(&text, "}");
    check_script(&c, text_string(&text), false);
    assert_true(c.is_right);
    release(&c);
    text_free(&text);
}

static void deep_expressions_end(void **state)
{
    (void)state;
    struct text text = {0};
    text_add(&text, "BEGIN { @ = pid");
    for (int i = 0; i < 900; i++)
        text_add(&text, " + pid");
    text_add(&text, "; @n = ");
    for (int i = 0; i < 90; i++)
        text_add(&text, "!(");
    text_add(&text, "pid");
    for (int i = 0; i < 90; i++)
        text_add(&text, ")");
    text_add(&text, "; @t = pid ");
    for (int i = 0; i < 100; i++)
        text_add(&text, "?: pid ");
    text_add(&text, "}");
    struct checked c;
    check_script(&c, text_string(&text), false);
    if (!c.is_right)
        fail_msg("%s", report(&c));
    release(&c);
    text_free(&text);
}

/* The types of maps that depend on each other must reach a fixed point. */
static void cycles_settle(void **state)
{
    (void)state;
    static const char *const right[] = {
        "BEGIN { @a = @b; @b = @a; @a = 1; @b = nsecs }",
        "BEGIN { @a[@b] = 1; @b = @a[2] }",
        "BEGIN { $x = 0; while ($x < 10) { $y = $x; $x = $y + 1 } }",
        "BEGIN { @p = curtask; @p = arg2; @q = @p; @p = @q }",
        "BEGIN { @k[curtask] = 1; @k[arg2] = 1; for ($kv : @k) { @j[$kv.0] = $kv.1 } }",
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        struct checked c;
        check_script(&c, right[i], false);
        if (!c.is_right)
            fail_msg("%s: %s", right[i], report(&c));
        release(&c);
    }
    static const char *const wrong[] = {
        "BEGIN { @a = (1, @b); @b = @a.1 + @a.0 }",
        "BEGIN { @a = (1, @a) }",
        "BEGIN { @a = 1; @a = (@a, 1) }",
        "BEGIN { $x = \"a\"; $x = ($x, $x) }",
        "BEGIN { @a[@a] = @a }",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct checked c;
        check_script(&c, wrong[i], false);
        if (c.is_right)
            fail_msg("%s", wrong[i]);
        release(&c);
    }
}

/* One script that uses most features, as a first session would. */
static void a_whole_script(void **state)
{
    (void)state;
    static const char text[] =
        "BEGIN { printf(\"start %d\\n\", pid); }\n"
        "uprobe:/bin/x:f { @start[pid] = nsecs; @who[comm, arg4] = count(); }\n"
        "uretprobe:/bin/x:f /@start[pid]/ {\n"
        "    $took = nsecs - @start[pid];\n"
        "    @ns = hist($took); @max = max($took); @all[retval < 0 ? \"bad\" : \"good\"] = sum($took / "
        "1000);\n"
        "    delete(@start, pid);\n"
        "    if (@max > 1000000 && $took != 0) { printf(\"%s %d %d\\n\", str(arg2), $took, @max); }\n"
        "}\n"
        "usdt:./blockd:request_done /args.status/ { @[args.status, str(args.filename)] = lhist(arg0, 0, 100, "
        "10); }\n"
        "interval:s:1 { print(@ns); clear(@who); exit(); }\n";
    struct checked c;
    check_script(&c, text, false);
    if (!c.is_right || c.diagnostics.count)
        fail_msg("%s", report(&c));
    assert_int_equal(c.checker.map_count, 6);
    assert_string_equal(c.checker.maps[0]->name, "@start");
    assert_string_equal(text_of(&c, c.checker.maps[0]->value), "uint64");
    assert_string_equal(text_of(&c, c.checker.maps[1]->key), "(string[16],int32)");
    release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_get_types),
        cmocka_unit_test(pointers_keep_their_space),
        cmocka_unit_test(names_are_resolved),
        cmocka_unit_test(fields_are_found),
        cmocka_unit_test(literals_take_the_other_sign),
        cmocka_unit_test(whole_maps_are_told_apart),
        cmocka_unit_test(captures_are_marked),
        cmocka_unit_test(unsafe_is_allowed_when_asked),
        cmocka_unit_test(uses_are_found),
        cmocka_unit_test(builtins_are_found),
        cmocka_unit_test(doubling_tuples_end),
        cmocka_unit_test(long_chains_end),
        cmocka_unit_test(deep_expressions_end),
        cmocka_unit_test(cycles_settle),
        cmocka_unit_test(a_whole_script),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
