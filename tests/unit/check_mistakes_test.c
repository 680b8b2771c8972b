/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the checker's errors, warnings and hints, with their wording, where they need a probe or types that only
 * this test has. Those that a script alone can show are in tests/cases/error/mistakes-with-*.case. */
#include "check_testing.h"

/* ---- refusals ---- */

static void mistakes_are_reported(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message, *hint;
    } cases[] = {
        {"BEGIN { @ = BUZY }", "Unknown identifier: 'BUZY'", NULL},
        {"BEGIN { comm(); }", "Unknown function: 'comm'", "comm is written without parentheses"},
        {"BEGIN { @ = curtask & 1 }", "The & operator can not be used on", "cast the pointer"},
        {"BEGIN { @ = curtask * 2 }", "The * operator can not be used on", NULL},
        {"BEGIN { @ = curtask + curtask }", "The + operator can not be used on", NULL},
        {"BEGIN { @ = curtask.pidd }", "'struct task_struct' does not contain a field named 'pidd'",
         "did you mean 'pid'?"},
        {"BEGIN { @ = curtask.hihg }", "does not contain a field named 'hihg'", NULL},
        {"BEGIN { @ = args.statu }", "'args' does not contain a field named 'statu'",
         "did you mean 'status'?"},
        {"BEGIN { @ = args.zzzzzz }", "'args' does not contain a field named 'zzzzzz'",
         "it has: status, filename, task, comm"},
        {"BEGIN { @ = curtask.mac[6] }", "the index 6 is out of bounds for array of size 6", NULL},
        {"BEGIN { @ = curtask.mac[-1] }", "the index -1 is out of bounds for array of size 6", NULL},
        {"BEGIN { @ = curtask.mac[comm] }", "only accepts integer indices", NULL},
        {"BEGIN { @ = *arg3 }", "Can not dereference a pointer of type 'void *'", "cast it first"},
        {"BEGIN { @ = &curtask.flag }", "Can not take the address of a bit-field", NULL},
        {"BEGIN { @ = &args.status }", "Can not take the address of an argument", NULL},
        {"BEGIN { @ = offsetof(struct task_struct, pud) }", "does not contain a field named 'pud'", "'pid'"},
        {"BEGIN { @ = offsetof(struct task_struct, pid.x) }", "'int32' is not a struct", NULL},
        {"BEGIN { @ = offsetof(struct task_struct, mac[6]) }", "the index 6 is out of bounds", NULL},
        {"BEGIN { @ = offsetof(struct task_struct, flag) }", "does not begin at a byte", NULL},
        {"BEGIN { @ = (struct task_struct)arg0 }", "Cannot cast from \"uint64\" to \"struct task_struct\"",
         "(struct task_struct *)"},
        {"BEGIN { @ = (struct nothing *)arg0 }", "Cannot resolve unknown type \"struct nothing\"", NULL},
        {"BEGIN { @ = arg9 }", "usdt:x:y has only 5 arguments", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct checked c;
        check_script(&c, cases[i].text, false);
        if (c.is_right || c.diagnostics.errors != 1)
            fail_msg("%s: %zu errors\n%s", cases[i].text, c.diagnostics.errors, report(&c));
        const struct diagnostic *first = c.diagnostics.items;
        while (first->severity != DIAGNOSTIC_ERROR)
            first++;
        if (!strstr(first->message, cases[i].message))
            fail_msg("%s: %s", cases[i].text, first->message);
        if (cases[i].hint && (!first->hint || !strstr(first->hint, cases[i].hint)))
            fail_msg("%s: hint %s", cases[i].text, first->hint ? first->hint : "-");
        assert_ptr_equal(first->span.source, &c.source);
        release(&c);
    }
}

static void several_mistakes_are_reported(void **state)
{
    (void)state;
    struct checked c;
    check_script(&c, "BEGIN { @a = foo(); $x = $y; @b = @c } END { bar(zip) }", false);
    assert_false(c.is_right);
    assert_int_equal(c.diagnostics.errors, 4);
    release(&c);
}

static void copies_report_once(void **state)
{
    (void)state;
    struct checked c;
    check_script(&c, "BEGIN { }", false);
    release(&c);
    /* Two variants of one block are copies with the same positions: their messages appear once. */
    c = (struct checked){0};
    if (arena_guard(&c.arena, c.nowhere))
        abort();
    const char *text = "BEGIN { foo(); @x = nsec }";
    c.source = (struct source){"test", text, strlen(text)};
    c.diagnostics.arena = &c.arena;
    struct script *script = script_parse(&c.arena, &c.diagnostics, &c.source, NULL);
    c.checker = (struct checker){.arena = &c.arena, .diagnostics = &c.diagnostics, .builtins = &builtins};
    struct check_unit units[2] = {
        {.body = script->blocks->body, .context = &context, .probe = "a"},
        {.body = node_clone(&c.arena, script->blocks->body), .context = &context, .probe = "b"},
    };
    assert_false(check_units(&c.checker, units, 2));
    assert_int_equal(c.diagnostics.count, 2);
    assert_null(c.diagnostics.items[0].hint);
    assert_string_equal(c.diagnostics.items[1].hint, "did you mean 'nsecs'?");
    release(&c);
}

/* ---- warnings ---- */

static void warnings(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message; /* NULL: no warning */
    } cases[] = {
        {"BEGIN { @x = nsecs * retval }", "arithmetic of integers of different signs"},
        {"BEGIN { @x = nsecs - retval }", NULL},
        {"BEGIN { @x = nsecs > retval }", "comparison of integers of different signs"},
        {"BEGIN { @x = pid * retval }", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct checked c;
        check_script(&c, cases[i].text, false);
        if (!c.is_right || c.diagnostics.count != (cases[i].message ? 1u : 0u))
            fail_msg("%s: %s", cases[i].text, report(&c));
        if (cases[i].message && !strstr(c.diagnostics.items[0].message, cases[i].message))
            fail_msg("%s: %s", cases[i].text, report(&c));
        release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_reported),
        cmocka_unit_test(several_mistakes_are_reported),
        cmocka_unit_test(copies_report_once),
        cmocka_unit_test(warnings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
