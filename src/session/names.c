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

static bool answer(int error, const struct symbolized *found, struct print_symbol *out)
{
    *out = (struct print_symbol){.name = error ? NULL : found->function, .offset = found->offset,
                                 .module = found->module};
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

static size_t stack(void *owner, enum type_kind kind, uint64_t id, const uint64_t **frames)
{
    struct session *session = owner;
    (void)kind; /* one table for both: ids are hashes */
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
    return (header.bytes < most ? header.bytes : most) / sizeof(uint64_t);
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
