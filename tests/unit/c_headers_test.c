/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the machine's own headers with a real compiler: every constant found in them has the compiler's value,
 * and well-known types have the compiler's sizes. Skipped where there is no compiler. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lang/c/definitions.h"
#include "lang/parse/parse.h"

static const char *const headers[] = {
    "sys/socket.h", "netinet/in.h",     "netinet/tcp.h",      "fcntl.h",
    "errno.h",      "signal.h",         "sys/stat.h",         "sys/mman.h",
    "elf.h",        "linux/bpf.h",      "linux/netlink.h",    "linux/rtnetlink.h",
    "linux/tcp.h",  "linux/if_ether.h", "linux/perf_event.h", "termios.h"};

static const char *const types[] = {
    "struct sockaddr_in",
    "struct sockaddr_in6",
    "struct sockaddr_un",
    "struct sockaddr_storage",
    "struct msghdr",
    "struct mmsghdr",
    "struct tcphdr",
    "struct tcp_info",
    "struct iphdr",
    "struct ip6_hdr",
    "struct stat",
    "siginfo_t",
    "struct sigaction",
    "struct termios",
    "struct epoll_event",
    "struct timeval",
    "struct rusage",
    "struct utsname",
    "pthread_mutex_t",
    "union bpf_attr",
    "struct nlmsghdr",
    "struct ifreq",
    "struct passwd",
    "struct perf_event_attr",
    "struct dirent",
    "fd_set",
    "struct statfs",
    "mcontext_t",
    "struct perf_event_mmap_page",
    "struct bpf_prog_info",
    "sigset_t",
    "pthread_attr_t",
};
enum { HEADERS = sizeof headers / sizeof *headers, TYPES = sizeof types / sizeof *types };

static const char all_headers[] =
    "#include <stdint.h>\n#include <sys/socket.h>\n#include <netinet/in.h>\n#include <netinet/ip.h>\n"
    "#include <netinet/ip6.h>\n#include <netinet/tcp.h>\n#include <sys/un.h>\n#include "
    "<sys/stat.h>\n#include <signal.h>\n"
    "#include <termios.h>\n#include <sys/epoll.h>\n#include <sys/time.h>\n#include <sys/resource.h>\n"
    "#include <sys/utsname.h>\n#include <pthread.h>\n#include <linux/bpf.h>\n#include <linux/netlink.h>\n"
    "#include <net/if.h>\n#include <pwd.h>\n#include <linux/perf_event.h>\n#include <dirent.h>\n#include "
    "<sys/select.h>\n"
    "#include <sys/vfs.h>\n#include <ucontext.h>\n";

static char directory[] = "/tmp/spoor-headers.XXXXXX";

static int read_file(void *state, const char *path, const char **text, size_t *length)
{
    struct arena *arena = state;
    FILE *file = fopen(path, "r");
    struct stat status;
    if (!file)
        return -ENOENT;
    fstat(fileno(file), &status);
    char *bytes = arena_alloc(arena, (size_t)status.st_size + 1);
    *length = fread(bytes, 1, (size_t)status.st_size, file);
    *text = bytes;
    fclose(file);
    return 0;
}

struct held {
    struct arena arena;
    struct diagnostics diagnostics;
    struct source source;
    struct c_definitions *definitions;
};

static void read_text(struct held *held, const char *text)
{
    *held = (struct held){.source = {"stdin", text, strlen(text)}};
    held->diagnostics.arena = &held->arena;
    struct c_options options = {
        .arena = &held->arena, .diagnostics = &held->diagnostics, .state = &held->arena, .read = read_file};
    held->definitions = c_open(&options);
    script_parse_with(&held->arena, &held->diagnostics, &held->source, NULL, held->definitions);
    struct text errors = {0};
    diagnostics_render(&errors, &held->diagnostics, DIAGNOSTIC_ERROR, false);
    printf("%s", text_string(&errors));
    text_free(&errors);
    assert_int_equal(held->diagnostics.errors, 0);
}

static void drop(struct held *held)
{
    c_close(held->definitions);
    arena_free(&held->arena);
}

static void write_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static bool shell(const char *format, const char *argument)
{
    char command[512], all[700];
    snprintf(command, sizeof command, format, argument);
    snprintf(all, sizeof all, "cd %s && %s", directory, command);
    return system(all) == 0;
}

