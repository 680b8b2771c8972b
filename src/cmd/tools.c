/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd/tools.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open_foreign.h"
#include "cmd/command.h"

/* The questions that tools answer, as in docs/tools.md. */
static const struct {
    const char *question, *tools;
} questions[] = {
    {"Who starts, ends, signals, changes user, makes threads?",
     "execsnoop killsnoop setuids capable threadsnoop pidpersec naptime bashreadline"},
    {"Which files and system calls?", "opensnoop statsnoop dcsnoop syscount vfscount vfsstat"},
    {"Where does CPU time go?", "cpuwalk runqlat runqlen loads"},
    {"Where does time go off the CPU?", "offcpu syncsnoop pgquery ssllatency gethostlatency"},
    {"What do disks and file systems do?",
     "biolatency biosnoop biostacks bitesize writeback mdflush xfsdist"},
    {"What does TCP do?", "tcpconnect tcpaccept tcplife tcpretrans tcpdrop tcpsynbl"},
    {"What do programs say to each other?", "undump"},
    {"Where does memory go?", "mallocleaks oomkill swapin"},
};
enum { QUESTIONS = sizeof questions / sizeof *questions };

/* The scripts that were there when the program was built. */
static const struct {
    const char *file, *program;
} contained[] = {
#define TOOL(name, text) {#name ".bt", text},
#include "tools.inc"
#undef TOOL
};
enum { CONTAINED = sizeof contained / sizeof *contained };

void tools_list(FILE *out)
{
    for (size_t i = 0; i < QUESTIONS; i++)
        command_print(out, "  %s\n      %s\n", questions[i].question, questions[i].tools);
}

void tools_each(void (*visit)(void *context, const char *name, const char *question), void *context)
{
    for (size_t i = 0; i < QUESTIONS; i++) {
        char *copy = strdup(questions[i].tools), *rest = copy, *name;
        while (copy && (name = strsep(&rest, " ")))
            visit(context, name, questions[i].question);
        free(copy);
    }
}

void tools_offer(struct nearest *nearest)
{
    /* struct nearest keeps pointers to candidates: the copy lives as long as the process, which is about to end. */
    for (size_t i = 0; i < QUESTIONS; i++) {
        char *copy = strdup(questions[i].tools), *rest = copy, *name;
        while (copy && (name = strsep(&rest, " ")))
            nearest_offer(nearest, name);
    }
}

static bool is_tool_name(const char *name)
{
    for (const char *at = name; *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *at))
            return false;
    return *name && *name != '-';
}

/* Whether there is a file DIRECTORY/BELOW/NAME.bt; `path` is then its path. */
static bool is_there(struct text *path, const char *directory, const char *below, const char *name)
{
    struct stat status;
    text_clear(path);
    text_printf(path, "%s%s/%s.bt", directory, below, name);
    return !path->failed && *directory && !foreign_status(text_string(path), &status) &&
           S_ISREG(status.st_mode);
}

/* Searches the directories of SPOOR_TOOLS, which are separated by colons. */
static bool find_in_list(const char *name, struct text *path)
{
    const char *list = getenv("SPOOR_TOOLS");
    char *copy = list ? strdup(list) : NULL, *rest = copy, *directory;
    bool is_found = false;
    while (!is_found && copy && (directory = strsep(&rest, ":")))
        is_found = is_there(path, directory, "", name);
    free(copy);
    return is_found;
}

/* Searches beside the program: build/spoor and tools in the source tree, bin/spoor and share/spoor/tools where it
 * is installed. */
static bool find_beside_program(const char *name, struct text *path)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return false;
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    return is_there(path, program, "/../tools", name) ||
           is_there(path, program, "/../share/spoor/tools", name);
}

static const char *find_inside(const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < CONTAINED; i++)
        if (!strncmp(contained[i].file, name, length) && !strcmp(contained[i].file + length, ".bt"))
            return contained[i].program;
    return NULL;
}

static bool find_file(const char *name, struct text *path)
{
    const char *settings = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    return find_in_list(name, path) ||
           (settings && *settings ? is_there(path, settings, "/spoor/tools", name)
                                  : home && is_there(path, home, "/.config/spoor/tools", name)) ||
           find_beside_program(name, path);
}

bool tool_find(const char *name, struct script_option *script, struct text *path)
{
    if (!is_tool_name(name))
        return false;
    *script = (struct script_option){0};
    if (!find_file(name, path)) {
        if (!(script->program = find_inside(name)))
            return false;
        text_clear(path);
        text_printf(path, "%s.bt", name);
    }
    script->file = text_string(path);
    return !path->failed;
}

/* Prints the comment at the beginning of a script, behind the line that names its interpreter. */
static void print_head(const char *script)
{
    if (!strncmp(script, "#!", 2))
        script += strcspn(script, "\n") + (strchr(script, '\n') != NULL);
    while (!strncmp(script, "//", 2)) {
        size_t length = strcspn(script, "\n"), skip = script[2] == ' ' ? 3 : 2;
        command_print(stdout, "%.*s", (int)(length - skip), script + skip);
        command_write(stdout, "\n");
        script += length + (script[length] == '\n');
    }
}

int tool_help(const char *name)
{
    struct script_option script;
    struct text path = {0}, text = {0};
    int error = -ENOENT;
    if (tool_find(name, &script, &path))
        error = script.program ? 0 : -command_read_text(script.file, &text);
    if (!error) {
        print_head(script.program ? script.program : text_string(&text));
        fputs("\nOptions are those of a trace: -p PID, -c COMMAND, --duration TIME, -f json … spoor --help "
              "lists them.\n",
              stdout);
    }
    text_free(&path);
    text_free(&text);
    return error;
}
