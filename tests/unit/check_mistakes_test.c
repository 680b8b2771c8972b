/* SPDX-License-Identifier: BSD-3-Clause */
/* What the checker refuses and warns of, with which words and hints. */
#include "check_testing.h"

/* ---- refusals ---- */

static void mistakes_are_reported(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message, *hint;
    } cases[] = {
        {"BEGIN { foo(); }", "Unknown function: 'foo'", NULL},
        {"BEGIN { prinf(\"x\"); }", "Unknown function: 'prinf'", "did you mean 'printf()'?"},
        {"BEGIN { @ = nsec }", "Unknown identifier: 'nsec'", "did you mean 'nsecs'?"},
        {"BEGIN { @ = BUZY }", "Unknown identifier: 'BUZY'", NULL},
        {"BEGIN { @ = count }", "Unknown identifier: 'count'", "count is a function"},
        {"BEGIN { comm(); }", "Unknown function: 'comm'", "comm is written without parentheses"},
        {"BEGIN { @ = $x }", "Undefined or undeclared variable: $x", "let $x;"},
        {"BEGIN { $abc = 1; @ = $abd }", "Undefined or undeclared variable: $abd", "did you mean '$abc'?"},
        {"BEGIN { if (pid) { $x = 1 } @ = $x }", "Undefined or undeclared variable: $x", NULL},
        {"BEGIN { let $x = $x }", "Undefined or undeclared variable: $x", NULL},
        {"BEGIN { $x = 1; let $x = 2 }",
         "Variable $x was already declared. Variable shadowing is not allowed.", "test:1:9"},
        {"BEGIN { $i = 1; for ($i : 0..3) { } }", "Variable $i was already declared.", NULL},
        {"BEGIN { $a = 1; $a = \"x\" }",
         "Type mismatch for $a: trying to assign value of type 'string[2]' when variable already has a type "
         "'int8'",
         "$a got its type at test:1:9"},
        {"BEGIN { $a = \"x\"; $a = 1 }",
         "Type mismatch for $a: trying to assign value of type 'int8' when variable already has a type "
         "'string[2]'",
         NULL},
        {"BEGIN { let $a : int8 = 300 }", "Type mismatch for $a", NULL},
        {"BEGIN { let $a : uint8 = -1 }", "Type mismatch for $a", NULL},
        {"BEGIN { let $a : uint8 = nsecs }", "Type mismatch for $a", NULL},
        {"BEGIN { let $a : nothing = 1 }", "Cannot resolve unknown type \"nothing\"", NULL},
        {"BEGIN { let $a : uint33 = 1 }", "Cannot resolve unknown type \"uint33\"", "did you mean 'uint32'?"},
        {"BEGIN { @x = 1 } END { @x = \"a\" }",
         "Type mismatch for @x: trying to assign value of type 'string[2]' when map already has a type "
         "'int8'",
         "@x got its type at test:1:9"},
        {"BEGIN { @x = count(); @x = sum(1) }",
         "Type mismatch for @x: trying to assign value of type 'sum_t' when map already has a type 'count_t'",
         NULL},
        {"BEGIN { @x = count(); @x = 5 }",
         "Type mismatch for @x: trying to assign value of type 'int8' when map already has a type 'count_t'",
         NULL},
        {"BEGIN { @x = 5; @x = count() }",
         "Type mismatch for @x: trying to assign value of type 'count_t' when map already has a type 'int8'",
         NULL},
        {"BEGIN { @x = count(); @x++ }", "The ++ operator can not be used on @x of type 'count_t'", NULL},
        {"BEGIN { @x = count(); @x += 1 }", "Type mismatch for @x", NULL},
        {"BEGIN { @x = hist(1); @x = hist(1, 2) }", "Different number of bits in a single hist unsupported",
         NULL},
        {"BEGIN { @x = lhist(1, 0, 10, 1); @x = lhist(1, 0, 20, 1) }",
         "Different lhist bounds in a single map unsupported", NULL},
        {"BEGIN { @x[1] = 1; @x = 2 }",
         "@x used as a map without an explicit key (scalar map), previously used with an explicit key "
         "(non-scalar map)",
         "at test:1:9"},
        {"BEGIN { @x = 1; @x[1] = 2 }",
         "@x used as a map with an explicit key (non-scalar map), previously used without an explicit key "
         "(scalar map)",
         NULL},
        {"BEGIN { @x[1] = 1; $y = @x }", "@x used as a map without an explicit key", NULL},
        {"BEGIN { @x[1] = 1; printf(\"%d\", @x) }", "@x used as a map without an explicit key", NULL},
        {"BEGIN { @x[1] = 1; @x[\"a\"] = 1 }",
         "Argument mismatch for @x: trying to access with arguments: 'string[2]' when map expects arguments: "
         "'int8'",
         NULL},
        {"BEGIN { @x[1, 2] = 1; @x[1] = 1 }", "Argument mismatch for @x", NULL},
        {"BEGIN { @x[()] = 1 }", "cannot be a map key", NULL},
        {"BEGIN { @x = () }", "cannot be stored in a map", NULL},
        {"BEGIN { @y = @x }", "Undefined map: @x", "nothing is ever assigned to @x"},
        {"BEGIN { @count = 1; print(@coun) }", "Undefined map: @coun", "did you mean '@count'?"},
        {"BEGIN { clear(@x) }", "Undefined map: @x", NULL},
        {"BEGIN { @a = @b; @b = @a }", "The type of this value cannot be found out", NULL},
        {"BEGIN { @a %= comm }", "The type of this value cannot be found out", NULL},
        {"BEGIN { @x = hist(1); $y = @x }", "The value of @x ('hist_t') cannot be read", "print(@x)"},
        {"BEGIN { @x = stats(1); $y = @x + 1 }", "The value of @x ('stats_t') cannot be read", NULL},
        {"BEGIN { @x[1] = hist(1); for ($kv : @x) { } }",
         "Loops over maps of type 'hist_t' are not supported", NULL},
        {"BEGIN { @x = 1; for ($kv : @x) { } }", "@x has no keys to loop over", NULL},
        {"BEGIN { $x = count() }", "count() must be assigned directly to a map", "@x = count()"},
        {"BEGIN { @x = count() + 1 }", "count() must be assigned directly to a map", NULL},
        {"BEGIN { $x = clear(@x); @x = 1 }", "clear() has no value", NULL},
        {"BEGIN { break }", "break must be inside a loop", NULL},
        {"BEGIN { unroll(3) { continue } }", "continue must be inside a loop", NULL},
        {"BEGIN { while (pid) { exit(); } }", "exit() is not allowed inside loops", "break or return"},
        {"BEGIN { unroll(0) { } }", "unroll minimum value is 1", NULL},
        {"BEGIN { unroll(101) { } }", "unroll maximum value is 100", NULL},
        {"BEGIN { unroll(pid) { } }", "unroll needs a constant", NULL},
        {"BEGIN { system(\"ls\") }", "system() is an unsafe function being used in safe mode", "--unsafe"},
        {"BEGIN { @ = str() }", "str() requires 1 or 2 arguments, found 0", "str(pointer [, length])"},
        {"BEGIN { clear() }", "clear() requires 1 argument, found 0", NULL},
        {"BEGIN { print(1, 2, 3, 4) }", "print() requires 1 to 3 arguments, found 4", NULL},
        {"BEGIN { printf() }", "printf() requires at least 1 argument, found 0", NULL},
        {"BEGIN { @ = count(1) }", "count() requires no arguments, found 1", NULL},
        {"BEGIN { printf(pid) }",
         "printf() expects a string literal as its first argument ('uint32' provided)", NULL},
        {"BEGIN { @ = str((1, 2)) }", "str() expects a pointer, an integer or a string as its first argument",
         NULL},
        {"BEGIN { @ = strncmp(comm, 1, 2) }",
         "strncmp() expects a string as its second argument ('int8' provided)", NULL},
        {"BEGIN { @ = strncmp(comm, comm, pid) }",
         "strncmp() expects an integer constant as its third argument", NULL},
        {"BEGIN { @ = hist(comm) }",
         "hist() expects an integer as its first argument ('string[16]' provided)", NULL},
        {"BEGIN { clear(1) }", "clear() expects a map as its first argument", NULL},
        {"BEGIN { @x[1] = 1; clear(@x[1]) }", "A whole map is expected here", "write @x"},
        {"BEGIN { if (comm) { } }", "Invalid condition in if(): 'string[16]'", NULL},
        {"BEGIN { while ((1, 2)) { } }", "Invalid condition in while(): '(int8,int8)'", NULL},
        {"BEGIN /comm/ { }", "Invalid type for predicate: 'string[16]'", "compare it"},
        {"BEGIN { @ = !comm }", "The ! operator can not be used on expressions of type 'string[16]'", NULL},
        {"BEGIN { @ = comm && pid }",
         "The && operator can not be used on expressions of types 'string[16]', 'uint32'", NULL},
        {"BEGIN { @ = comm + \"a\" }",
         "The + operator can not be used on expressions of types 'string[16]', 'string[2]'", NULL},
        {"BEGIN { @ = comm == 1 }", "Type mismatch for '==': comparing 'string[16]' with 'int8'", NULL},
        {"BEGIN { @ = comm < \"a\" }", "The < operator can not be used on", NULL},
        {"BEGIN { @ = (1, 2) == (1, \"a\") }", "Type mismatch for '=='", NULL},
        {"BEGIN { @ = probe == comm }", "Type mismatch for '=='", "names of probes"},
        {"BEGIN { @ = probe < \"x\" }", "Type mismatch for '<'", NULL},
        {"BEGIN { @ = curtask & 1 }", "The & operator can not be used on", "cast the pointer"},
        {"BEGIN { @ = curtask * 2 }", "The * operator can not be used on", NULL},
        {"BEGIN { @ = curtask + curtask }", "The + operator can not be used on", NULL},
        {"BEGIN { @ = pid / 0 }", "Division by zero", NULL},
        {"BEGIN { @ = 1 % 0 }", "Division by zero", NULL},
        {"BEGIN { @x = 1; @x /= 0 }", "Division by zero", NULL},
        {"BEGIN { @ = pid / (uint8)256 }", "Division by zero", NULL},
        {"BEGIN { @ = pid ? 1 : \"a\" }",
         "Ternary operator must return the same type: have 'int8' and 'string[2]'", NULL},
        {"BEGIN { @ = curtask.pidd }", "'struct task_struct' does not contain a field named 'pidd'",
         "did you mean 'pid'?"},
        {"BEGIN { @ = curtask.hihg }", "does not contain a field named 'hihg'", NULL},
        {"BEGIN { @ = args.statu }", "'args' does not contain a field named 'statu'",
         "did you mean 'status'?"},
        {"BEGIN { @ = args.zzzzzz }", "'args' does not contain a field named 'zzzzzz'",
         "it has: status, filename, task, comm"},
        {"BEGIN { @ = pid.x }", "Can not access field 'x' on expression of type 'uint32'", "cast it"},
        {"BEGIN { @ = (1, 2).2 }", "Invalid tuple index: 2. Found 2 elements in tuple.", NULL},
        {"BEGIN { @ = (1, 2)[pid] }", "The index of a tuple must be a constant", NULL},
        {"BEGIN { @ = pid.0 }", "it is not a tuple", NULL},
        {"BEGIN { @ = curtask.mac[6] }", "the index 6 is out of bounds for array of size 6", NULL},
        {"BEGIN { @ = curtask.mac[-1] }", "the index -1 is out of bounds for array of size 6", NULL},
        {"BEGIN { @ = curtask.mac[comm] }", "only accepts integer indices", NULL},
        {"BEGIN { @ = pid[0] }", "The array index operator [] can only be used on", NULL},
        {"BEGIN { @ = *arg3 }", "Can not dereference a pointer of type 'void *'", "cast it first"},
        {"BEGIN { @ = *comm }", "Can not dereference type 'string[16]'", NULL},
        {"BEGIN { @ = &1 }", "Can not take the address of a value", "&$x"},
        {"BEGIN { @ = &curtask.flag }", "Can not take the address of a bit-field", NULL},
        {"BEGIN { @ = &args.status }", "Can not take the address of an argument", NULL},
        {"BEGIN { @r = count(); @ = &@r }", "Can not take the address of an aggregation", NULL},
        {"BEGIN { @ = (a=1).b }", "'(a=int8)' does not contain a field named 'b'", NULL},
        {"BEGIN { @ = (a=1); @ = (b=1) }", "Type mismatch for @", NULL},
        {"BEGIN { @ = (a=1); @ = (1,) }", "Type mismatch for @", NULL},
        {"BEGIN { @ = typeof(pid) }", "typeof() is a type, not a value", NULL},
        {"BEGIN { @ = comptime pid }", "Unable to evaluate this", NULL},
        {"BEGIN { if comptime (pid == 1) { @ = 1 } }", "Unable to evaluate this", NULL},
        {"BEGIN { @ = offsetof(struct task_struct, pud) }", "does not contain a field named 'pud'", "'pid'"},
        {"BEGIN { @ = offsetof(struct task_struct, pid.x) }", "'int32' is not a struct", NULL},
        {"BEGIN { @ = offsetof(struct task_struct, mac[6]) }", "the index 6 is out of bounds", NULL},
        {"BEGIN { @ = offsetof(struct task_struct, flag) }", "does not begin at a byte", NULL},
        {"BEGIN { let $x : int8[1000000][1000000]; }", "A type of that size is not possible", NULL},
        {"BEGIN { let $x : uint8 = 256 }", "Type mismatch for $x", NULL},
        {"BEGIN { let $x : int8 = 128 }", "Type mismatch for $x", NULL},
        {"BEGIN { let $x : uint8 = -1 }", "Type mismatch for $x", NULL},
        {"BEGIN { @ = (uint64)comm }", "Cannot cast from \"string[16]\" to \"uint64\"", NULL},
        {"BEGIN { @ = (struct task_struct)arg0 }", "Cannot cast from \"uint64\" to \"struct task_struct\"",
         "(struct task_struct *)"},
        {"BEGIN { @ = (struct nothing *)arg0 }", "Cannot resolve unknown type \"struct nothing\"", NULL},
        {"BEGIN { @ = arg9 }", "usdt:x:y has only 5 arguments", NULL},
        {"BEGIN { return comm }", "A probe can only return an integer", NULL},
        {"BEGIN { for ($i : 0..comm) { } }", "Loop range requires an integer for the end value", NULL},
        {"BEGIN { @r[pid] = 1; @ = has_key(@r, \"x\") }", "Argument mismatch for @r", NULL},
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
    /* Two variants of one block: copies with the same places. */
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
        const char *text, *message; /* NULL: none */
    } cases[] = {
        {"BEGIN { exit(); @x = 1 }", "Unreachable statement"},
        {"BEGIN { return; @x = 1; @x = 2 }", "Unreachable statement"},
        {"BEGIN { for ($i : 0..9) { break; @x = 1 } }", "Unreachable statement"},
        {"BEGIN { while (pid) { } }", "While loops are deprecated and may be removed in the future."},
        {"BEGIN { if (pid) { return } @x = 1 }", NULL},
        {"BEGIN { pid }", "Return value discarded."},
        {"BEGIN { @x = 1; @x }", "Return value discarded."},
        {"BEGIN { _ = pid }", NULL},
        {"BEGIN { @x[1] = 1; delete(@x, 1); delete(@x[1]) }", NULL},
        {"BEGIN { $x = 1; $x++; @y = $x; @y++ }", NULL},
        {"BEGIN { @x = nsecs * retval }", "arithmetic of integers of different signs"},
        {"BEGIN { @x = nsecs - retval }", NULL},
        {"BEGIN { @x = nsecs > retval }", "comparison of integers of different signs"},
        {"BEGIN { @x = nsecs > 5 }", NULL},
        {"BEGIN { @x = 5 * nsecs }", NULL},
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