static FILE *open_file(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    return file;
}

/* Makes `enum { V_x = (x) };` of every object-like macro x of a header, so that the macros that are constants
 * become enumerators, and compares their values. */
static unsigned compare_constants(const char *header, unsigned *wrong)
{
    struct text wanted = {0}, program = {0};
    char name[256];
    struct held held;
    if (!shell("gcc -D_GNU_SOURCE -dM -E -include %s - </dev/null 2>/dev/null | "
               "sed -nE 's/^#define ([A-Za-z][A-Za-z0-9_]*) .+/\\1/p' >names",
               header))
        return 0;
    text_printf(&wanted, "#include <%s>\n", header);
    FILE *names = open_file("names");
    while (fscanf(names, "%250s", name) == 1)
        text_printf(&wanted, "enum { V_%s = (%s) };\n", name, name);
    write_file("wanted.h", text_string(&wanted));
    char script[256];
    snprintf(script, sizeof script, "#include \"%s/wanted.h\"\nbegin { }", directory);
    read_text(&held, script);
    text_printf(&program, "#include <%s>\n#include <stdio.h>\nint main(void) {\n", header);
    rewind(names);
    unsigned count = 0;
    int64_t value, theirs;
    while (fscanf(names, "%250s", name) == 1) {
        char constant[300];
        snprintf(constant, sizeof constant, "V_%s", name);
        if (!c_enumerator(held.definitions, constant, &value))
            continue;
        text_printf(&program, "printf(\"%s %%lld\\n\", (long long)(%s));\n", constant, name);
        count++;
    }
    fclose(names);
    text_add(&program, "return 0; }\n");
    write_file("p.c", text_string(&program));
    if (!shell("gcc -w -D_GNU_SOURCE -o p p.c 2>p.err && ./p >values%s", "")) {
        printf("%s: the compiler knows less than we do\n", header);
        *wrong += 1;
    } else {
        FILE *values = open_file("values");
        while (fscanf(values, "%250s %ld", name, &theirs) == 2)
            if (!c_enumerator(held.definitions, name, &value) || value != theirs) {
                printf("%s: %s is %ld, we have %ld\n", header, name + 2, theirs, value);
                *wrong += 1;
            }
        fclose(values);
    }
    drop(&held);
    text_free(&wanted);
    text_free(&program);
    return count;
}

static void test_constants(void **state)
{
    (void)state;
    if (system("gcc --version >/dev/null 2>&1"))
        skip();
    unsigned wrong = 0, count = 0;
    for (size_t i = 0; i < HEADERS; i++)
        count += compare_constants(headers[i], &wrong);
    printf("%u constants\n", count);
    assert_int_equal(wrong, 0);
    assert_true(count > 3000);
}

static void test_sizes(void **state)
{
    (void)state;
    if (system("gcc --version >/dev/null 2>&1"))
        skip();
    struct text program = {0}, script = {0};
    text_printf(&program, "%s#include <stdio.h>\nint main(void) {\n", all_headers);
    for (size_t i = 0; i < TYPES; i++)
        text_printf(&program, "printf(\"%%zu\\n\", sizeof(%s));\n", types[i]);
    text_add(&program, "return 0; }\n");
    write_file("p.c", text_string(&program));
    assert_true(shell("gcc -w -D_GNU_SOURCE -o p p.c && ./p >values%s", ""));
    text_printf(&script, "%sbegin { }", all_headers);
    struct held held;
    read_text(&held, text_string(&script));
    FILE *values = open_file("values");
    unsigned wrong = 0;
    for (size_t i = 0; i < TYPES; i++) {
        size_t size = 0;
        const struct type *type = c_type(held.definitions, types[i]);
        assert_int_equal(fscanf(values, "%zu", &size), 1);
        if (type && type->size == size)
            continue;
        printf("sizeof(%s) is %zu, we have %u\n", types[i], size, type ? type->size : 0);
        wrong++;
    }
    fclose(values);
    drop(&held);
    text_free(&program);
    text_free(&script);
    assert_int_equal(wrong, 0);
}

static int begin(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : 1;
}

static int end(void **state)
{
    (void)state;
    return shell("rm -r %s", directory) ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_constants), cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, begin, end);
}
