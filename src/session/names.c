/* SPDX-License-Identifier: BSD-3-Clause */
/* Names for the numbers in records and maps: symbols, stacks, users, probes, wall-clock time. */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "bpf/unwind.h"
#include "session/state.h"
#include "sym/symbolize.h"
#include "sym/process/cgroup.h"
#include "sym/process/container.h"
#include "sym/kernel/kallsyms.h"
#include "sym/process/proc.h"

/* One answer of cgroup_path(), kept for the next time. */
struct cgroup_name {
    struct cgroup_name *next;
    uint64_t number;
    const char *filter, *path;
};

struct names {
    struct print_names of_printer;
    struct symbolizer *symbolizer;
    struct cgroup_name *cgroups;
    struct text username;             /* the answer to the last username that was asked for */
    struct text container;            /* and to the last container or pod */
    struct image_stack *stack_frames; /* the last stack that was asked for */
    bool has_unread_stacks;           /* it was reported that stacks could not be read */
    uint64_t user_stacks, cut_stacks; /* printed; those that end after the first of several frames */
    uint64_t *tracing_glue_ranges;    /* names_tracing_glue() */
    uint32_t tracing_glue_slots;
    /* When traced processes are looked at again, and how much later after that: ns of the host's clock. */
    uint64_t remember_next, remember_pause;
};

static struct symbolizer *symbolizer(struct session *session)
{
    const struct settings *settings = &session->options.settings;
    if (!session->names->symbolizer &&
        !symbolizer_open(probe_kallsyms(&session->environment), &session->names->symbolizer)) {
        symbolizer_demangle(session->names->symbolizer, settings->cpp_demangle);
        symbolizer_lines(session->names->symbolizer, settings->show_debug_info);
        symbolizer_files(session->names->symbolizer, session->options.symbol_files);
        symbolizer_may_leave(session->names->symbolizer, interrupt_leaves_names, session);
    }
    return session->names->symbolizer;
}

static bool is_user_address(const struct type *type)
{
    return type && (type_holds(type, TYPE_USYM) || type_holds(type, TYPE_USTACK));
}

/* Addresses of user space are kept in the script's output as stacks and symbols only. */
static bool needs_user_names(const struct session *session)
{
    for (size_t i = 0; i < session->actions.count; i++)
        for (uint32_t k = 0; k < session->actions.items[i].field_count; k++)
            if (is_user_address(session->actions.items[i].fields[k].type))
                return true;
    for (size_t i = 0; i < session->image.map_count; i++)
        if (is_user_address(session->image.maps[i].key) || is_user_address(session->image.maps[i].value))
            return true;
    return false;
}

static int read_process(void *state, pid_t pid)
{
    process_read(state, pid);
    return 0;
}

void names_watch(struct session *session)
{
    if (!session->kernel || !needs_user_names(session) || !symbolizer(session))
        return;
    struct processes *processes = symbolizer_processes(session->names->symbolizer);
    pump_start(session,
               processes); /* without it names come from what /proc still has when they are printed */
    proc_each(read_process, processes);
}

/* Reads which code a process maps now, where the kernel cannot tell. */
static void remember_process(struct session *session, pid_t pid)
{
    if (needs_user_names(session) && symbolizer(session))
        process_read(symbolizer_processes(session->names->symbolizer), pid);
}

void names_remember(struct session *session)
{
    enum { FIRST_PAUSE = 500000, PAUSE_MAX = 1000000000 };
    struct names *names = session->names;
    uint64_t now = session->host->operations->clock(session->host);
    if (now < names->remember_next)
        return;
    target_each(session, remember_process);
    uint64_t pause = names->remember_pause ? names->remember_pause * 2 : FIRST_PAUSE * 2;
    names->remember_pause = pause < PAUSE_MAX ? pause : PAUSE_MAX;
    names->remember_next = now + names->remember_pause;
}

static bool answer(int error, const struct symbolized *found, struct print_symbol *out)
{
    *out = (struct print_symbol){.name = error ? NULL : found->function,
                                 .offset = found->offset,
                                 .module = found->module,
                                 .build_id = found->build_id,
                                 .build_id_size = found->build_id_size,
                                 .file_offset = found->file_offset,
                                 .is_not_code = found->is_not_code,
                                 .lines = found->lines,
                                 .line_count = found->line_count};
    return out->name || out->module;
}

