/* SPDX-License-Identifier: BSD-3-Clause */
/* Names for the numbers in records and maps: symbols, stacks, users, probes, wall-clock time. */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "session/state.h"

static struct symbolizer *symbolizer(struct session *session)
{
    if (!session->symbolizer)
        symbolizer_open(probe_kallsyms(&session->environment), &session->symbolizer);
    return session->symbolizer;
}

/* Addresses of user space are kept in the script's output as stacks and symbols only. */
static bool needs_user_names(const struct session *session)
{
    if (session->image.stacks >= 0)
        return true;
    for (size_t i = 0; i < session->actions.count; i++)
        for (uint32_t k = 0; k < session->actions.items[i].field_count; k++)
            if (session->actions.items[i].fields[k].type->kind == TYPE_USYM)
                return true;
    for (size_t i = 0; i < session->image.map_count; i++) {
        const struct image_map *map = &session->image.maps[i];
        if ((map->key && type_holds(map->key, TYPE_USYM)) ||
            (map->value && type_holds(map->value, TYPE_USYM)))
            return true;
    }
    return false;
}

void names_remember(struct session *session, pid_t pid)
{
    if (needs_user_names(session) && symbolizer(session))
        symbolizer_remember(session->symbolizer, pid);
}

static bool answer(int error, const struct symbolized *found, struct print_symbol *out)
{
    *out = (struct print_symbol){
        .name = error ? NULL : found->function, .offset = found->offset, .module = found->module};
    return out->name || out->module;
}

static bool kernel_symbol(void *owner, uint64_t address, struct print_symbol *out)
{
    struct symbolizer *names = symbolizer(owner);
    struct symbolized found;
    return names && answer(symbolizer_kernel(names, address, &found), &found, out);
}

static bool user_symbol(void *owner, uint32_t pid, uint64_t address, struct print_symbol *out)
{
    struct symbolizer *names = symbolizer(owner);
    struct symbolized found;
    return names && answer(symbolizer_user(names, (pid_t)pid, address, &found), &found, out);
}

/* Frames between the event and our program, where the kernel calls programs directly. */
static bool is_own_frame(struct session *session, uint64_t address)
{
    static const char *const prefixes[] = {"bpf_prog_", "bpf_trace_run", "__bpf_trace_", "__traceiter_",
                                           "bpf_get_stack"};
    struct print_symbol symbol;
    if (!kernel_symbol(session, address, &symbol) || !symbol.name)
        return false;
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (!strncmp(symbol.name, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

static size_t stack(void *owner, enum type_kind kind, uint64_t id, const uint64_t **frames)
{
    struct session *session = owner;
    if (session->image.stacks < 0)
        return 0;
    size_t map = (size_t)session->image.stacks, size = session->image.maps[map].value_size;
    if (!session->stack_frames && !(session->stack_frames = calloc(1, size)))
        return 0;
    if (session->host->operations->map_lookup(session->host, map, &id, session->stack_frames))
        return 0;
    struct image_stack header;
    memcpy(&header, session->stack_frames, sizeof header);
    size_t most = size - sizeof header;
    *frames = session->stack_frames + sizeof header / sizeof(uint64_t);
    size_t count = (header.bytes < most ? header.bytes : most) / sizeof(uint64_t), own = 0;
    while (kind == TYPE_KSTACK && own < count && is_own_frame(session, (*frames)[own]))
        own++;
    *frames += own;
    return count - own;
}

static const char *name(void *owner, uint64_t index)
{
    const struct session *session = owner;
    return index < session->name_count ? session->names[index] : NULL;
}

static const char *username(void *owner, uint64_t uid)
{
    (void)owner;
    const struct passwd *entry = getpwuid((uid_t)uid);
    return entry ? entry->pw_name : NULL;
}

static int64_t nanoseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t boot_to_wall(void *owner)
{
    (void)owner;
    return nanoseconds(CLOCK_REALTIME) - nanoseconds(CLOCK_BOOTTIME);
}

void names_init(struct session *session)
{
    session->print_names = (struct print_names){
        .owner = session,
        .kernel_symbol = kernel_symbol,
        .user_symbol = user_symbol,
        .stack = stack,
        .name = name,
        .username = username,
        .boot_to_wall = boot_to_wall,
    };
}

void names_close(struct session *session)
{
    if (session->symbolizer)
        symbolizer_close(session->symbolizer);
    session->symbolizer = NULL;
}
