/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of symbols for addresses of this process, of a child that ends, and of the kernel. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sym/demangle.h"
#include "sym/symbolize.h"

__attribute__((noinline)) int symbolize_test_marker(int value)
{
    __asm__ volatile("");
    return value + 1;
}

__attribute__((noinline)) static void local_marker(void)
{
    __asm__ volatile("nop; nop");
}

static void this_process(void **state)
{
    (void)state;
    struct symbolizer *symbolizer;
    struct symbolized found;
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length] = '\0';
    local_marker();
    assert_int_equal(symbolizer_open(NULL, &symbolizer), 0);
    assert_int_equal(
        symbolizer_user(symbolizer, getpid(), (uintptr_t)symbolize_test_marker + 1, false, &found), 0);
    assert_string_equal(found.function, "symbolize_test_marker");
    assert_int_equal(found.offset, 1);
    assert_string_equal(found.module, self);
    assert_non_null(found.build_id);
    assert_int_equal(symbolizer_user(symbolizer, getpid(), (uintptr_t)local_marker, false, &found), 0);
    assert_string_equal(found.function, "local_marker");
    assert_int_equal(symbolizer_user(symbolizer, getpid(), (uintptr_t)getpid, false, &found), 0);
    assert_non_null(strstr(found.function, "getpid"));
    assert_non_null(strstr(found.module, "libc.so.6"));

    /* An address on the stack has no function, but is known to be on the stack. */
    assert_int_equal(symbolizer_user(symbolizer, getpid(), (uintptr_t)&found, false, &found), -ENOENT);
    assert_null(found.function);
    assert_int_equal(symbolizer_user(symbolizer, getpid(), 1, false, &found), -ENOENT);
    assert_null(found.module);
    assert_int_equal(symbolizer_user(symbolizer, getpid(), UINT64_MAX, false, &found), -ENOENT);
    assert_int_equal(symbolizer_user(symbolizer, INT_MAX, 1, false, &found), -ENOENT);

    /* And from the symbol back to the address. */
    uint64_t address, size, bias;
    assert_int_equal(symbolizer_address(symbolizer, self, getpid(), "symbolize_test_marker", &address, &size),
                     0);
    assert_true(address == (uintptr_t)symbolize_test_marker);
    assert_true(size > 0);
    assert_int_equal(symbolizer_bias(symbolizer, self, getpid(), &bias), 0);
    assert_int_equal(symbolizer_address(symbolizer, self, 0, "symbolize_test_marker", &address, NULL), 0);
    assert_true(address + bias == (uintptr_t)symbolize_test_marker);
    assert_int_equal(symbolizer_address(symbolizer, self, 0, "no such symbol", &address, NULL), -ENOENT);
    assert_int_equal(symbolizer_address(symbolizer, "/bin/true", getpid(), "main", &address, NULL), -ENOENT);
    assert_int_equal(symbolizer_bias(symbolizer, "/bin/true", getpid(), &bias), -ESRCH);
    symbolizer_close(symbolizer);
}

static void the_vdso(void **state)
{
    (void)state;
    struct symbolizer *symbolizer;
    struct symbolized found;
    uint64_t start = getauxval(AT_SYSINFO_EHDR);
    if (!start) {
        print_message("SKIP: there is no vDSO\n");
        skip();
    }
    assert_int_equal(symbolizer_open(NULL, &symbolizer), 0);
    size_t named = 0;
    for (uint64_t address = start; address < start + 8192; address += 16)
        if (!symbolizer_user(symbolizer, getpid(), address, false, &found)) {
            assert_string_equal(found.module, "[vdso]");
            named += strstr(found.function, "clock_gettime") != NULL;
        }
    assert_true(named > 0);
    symbolizer_close(symbolizer);
}

