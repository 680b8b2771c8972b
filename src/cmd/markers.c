/* SPDX-License-Identifier: BSD-3-Clause */
/* The markers of SPDK's scripts, which are replaced in the script's text: __PID__ by the process of -p, __EXE__ by
 * its executable, or by the library that it has mapped and that really has the probe or function. With -c they
 * stand for cpid and for the command's program. Text in quotes and comments is not changed. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "sym/process/library.h"
#include "sym/process/proc.h"
#include "sym/elf/usdt.h"

static const char exe_marker[] = "__EXE__", pid_marker[] = "__PID__";

struct wanted { /* what follows __EXE__: */
    bool is_usdt;
    char *provider, *name; /* patterns; provider NULL: any */
    struct text found;     /* path of the file, as the process sees it */
};

static int stop_at_first(void *context, const struct usdt_site *site)
{
    (void)context, (void)site;
    return 1;
}

static int stop_at_symbol(void *context, const struct elf_symbol *symbol)
{
    (void)context, (void)symbol;
    return 1;
}

static bool file_holds(const char *path, const struct wanted *wanted)
{
    struct elf_file *file;
    bool holds = false;
    if (elf_file_open(path, &file))
        return false;
    if (!wanted->is_usdt)
        holds = elf_file_each_function(file, wanted->name, stop_at_symbol, NULL) == 1;
    else {
        struct usdt_probes probes;
        if (!usdt_read(file, &probes)) {
            holds = usdt_each(&probes, wanted->provider, wanted->name, stop_at_first, NULL) == 1;
            usdt_free(&probes);
        }
    }
    elf_file_close(file);
    return holds;
}

static int look_into(void *context, pid_t pid, const char *path, const char *seen)
{
    struct wanted *wanted = context;
    (void)pid;
    if (!file_holds(path, wanted))
        return 0;
    text_add(&wanted->found, seen);
    return 1;
}

/* Finds the file that the marker stands for: the executable if no file has what is wanted, so that the usual error
 * follows. */
static int find_file(struct wanted *wanted, const struct session_options *session)
{
    if (session->pid_count) {
        int status = proc_each_file(session->pids[0], look_into, wanted);
        return status == 1 ? 0 : proc_executable(session->pids[0], &wanted->found);
    }
    char *word = strndup(session->command, strcspn(session->command, " \t"));
    int status = word ? executable_find(word, &wanted->found) : -1;
    free(word);
    return status;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool is_marker(const char *text, const char *at, const char *marker)
{
    return !strncmp(at, marker, strlen(marker)) && !is_word(at[strlen(marker)]) &&
           (at == text || !is_word(at[-1]));
}

/* Whether the kind of probe before ":__EXE__" is usdt. */
static bool names_usdt(const char *text, const char *marker)
{
    const char *end = marker - 1, *begin = end;
    while (begin > text && is_word(begin[-1]))
        begin--;
    size_t length = (size_t)(end - begin);
    return (length == 4 && !memcmp(begin, "usdt", 4)) || (length == 1 && *begin == 'U');
}

/* Reads "provider:name" or "name" behind "__EXE__:", as far as a probe's name goes. */
static void read_names(struct wanted *wanted, const char *rest)
{
    size_t length = strcspn(rest, " \t\r\n{,/");
    char *names = strndup(rest, length), *colon = names ? strchr(names, ':') : NULL;
    if (colon && wanted->is_usdt) {
        *colon = 0;
        wanted->provider = strdup(names);
        wanted->name = strdup(colon + 1);
    } else if (names)
        wanted->name = strndup(names, strcspn(names, "+"));
    free(names);
}

static int write_file(struct text *out, const char *text, const char *marker,
                      const struct session_options *session)
{
    struct wanted wanted = {.is_usdt = marker > text && marker[-1] == ':' && names_usdt(text, marker)};
    const char *rest = marker + strlen(exe_marker);
    int status = 0;
    if (*rest == ':')
        read_names(&wanted, rest + 1);
    if (!wanted.name)
        wanted.name = strdup("*");
    if (!wanted.name || find_file(&wanted, session))
        status = 1;
    else if (strpbrk(text_string(&wanted.found), " ,{}()=\\'\""))
        text_printf(out, "\"%s\"", text_string(&wanted.found));
    else
        text_add(out, text_string(&wanted.found));
    free(wanted.provider);
    free(wanted.name);
    text_free(&wanted.found);
    return status;
}

/* Returns how many bytes are copied without a change: text in quotes, a comment, or one byte. */
static size_t untouched(const char *at)
{
    const char *end;
    if (*at == '"') {
        for (end = at + 1; *end && *end != '"';)
            end += *end == '\\' && end[1] ? 2 : 1;
        return (size_t)(end - at) + (*end != 0);
    }
    if (at[0] == '/' && at[1] == '/')
        return strcspn(at, "\n");
    if (at[0] == '/' && at[1] == '*') {
        end = strstr(at + 2, "*/");
        return end ? (size_t)(end - at) + 2 : strlen(at);
    }
    return 1;
}

int command_replace_markers(struct text *text, const struct session_options *session)
{
    struct text out = {0};
    const char *begin = text_string(text);
    int status = 0;
    if (strlen(begin) != text->length || (!strstr(begin, exe_marker) && !strstr(begin, pid_marker)))
        return 0;
    for (const char *at = begin; *at && !status;) {
        bool is_exe = is_marker(begin, at, exe_marker), is_pid = is_marker(begin, at, pid_marker);
        if ((is_exe || is_pid) && !session->pid_count && !session->command) {
            command_print(stderr,
                          "ERROR: %s in the script stands for %s, and there is none\n"
                          "HINT: say which with -p PID, or start it with -c COMMAND\n",
                          is_exe ? exe_marker : pid_marker, is_exe ? "a process's program" : "a process");
            status = 1;
        } else if (is_exe) {
            status = write_file(&out, begin, at, session);
            if (status && session->pid_count)
                command_print(stderr, "ERROR: the program of process %d cannot be read\n",
                              (int)session->pids[0]);
            else if (status)
                command_print(stderr, "ERROR: the program of the command '%s' was not found\n",
                              session->command);
            at += strlen(exe_marker);
        } else if (is_pid) {
            if (session->pid_count)
                text_printf(&out, "%d", (int)session->pids[0]);
            else
                text_add(&out, "cpid");
            at += strlen(pid_marker);
        } else {
            size_t length = untouched(at);
            text_append(&out, at, length);
            at += length;
        }
    }
    if (!status) {
        text_clear(text);
        text_append(text, text_string(&out), out.length);
    }
    text_free(&out);
    return status;
}
