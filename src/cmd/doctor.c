/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor doctor`: why does it not work? Examines the machine, and the programs and scripts that are named, and says
 * what was found and what can be done about it. */
#include "cmd/doctor.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/glob.h"
#include "base/open_foreign.h"
#include "base/terminal.h"
#include "cmd/command.h"
#include "cmd/tools.h"
#include "print/json.h"
#include "sym/process/library.h"
#include "sym/process/proc.h"
#include "sym/tables.h"

struct arguments {
    bool is_json, is_unsafe;
    uint64_t pid;
    const char *const *programs; /* -e */
};

static const struct option_row option_rows[] = {
    {'p', "pid", "PID", "names of files as this process sees them; without any, the program that it runs",
     OPTION_STORES(NUMBER, struct arguments, pid), OPTION_A_PROCESS},
    {'e', NULL, "PROGRAM", "look at this script; may be given several times",
     OPTION_STORES(LIST, struct arguments, programs), .completes = COMPLETE_PROGRAM},
    {0, "unsafe", NULL, "scripts may do what takes --unsafe",
     OPTION_STORES(FLAG, struct arguments, is_unsafe)},
    {0, "json", NULL, "print one JSON document", OPTION_STORES(FLAG, struct arguments, is_json)},
    OPTION_ROW_HELP,
};

/* ---- findings ---- */

static const char *keep(struct doctor *doctor, const char *format, va_list arguments)
{
    struct text text = {0};
    terminal_vprint(&text, format, arguments);
    return text_keep(&text, &doctor->arena);
}

void doctor_find(struct doctor *doctor, enum doctor_mark mark, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *found = keep(doctor, format, arguments);
    va_end(arguments);
    *arena_push(&doctor->arena, doctor->rows, doctor->count, doctor->room) =
        (struct doctor_row){.about = doctor->about, .check = doctor->check, .mark = mark, .found = found};
}

void doctor_advise(struct doctor *doctor, const char *format, ...)
{
    const char **remedies = doctor->rows[doctor->count - 1].remedies;
    va_list arguments;
    va_start(arguments, format);
    for (size_t i = 0; i < DOCTOR_REMEDIES; i++)
        if (!remedies[i]) {
            remedies[i] = keep(doctor, format, arguments);
            break;
        }
    va_end(arguments);
}

void doctor_repeat(struct doctor *doctor, const struct diagnostics *said)
{
    for (size_t i = 0; i < said->count; i++) {
        const struct diagnostic *item = &said->items[i];
        doctor_find(doctor, item->severity == DIAGNOSTIC_ERROR ? DOCTOR_PROBLEM : DOCTOR_WARNING, "%s",
                    item->message);
        if (item->hint)
            doctor_advise(doctor, "%s", item->hint);
    }
}

void doctor_examine(struct doctor *doctor, const char *about, const struct doctor_check *checks, void *thing)
{
    struct text name = {0};
    terminal_print(&name, "%s", about);
    doctor->about = text_keep(&name, &doctor->arena);
    for (; checks->name; checks++) {
        doctor->check = checks->name;
        checks->look(doctor, thing);
    }
}

/* ---- the report ---- */

static const char *const mark_names[DOCTOR_MARKS] = {
    [DOCTOR_OK] = "ok", [DOCTOR_WARNING] = "warning", [DOCTOR_PROBLEM] = "problem"};

static size_t count_marks(const struct doctor *doctor, enum doctor_mark mark)
{
    size_t count = 0;
    for (size_t i = 0; i < doctor->count; i++)
        count += doctor->rows[i].mark == mark;
    return count;
}

static void write_text(const struct doctor *doctor, struct text *out)
{
    for (size_t i = 0; i < doctor->count; i++) {
        const struct doctor_row *row = &doctor->rows[i];
        if (!i || strcmp(row->about, row[-1].about) != 0)
            text_printf(out, "%s%s\n", i ? "\n" : "", row->about);
        text_printf(out, "  %-7s  %-19s  %s\n", mark_names[row->mark], row->check, row->found);
        for (size_t k = 0; k < DOCTOR_REMEDIES && row->remedies[k]; k++)
            text_printf(out, "%32s%s%s\n", "", k ? "or: " : "HINT: ", row->remedies[k]);
    }
    const size_t problems = count_marks(doctor, DOCTOR_PROBLEM),
                 warnings = count_marks(doctor, DOCTOR_WARNING);
    text_printf(out, "\n%zu problem%s, %zu warning%s\n", problems, problems == 1 ? "" : "s", warnings,
                warnings == 1 ? "" : "s");
}

static void write_member(struct text *out, const char *name, const char *value)
{
    text_printf(out, ", \"%s\": ", name);
    json_string(out, value);
}

static void write_json(const struct doctor *doctor, struct text *out)
{
    const size_t problems = count_marks(doctor, DOCTOR_PROBLEM);
    text_printf(out,
                "{\"version\": \"%s\", \"works\": %s, \"problems\": %zu, \"warnings\": %zu, \"checks\": [",
                SPOOR_VERSION, problems ? "false" : "true", problems, count_marks(doctor, DOCTOR_WARNING));
    for (size_t i = 0; i < doctor->count; i++) {
        const struct doctor_row *row = &doctor->rows[i];
        text_printf(out, "%s\n  {\"mark\": \"%s\"", i ? "," : "", mark_names[row->mark]);
        write_member(out, "about", row->about);
        write_member(out, "check", row->check);
        write_member(out, "found", row->found);
        text_add(out, ", \"remedies\": [");
        for (size_t k = 0; k < DOCTOR_REMEDIES && row->remedies[k]; k++) {
            text_add(out, k ? "," : "");
            json_string(out, row->remedies[k]);
        }
        text_add(out, "]}");
    }
    text_add(out, "\n]}\n");
}

static int report(const struct doctor *doctor, bool is_json)
{
    struct text out = {0};
    (is_json ? write_json : write_text)(doctor, &out);
    const bool failed = out.failed;
    if (failed)
        fputs("ERROR: out of memory\n", stderr);
    else
        command_write(stdout, text_string(&out));
    text_free(&out);
    return failed || count_marks(doctor, DOCTOR_PROBLEM) > 0;
}

/* ---- the command ---- */

static const char *own_path(struct arena *arena)
{
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    return length > 0 && (size_t)length < sizeof path ? arena_copy(arena, path, (size_t)length) : "spoor";
}

struct named {
    struct doctor *doctor;
    pid_t pid;
    size_t count;
};

static int examine_file(void *context, const char *path, const char *seen)
{
    struct named *named = context;
    named->count++;
    doctor_binary(named->doctor, path, seen, named->pid);
    return 0;
}

static void find_nothing(struct doctor *doctor, void *thing)
{
    const char *word = thing;
    struct stat status;
    if (!foreign_status(word, &status)) {
        doctor_find(doctor, DOCTOR_PROBLEM, "it is no regular file");
        return;
    }
    doctor_find(doctor, DOCTOR_PROBLEM, "there is no such %s",
                strchr(word, '/') ? "file" : "file, tool, program or library");
    if (!strchr(word, '/'))
        doctor_advise(doctor, "give the path of a file");
}

static void find_no_process(struct doctor *doctor, void *thing)
{
    const int *error = thing;
    doctor_find(doctor, DOCTOR_PROBLEM, "%s",
                *error == -ESRCH || *error == -ENOENT ? "there is no such process" : strerror(-*error));
    if (*error == -EACCES || *error == -EPERM)
        doctor_advise(doctor, "sudo %s doctor …; other users' processes take CAP_SYS_PTRACE",
                      doctor->program);
}

static void examine_process(struct doctor *doctor, pid_t pid)
{
    static const struct doctor_check none[] = {{"process", find_no_process}, {NULL, NULL}};
    struct text path = {0}, seen = {0};
    int error = proc_executable(pid, &seen);
    if (!error)
        error = proc_program(pid, &path);
    if (!error) {
        doctor_binary(doctor, text_string(&path), text_string(&seen), pid);
    } else {
        text_clear(&seen);
        text_printf(&seen, "process %d", (int)pid);
        doctor_examine(doctor, text_string(&seen), none, &error);
    }
    text_free(&path);
    text_free(&seen);
}

/* Whether a file is a script, by its name or by the interpreter that it names. */
static bool is_script(const char *path)
{
    char head[DOCTOR_HEAD];
    if (glob_match("*.bt", path))
        return true;
    if (doctor_read_head(path, head) || strncmp(head, "#!", 2) != 0)
        return false;
    head[strcspn(head, "\n")] = 0;
    return strstr(head, "spoor") || strstr(head, "bpftrace");
}

static void examine_word(struct doctor *doctor, const char *word, pid_t pid)
{
    static const struct doctor_check nothing[] = {{"file", find_nothing}, {NULL, NULL}};
    struct named named = {doctor, pid, 0};
    struct script_option script = {.file = word};
    struct text tool = {0};
    struct stat status;
    const bool is_file = !foreign_status(word, &status) && S_ISREG(status.st_mode);
    if (is_file ? is_script(word) : tool_find(word, &script, &tool))
        doctor_script(doctor, &script);
    else if (binary_each(word, pid, examine_file, &named) || !named.count)
        doctor_examine(doctor, word, nothing, (void *)word);
    text_free(&tool);
}

static void examine(struct doctor *doctor, const struct arguments *arguments,
                    const struct command_arguments *given)
{
    const pid_t pid = (pid_t)arguments->pid;
    const int count = given->count - given->behind;
    doctor->program = own_path(&doctor->arena);
    doctor->diagnostics.arena = &doctor->arena;
    doctor->options->session.is_unsafe = arguments->is_unsafe;
    options_process(doctor->options, pid);
    options_parameters(doctor->options, given->words + count, given->behind, given->behind);
    doctor_machine(doctor);
    if (pid && !count && !arguments->programs)
        examine_process(doctor, pid);
    for (int i = 0; i < count; i++)
        examine_word(doctor, given->words[i], pid);
    for (const char *const *program = arguments->programs; program && *program; program++)
        doctor_script(doctor, &(struct script_option){.program = *program});
    tables_end();
}

static int command_doctor(int argc, char **argv)
{
    static struct options options; /* its lists live as long as the process */
    static struct doctor doctor;
    struct arguments arguments = {0};
    struct command_arguments given;
    jmp_buf out_of_memory;
    int status = 1;
    if (options_begin(&options) || !command_line_parse(&doctor_line, argc, argv, &arguments, &given, &status))
        return status;
    doctor.options = &options;
    if (arena_guard(&doctor.arena, out_of_memory)) {
        fputs("ERROR: out of memory\n", stderr);
        return 1;
    }
    examine(&doctor, &arguments, &given);
    status = report(&doctor, arguments.is_json);
    if (doctor.kernel)
        kernel_host(doctor.kernel)->operations->close(kernel_host(doctor.kernel));
    arena_free(&doctor.arena);
    return status;
}

const struct command_line doctor_line = {
    .name = "doctor",
    .summary = "why does it not work? this machine, a program or a script, and what helps",
    .run = command_doctor,
    .usage = "[options]",
    .about =
        "Looks for what keeps spoor from working: rights, the kernel, tracefs, BTF.\n"
        "Each line is ok, a warning (a part is missing) or a problem, with what helps. Works as any user.\n"
        "Exit status: 0, or 1 if there is a problem.\n",
    COMMAND_ROWS(option_rows),
    .completes = COMPLETE_TOOLS,
    .examples = "Examples:\n"
                "  spoor doctor\n"
                "  spoor doctor /usr/sbin/mysqld\n"
                "  spoor doctor biolatency script.bt\n"
                "  spoor doctor -e 'uprobe:c:malloc { @[ustack] = count(); }'\n"
                "  spoor doctor -p 1234 --json\n",
};