/* A library that is loaded after the maps were first read is found all the same. */
static void a_later_mapping(void **state)
{
    (void)state;
    struct symbolizer *symbolizer;
    struct symbolized found;
    assert_int_equal(symbolizer_open(NULL, &symbolizer), 0);
    assert_int_equal(process_read(symbolizer_processes(symbolizer), getpid()), 0);
    FILE *file = fopen("/lib/x86_64-linux-gnu/libz.so.1", "r");
    if (!file)
        file = fopen("/bin/bash", "r");
    assert_non_null(file);
    void *mapped = mmap(NULL, 1 << 16, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    symbolizer_user(symbolizer, getpid(), (uintptr_t)mapped + 100, false, &found);
    assert_non_null(found.module);
    munmap(mapped, 1 << 16);
    fclose(file);
    symbolizer_close(symbolizer);
}

static void a_process_that_ends(void **state)
{
    (void)state;
    struct symbolizer *symbolizer;
    struct symbolized found;
    assert_int_equal(symbolizer_open(NULL, &symbolizer), 0);
    pid_t known = fork();
    if (!known)
        for (;;)
            pause();
    pid_t unknown = fork();
    if (!unknown)
        _exit(0);
    assert_int_equal(process_read(symbolizer_processes(symbolizer), known), 0);
    kill(known, SIGKILL);
    waitpid(known, NULL, 0);
    waitpid(unknown, NULL, 0);
    assert_int_equal(symbolizer_user(symbolizer, known, (uintptr_t)symbolize_test_marker, false, &found), 0);
    assert_string_equal(found.function, "symbolize_test_marker");
    assert_int_equal(symbolizer_user(symbolizer, unknown, (uintptr_t)symbolize_test_marker, false, &found),
                     -ENOENT);
    assert_null(found.function);
    symbolizer_close(symbolizer);
}

/* More processes than the cache holds. */
static void many_processes(void **state)
{
    (void)state;
    enum { CHILDREN = 300 };
    static pid_t children[CHILDREN];
    struct symbolizer *symbolizer;
    struct symbolized found;
    size_t made = 0;
    assert_int_equal(symbolizer_open(NULL, &symbolizer), 0);
    for (; made < CHILDREN; made++) {
        children[made] = fork();
        if (children[made] < 0)
            break;
        if (!children[made])
            for (;;)
                pause();
        assert_int_equal(
            symbolizer_user(symbolizer, children[made], (uintptr_t)symbolize_test_marker, false, &found), 0);
    }
    for (size_t i = 0; i < made; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    symbolizer_close(symbolizer);
}

static void demangling(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"_ZN2ns1fEiPKc", "ns::f(int, char const*)"},
        {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
        {"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *name = symbol_demangle(rows[i][0]);
        assert_non_null(name);
        assert_int_equal(strncmp(name, rows[i][1], strlen(rows[i][1])), 0);
        free(name);
    }
    assert_null(symbol_demangle("main"));
    assert_null(symbol_demangle(""));
    assert_null(symbol_demangle("_Z"));
    char deep[4000] = "_Z1f"; /* a pointer to a pointer to a pointer … */
    memset(deep + 4, 'P', sizeof deep - 5);
    free(symbol_demangle(deep));
}

/* A short name may stand for a text that no memory holds: each argument is twice the previous one. */
static void demangling_what_is_endless(void **state)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *names[3] = {"_ZN2ns1fEi", NULL, "_ZN2ns1gEi"};
    char *answers[3];
    struct text name = {0};
    (void)state;
    text_add(&name, "_Z1fI1AIiiE");
    for (unsigned i = 1; i < 34; i++)
        text_printf(&name, "S0_IS%c_S%c_E", digits[i], digits[i]);
    text_add(&name, "Evv");
    names[1] = text_string(&name);
    symbol_demangle_all(names, 3, answers);
    assert_string_equal(answers[0], "ns::f(int)");
    assert_null(answers[1]);
    assert_string_equal(answers[2], "ns::g(int)");
    free(answers[0]);
    free(answers[2]);
    demangle_end();
    text_free(&name);
}

/* ---- the kernel ---- */

static const char symbols[] = "ffffffff81000000 T _text\n"
                              "ffffffff81000000 t local_start\n"
                              "ffffffff81000100 T vfs_read\n"
                              "ffffffff81000200 t helper\n"
                              "ffffffff81000080 T unsorted\n"
                              "ffffffff82000000 D some_data\n"
                              "ffffffffc0000000 t helper\t[mod_a]\n"
                              "ffffffffc0000100 t mod_only\t[mod_a]\n"
                              "nonsense\n\nffffffff8100\n";

static void write_file(char *path, const char *content)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    close(fd);
}

static int add_name(void *context, const char *name, const char *module, bool is_shared)
{
    (void)is_shared;
    text_printf(context, "%s[%s] ", name, module);
    return 0;
}

