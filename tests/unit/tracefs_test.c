/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of parsing format files from text; of the running kernel's events (needs root); and of numbers and names of
 * system calls. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sym/kernel/syscalls.h"
#include "sym/kernel/tracefs.h"

static const char format[] = "name: made\nID: 7\nformat:\n"
                             "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                             "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                             "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                             "\tfield:const char * path;\toffset:24;\tsize:8;\tsigned:0;\n"
                             "\tfield:__data_loc char[] name;\toffset:32;\tsize:4;\tsigned:0;\n"
                             "\tfield:struct file * file;\toffset:40;\tsize:8;\tsigned:0;\n"
                             "\tfield:int fd;\toffset:48;\tsize:8;\tsigned:0;\n"
                             "\tfield:unsigned long words[4];\toffset:56;\tsize:32;\tsigned:0;\n"
                             "\tfield:enum what kind;\toffset:88;\tsize:4;\tsigned:0;\n"
                             "\tfield:const char *const * argv;\toffset:96;\tsize:8;\tsigned:0;\n"
                             "\tfield:void (*call)(int);\toffset:104;\tsize:8;\tsigned:0;\n"
                             "\tfield:char old[TASK_COMM_LEN];\toffset:112;\tsize:16;\tsigned:1;\n"
                             "\tfield:__data_loc u64[] rows;\toffset:128;\tsize:4;\tsigned:0;\n"
                             "\tfield:struct pair both;\toffset:132;\tsize:12;\tsigned:0;\n"
                             "\tfield:s64 change;\toffset:144;\tsize:8;\tsigned:1;\n"
                             "\nprint fmt: \"field:int nonsense;\", REC->x\n";

static struct field get(const struct type *type, const char *name)
{
    struct field field;
    if (!type_find_field(type, name, &field))
        fail_msg("no field %s", name);
    return field;
}

static const struct type *find_type(void *context, const char *name)
{
    ++*(int *)context;
    static const struct field fields[] = {{.name = "f_flags", .type = &type_u32, .offset = 4}};
    static struct type file = {.kind = TYPE_STRUCT, .size = 8, .name = "file", .count = 1, .fields = fields};
    return strcmp(name, "struct file") ? NULL : &file;
}

static void a_format(void **state)
{
    (void)state;
    struct arena arena = {0};
    const struct type *type;
    int asked = 0;
    struct tracefs_types types = {find_type, &asked};
    assert_int_equal(tracefs_format_parse(&arena, &types, "made", "up", format, &type), 0);
    assert_string_equal(type->name, "tracepoint:made:up");
    assert_int_equal(type->size, 152);
    assert_int_equal(type->count, 15);
    assert_ptr_equal(get(type, "common_pid").type, &type_i32);
    assert_int_equal(get(type, "comm").offset, 8);
    assert_int_equal(get(type, "comm").type->kind, TYPE_ARRAY);
    assert_int_equal(get(type, "comm").type->count, 16);
    assert_ptr_equal(get(type, "comm").type->target, &type_i8);
    assert_int_equal(get(type, "path").type->space, SPACE_KERNEL);
    assert_ptr_equal(get(type, "path").type->target, &type_i8);
    assert_true(get(type, "name").data_loc);
    assert_int_equal(get(type, "name").type->count, 0);
    assert_ptr_equal(get(type, "name").type->target, &type_i8);
    assert_ptr_equal(get(type, "fd").type, &type_i32);
    assert_int_equal(get(type, "words").type->count, 4);
    assert_ptr_equal(get(type, "words").type->target, &type_u64);
    assert_ptr_equal(get(type, "kind").type, &type_u32);
    assert_int_equal(get(type, "argv").type->target->kind, TYPE_POINTER);
    assert_int_equal(get(type, "call").type->kind, TYPE_POINTER);
    assert_int_equal(get(type, "old").type->count, 16);
    assert_ptr_equal(get(type, "rows").type->target, &type_u64);
    assert_true(get(type, "rows").data_loc);
    assert_int_equal(get(type, "both").type->size, 12);
    assert_ptr_equal(get(type, "change").type, &type_i64);

    const struct type *file = get(type, "file").type->target;
    assert_string_equal(file->name, "file");
    assert_int_equal(asked, 0); /* the struct is looked up only when its members are needed */
    assert_int_equal(get(file, "f_flags").offset, 4);
    assert_int_equal(asked, 1);

    assert_int_equal(tracefs_format_parse(&arena, NULL, "syscalls", "up", format, &type), 0);
    assert_int_equal(get(type, "path").type->space, SPACE_USER);
    assert_int_equal(get(type, "argv").type->target->space, SPACE_USER);
    arena_free(&arena);
}