static bool kernel_symbol(void *owner, uint64_t address, struct print_symbol *out)
{
    struct symbolizer *names = symbolizer(owner);
    struct symbolized found;
    return names && answer(symbolizer_kernel(names, address, &found), &found, out);
}

static bool user_symbol(void *owner, uint32_t pid, uint64_t address, bool is_return, struct print_symbol *out)
{
    struct symbolizer *names = symbolizer(owner);
    struct symbolized found;
    if (!names)
        return false;
    int error = symbolizer_user(names, (pid_t)pid, address, is_return, &found);
    if (error && processes_miss_one(symbolizer_processes(names)))
        session_report(
            owner,
            "WARNING: process %d has ended, and so many have come since that its code is forgotten: "
            "its addresses have no names, and those of others may have none\n",
            (int)pid);
    return answer(error, &found, out);
}

/* Functions of the kernel between an event and the program that it runs. Of a number of frames programs leave out the first three kinds
 * already, where the kernel shows its addresses. */
static const char *const own_functions[] = {"__bpf_trace_", "__traceiter_", "bpf_trace_run", "bpf_prog_",
                                            "bpf_get_stack"};
enum { OWN_FUNCTIONS = sizeof own_functions / sizeof *own_functions, OWN_OF_TRACEPOINTS = 3 };

static bool is_own_frame(struct session *session, uint64_t address)
{
    struct print_symbol symbol;
    if (!kernel_symbol(session, address, &symbol) || !symbol.name)
        return false;
    for (size_t i = 0; i < OWN_FUNCTIONS; i++)
        if (!strncmp(symbol.name, own_functions[i], strlen(own_functions[i])))
            return true;
    return false;
}

const uint64_t *names_tracing_glue(void *state, uint32_t *slots)
{
    struct session *session = state;
    const char *prefixes[OWN_OF_TRACEPOINTS + 1] = {own_functions[0], own_functions[1], own_functions[2]};
    uint64_t *bounds = NULL;
    size_t count = 0;
    struct kallsyms *kallsyms =
        session->names->tracing_glue_slots ? NULL : probe_kallsyms(&session->environment);
    if (kallsyms && !kallsyms_ranges(kallsyms, prefixes, &bounds, &count) && count) {
        uint32_t room = 4;
        while (room <= count)
            room *= 2;
        session->names->tracing_glue_ranges =
            arena_array(&session->arena, room, sizeof *session->names->tracing_glue_ranges);
        memset(session->names->tracing_glue_ranges, 0xff, room * sizeof *session->names->tracing_glue_ranges);
        session->names->tracing_glue_ranges[0] = 0;
        memcpy(session->names->tracing_glue_ranges + 1, bounds, count * sizeof *bounds);
        session->names->tracing_glue_slots = room;
    }
    free(bounds);
    *slots = session->names->tracing_glue_slots;
    return session->names->tracing_glue_ranges;
}

static bool stack(void *owner, const struct type *type, uint64_t id, struct print_stack *out)
{
    static const char *const ends[] = {
        [UNWIND_NO_RULE] = "[no unwind information]", [UNWIND_NO_MEMORY] = "[stack not readable]"};
    struct session *session = owner;
    if (session->image.stacks < 0)
        return false;
    size_t map = (size_t)session->image.stacks, size = session->image.maps[map].value_size;
    if (!session->names->stack_frames && !(session->names->stack_frames = calloc(1, size))) {
        session->out.failed = true; /* or it would look like a stack that could not be taken */
        return false;
    }
    int error = session->host->operations->map_lookup(session->host, map, &id, session->names->stack_frames);
    if (error && error != -ENOENT && !session->names->has_unread_stacks) {
        session->names->has_unread_stacks = true;
        session_report(session,
                       "WARNING: stacks could not be read, and look like those that could not be taken: %s\n",
                       strerror(-error));
    }
    if (error)
        return false;
    uint32_t end = session->names->stack_frames->kind >> UNWIND_END_SHIFT & UNWIND_END_MASK;
    size_t own = 0;
    *out = (struct print_stack){
        .is_exact = session->names->stack_frames->kind & UNWIND_BY_RULES,
        .end = end < sizeof ends / sizeof *ends ? ends[end] : NULL,
    };
    out->count = image_stack_frames(session->names->stack_frames, size, &out->frames);
    if (type->kind == TYPE_USTACK && type->stack_frames > 1) {
        session->names->user_stacks++;
        session->names->cut_stacks += out->count == 1;
    }
    while (type->kind == TYPE_KSTACK && own < out->count && is_own_frame(session, out->frames[own]))
        own++;
    out->frames += own;
    out->count -= own;
    return true;
}