static void kernel_symbols(void **state)
{
    (void)state;
    char path[] = "/tmp/spoor-kallsyms-XXXXXX";
    struct kallsyms *kallsyms;
    struct kernel_symbol found;
    struct text names = {0};
    uint64_t address;
    write_file(path, symbols);
    assert_int_equal(kallsyms_open(path, &kallsyms), 0);
    assert_int_equal(kallsyms_resolve(kallsyms, 0xffffffff81000104, &found), 0);
    assert_string_equal(found.name, "vfs_read");
    assert_string_equal(found.module, "");
    assert_int_equal(found.offset, 4);
    assert_int_equal(kallsyms_resolve(kallsyms, 0xffffffff81000001, &found), 0);
    assert_string_equal(found.name, "_text");
    assert_int_equal(kallsyms_resolve(kallsyms, 0xffffffff81000090, &found), 0);
    assert_string_equal(found.name, "unsorted");
    assert_int_equal(kallsyms_resolve(kallsyms, 0xffffffffc0000101, &found), 0);
    assert_string_equal(found.name, "mod_only");
    assert_string_equal(found.module, "mod_a");
    assert_int_equal(kallsyms_resolve(kallsyms, 0x1000, &found), -ENOENT);
    assert_int_equal(kallsyms_resolve(kallsyms, 0xffffffffffffffff, &found), -ENOENT);
    for (int round = 0; round < 3; round++) { /* by a linear search at first, later by an index */
        assert_int_equal(kallsyms_address(kallsyms, "vfs_read", &address), 0);
        assert_true(address == 0xffffffff81000100);
        assert_int_equal(kallsyms_address(kallsyms, "mod_a:helper", &address), 0);
        assert_true(address == 0xffffffffc0000000);
        assert_int_equal(kallsyms_address(kallsyms, "helper", &address), 0);
        assert_true(address != 0xffffffffc0000000);
        assert_int_equal(kallsyms_address(kallsyms, "mod_b:helper", &address), -ENOENT);
        assert_int_equal(kallsyms_address(kallsyms, "", &address), -ENOENT);
    }
    for (int round = 0; round < 2; round++) { /* from the list in the file's order, and from a sorted one */
        text_clear(&names);
        assert_int_equal(kallsyms_each_function(kallsyms, NULL, "*e*", add_name, &names), 0);
        assert_string_equal(text_string(&names), "_text[] helper[] helper[mod_a] unsorted[] vfs_read[] ");
        assert_int_equal(kallsyms_each_function(kallsyms, NULL, NULL, add_name, &names), 0);
    }
    assert_false(kallsyms_is_exact(kallsyms));
    text_free(&names);
    kallsyms_close(kallsyms);
    unlink(path);
}

static void hidden_addresses(void **state)
{
    (void)state;
    char path[] = "/tmp/spoor-kallsyms-XXXXXX";
    struct kallsyms *kallsyms;
    struct kernel_symbol found;
    struct text names = {0};
    uint64_t address;
    write_file(path, "0000000000000000 T b\n0000000000000000 T a\n");
    assert_int_equal(kallsyms_open(path, &kallsyms), 0);
    assert_int_equal(kallsyms_resolve(kallsyms, 0xffffffff81000104, &found), -EPERM);
    assert_int_equal(kallsyms_address(kallsyms, "a", &address), -EPERM);
    assert_int_equal(kallsyms_address(kallsyms, "c", &address), -ENOENT);
    assert_int_equal(kallsyms_each_function(kallsyms, NULL, NULL, add_name, &names), 0);
    assert_string_equal(text_string(&names), "a[] b[] ");
    text_free(&names);
    kallsyms_close(kallsyms);
    unlink(path);
    assert_int_equal(kallsyms_open("/nonexistent", &kallsyms), 0);
    assert_int_equal(kallsyms_resolve(kallsyms, 1, &found), -ENOENT);
    kallsyms_close(kallsyms);
}

/* Only newlines end lines, not zeros: there must be room for all the lines. */
static void zeros_in_the_list(void **state)
{
    (void)state;
    char path[] = "/tmp/spoor-kallsyms-XXXXXX";
    static const char pair[] = "20 t b\n10 t a"; /* ends with a zero */
    struct kallsyms *kallsyms;
    struct kernel_symbol found;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(write(fd, pair + (i ? 7 : 0), sizeof pair - (i ? 7 : 0)), sizeof pair - (i ? 7 : 0));
    close(fd);
    assert_int_equal(kallsyms_open(path, &kallsyms), 0);
    assert_int_equal(kallsyms_resolve(kallsyms, 0x14, &found), 0);
    assert_string_equal(found.name, "a");
    assert_int_equal(kallsyms_resolve(kallsyms, 0x24, &found), 0);
    assert_string_equal(found.name, "b");
    kallsyms_close(kallsyms);
    unlink(path);
}

static void of_the_kernel(void **state)
{
    (void)state;
    struct kallsyms *kallsyms;
    struct symbolizer *symbolizer;
    struct symbolized found;
    uint64_t address;
    assert_int_equal(kallsyms_open(NULL, &kallsyms), 0);
    int error = kallsyms_address(kallsyms, "schedule", &address);
    if (error) {
        print_message("SKIP: kernel addresses are hidden (needs root)\n");
        kallsyms_close(kallsyms);
        skip();
    }
    assert_int_equal(symbolizer_open(kallsyms, &symbolizer), 0);
    assert_int_equal(symbolizer_kernel(symbolizer, address + 3, &found), 0);
    assert_string_equal(found.function, "schedule");
    assert_int_equal(found.offset, 3);
    assert_string_equal(found.module, "");
    symbolizer_close(symbolizer);
    kallsyms_close(kallsyms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_process),
        cmocka_unit_test(the_vdso),
        cmocka_unit_test(a_later_mapping),
        cmocka_unit_test(a_process_that_ends),
        cmocka_unit_test(many_processes),
        cmocka_unit_test(demangling),
        cmocka_unit_test(demangling_what_is_endless),
        cmocka_unit_test(kernel_symbols),
        cmocka_unit_test(hidden_addresses),
        cmocka_unit_test(zeros_in_the_list),
        cmocka_unit_test(of_the_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