static void nonsense(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "format:\n",
        "field:",
        "\tfield:int x;\n",
        "\tfield:int x;\toffset:0;\n",
        "\tfield:;\toffset:0;\tsize:4;\n",
        "\tfield:int;\toffset:0;\tsize:4;\n",
        "\tfield:int x];\toffset:0;\tsize:4;\n",
        "\tfield:int x;\toffset:99999999999;\tsize:4;\n",
        "\tfield:int 3;\toffset:0;\tsize:4;\n",
        "\tfield:void (*);\toffset:0;\tsize:8;\n",
    };
    struct arena arena = {0};
    const struct type *type;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(tracefs_format_parse(&arena, NULL, "a", "b", texts[i], &type), -EBADMSG);
    /* Cut anywhere, the text must not crash the parser. */
    for (size_t cut = 0; cut < sizeof format; cut++) {
        char *exact = strndup(format, cut);
        tracefs_format_parse(&arena, NULL, "a", "b", exact, &type);
        free(exact);
    }
    /* A count that contradicts the field's size. */
    assert_int_equal(
        tracefs_format_parse(&arena, NULL, "a", "b", "\tfield:int x[999999];\toffset:0;\tsize:7;\n", &type),
        0);
    assert_true(type->fields[0].type->size <= 7);
    arena_free(&arena);
}

struct seen {
    const struct tracefs *tracefs;
    struct arena *arena;
    size_t count, unnumbered, bad;
    char last[256];
    bool unsorted, sched_switch;
};

static int see(void *context, const char *subsystem, const char *event)
{
    struct seen *seen = context;
    char full[256];
    snprintf(full, sizeof full, "%s:%s", subsystem, event);
    seen->unsorted |= strcmp(seen->last, full) >= 0;
    strcpy(seen->last, full);
    seen->count++;
    seen->sched_switch |= !strcmp(full, "sched:sched_switch");
    const struct type *type;
    if (tracefs_event_type(seen->tracefs, seen->arena, NULL, subsystem, event, &type))
        seen->bad++;
    if (!strcmp(subsystem, "syscalls") && !strncmp(event, "sys_enter_", 10) &&
        syscall_number(event + 10) < 0) {
        print_message("no number for %s\n", event);
        seen->unnumbered++;
    }
    return 0;
}

static bool open_real(struct tracefs **tracefs)
{
    int error = tracefs_open(tracefs);
    if (error == -EACCES || error == -EPERM || error == -ENOENT || error == -EDEADLK) {
        print_message("SKIP: tracefs cannot be read: %s\n", strerror(-error));
        return false;
    }
    assert_int_equal(error, 0);
    return true;
}