void names_advise(struct session *session)
{
    const struct names *names = session->names;
    if (!session->kernel || session->image.unwinds || session->options.no_warnings ||
        names->cut_stacks * 2 <= names->user_stacks)
        return;
    session_report(session,
                   "NOTE: %llu of %llu user stacks end after one frame, as where programs have no "
                   "frame pointers: ustack(dwarf) goes on there\n",
                   (unsigned long long)names->cut_stacks, (unsigned long long)names->user_stacks);
}

static const char *name(void *owner, uint64_t index)
{
    const struct session *session = owner;
    return compiler_name(session, index);
}

static const char *username(void *owner, uint64_t uid)
{
    struct session *session = owner;
    struct passwd entry, *found = NULL;
    char bytes[4096];
    if (interrupt_leaves_names(session) || getpwuid_r((uid_t)uid, &entry, bytes, sizeof bytes, &found) ||
        !found)
        return NULL;
    text_clear(&session->names->username);
    text_add(&session->names->username, found->pw_name);
    return text_string(&session->names->username);
}

/* Groups are looked for in the file system: what was found once is kept. */
static const char *cgroup_path(void *owner, uint64_t number, const char *filter)
{
    struct session *session = owner;
    struct cgroup_name *known = session->names->cgroups;
    while (known && (known->number != number || strcmp(known->filter, filter ? filter : "")))
        known = known->next;
    if (known)
        return known->path;
    if (interrupt_leaves_names(session))
        return NULL;
    struct text path = {0};
    if (!cgroup_paths(NULL, number, filter, &path)) {
        known = arena_new(&session->arena, struct cgroup_name);
        *known = (struct cgroup_name){session->names->cgroups, number,
                                      arena_strdup(&session->arena, filter ? filter : ""),
                                      text_keep(&path, &session->arena)};
        session->names->cgroups = known;
    }
    text_free(&path);
    return known ? known->path : NULL;
}

static const char *container(void *owner, uint64_t number, bool is_pod)
{
    struct session *session = owner;
    struct text *text = &session->names->container;
    const char *path = cgroup_path(owner, number, NULL);
    struct container found;
    text_clear(text);
    if (path && is_pod)
        container_pod(path, text);
    else if (path && container_find(path, &found))
        text_append(text, found.name, found.length);
    return path ? text_string(text) : NULL;
}

int64_t names_wall_offset(void)
{
    return clock_ahead(CLOCK_REALTIME);
}

static int64_t boot_to_wall(void *owner)
{
    (void)owner;
    return names_wall_offset();
}

void names_open(struct session *session)
{
    session->names = arena_new(&session->arena, struct names);
    session->names->of_printer = (struct print_names){
        .owner = session,
        .kernel_symbol = kernel_symbol,
        .user_symbol = user_symbol,
        .stack = stack,
        .name = name,
        .username = username,
        .cgroup_path = cgroup_path,
        .container = container,
        .boot_to_wall = boot_to_wall,
    };
}

struct print_names *names_of_printer(struct session *session)
{
    return &session->names->of_printer;
}

void names_close(struct session *session)
{
    struct names *names = session->names;
    if (names->symbolizer)
        symbolizer_close(names->symbolizer);
    names->symbolizer = NULL;
    text_free(&names->username);
    text_free(&names->container);
    free(names->stack_frames);
    names->stack_frames = NULL;
}