static void of_the_kernel(void **state)
{
    (void)state;
    struct tracefs *tracefs;
    if (!open_real(&tracefs))
        skip();
    struct arena arena = {0};
    struct seen seen = {.tracefs = tracefs, .arena = &arena};
    assert_int_equal(tracefs_each_event(tracefs, NULL, NULL, see, &seen), 0);
    assert_true(seen.count > 500 && seen.sched_switch);
    assert_false(seen.unsorted);
    assert_int_equal(seen.bad, 0);
    assert_int_equal(seen.unnumbered, 0);
    struct seen few = {.tracefs = tracefs, .arena = &arena};
    assert_int_equal(tracefs_each_event(tracefs, "sched", "sched_sw*", see, &few), 0);
    assert_true(few.sched_switch && few.count < 10);

    uint32_t id;
    const struct type *type;
    assert_int_equal(tracefs_event_id(tracefs, "sched", "sched_switch", &id), 0);
    assert_int_not_equal(id, 0);
    assert_int_equal(tracefs_event_id(tracefs, "sched", "no_such_event", &id), -ENOENT);
    assert_int_equal(tracefs_event_id(tracefs, "..", "sched", &id), -ENOENT);
    assert_int_equal(tracefs_event_id(tracefs, "sched/sched_switch", "x", &id), -ENOENT);
    assert_int_equal(tracefs_event_type(tracefs, &arena, NULL, "syscalls", "sys_enter_openat", &type), 0);
    assert_ptr_equal(get(type, "dfd").type, &type_i32);
    assert_int_equal(get(type, "filename").type->space, SPACE_USER);
    arena_free(&arena);
    tracefs_close(tracefs);
}

static void make_file(const char *directory, const char *name, const char *content)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    for (char *slash = path + strlen(directory) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

/* Without available_events, the directories list the events. */
static void made_up(void **state)
{
    (void)state;
    char directory[] = "/tmp/spoor-tracefs-XXXXXX", command[64];
    struct tracefs *tracefs;
    assert_non_null(mkdtemp(directory));
    make_file(directory, "events/made/up/format", format);
    make_file(directory, "events/made/up/id", "7\n");
    make_file(directory, "events/made/empty/format", "");
    make_file(directory, "events/made/empty/id", "x\n");
    make_file(directory, "events/made/enable", "0\n");
    int fd = open(directory, O_RDONLY | O_DIRECTORY);
    assert_int_equal(tracefs_open_at(fd, &tracefs), 0);
    struct arena arena = {0};
    struct seen seen = {.tracefs = tracefs, .arena = &arena};
    assert_int_equal(tracefs_each_event(tracefs, "m*", NULL, see, &seen), 0);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.bad, 1);
    uint32_t id;
    assert_int_equal(tracefs_event_id(tracefs, "made", "up", &id), 0);
    assert_int_equal(id, 7);
    assert_int_equal(tracefs_event_id(tracefs, "made", "empty", &id), -EBADMSG);
    make_file(directory, "available_events", "made:up\nbroken\n:\nmade:empty");
    tracefs_close(tracefs);
    assert_int_equal(tracefs_open_at(fd, &tracefs), 0);
    close(fd);
    struct seen again = {.tracefs = tracefs, .arena = &arena};
    assert_int_equal(tracefs_each_event(tracefs, "made", "u?", see, &again), 0);
    assert_int_equal(again.count, 1);
    tracefs_close(tracefs);
    arena_free(&arena);
    snprintf(command, sizeof command, "rm -r %s", directory);
    assert_int_equal(system(command), 0);
}

static void system_calls(void **state)
{
    (void)state;
    assert_int_equal(syscall_number("read"), SYS_read);
    assert_int_equal(syscall_number("newuname"), SYS_uname);
    assert_int_equal(syscall_number("uname"), SYS_uname);
    assert_int_equal(syscall_number("umount"), SYS_umount2);
    assert_int_equal(syscall_number("sendfile64"), SYS_sendfile);
    assert_int_equal(syscall_number("newfstatat"), SYS_newfstatat);
    assert_int_equal(syscall_number("newfstat"), SYS_fstat);
    assert_int_equal(syscall_number("cachestat"), 451);
    assert_int_equal(syscall_number("no such call"), -1);
    assert_string_equal(syscall_name(SYS_uname), "newuname");
    assert_string_equal(syscall_name(SYS_openat), "openat");
    assert_null(syscall_name(-1));
    assert_null(syscall_name(syscall_limit()));
    assert_true(syscall_limit() > 450 && syscall_limit() < 1024);
    for (int number = 0; number < syscall_limit(); number++)
        if (syscall_name(number))
            assert_int_equal(syscall_number(syscall_name(number)), number);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_format), cmocka_unit_test(nonsense),     cmocka_unit_test(of_the_kernel),
        cmocka_unit_test(made_up),  cmocka_unit_test(system_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
