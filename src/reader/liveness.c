/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/liveness.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/vfs.h>

#include "base/wire.h"
#include "reader/format.h"
#include "reader/relation.h"
#include "sym/process/mapped_file.h"
#include "sym/process/proc.h"

enum { TMPFS = 0x01021994 };

struct search {
    int file;
    pid_t found;
};

static int is_writer(void *context, pid_t pid)
{
    struct search *search = context;
    if (mapped_file_shared(search->file, pid) != MAPPED_WRITABLE)
        return 0;
    search->found = pid;
    return 1;
}

static bool is_locked(int file)
{
    if (flock(file, LOCK_SH | LOCK_NB))
        return errno == EWOULDBLOCK;
    flock(file, LOCK_UN);
    return false;
}

static bool is_in_memory(int file)
{
    struct statfs system;
    return !fstatfs(file, &system) && system.f_type == TMPFS;
}

struct liveness liveness_look(int file, const char *path, const struct liveness_question *question,
                              pid_t *writer)
{
    struct liveness liveness = {.is_locked = !question->is_spdk && is_locked(file)};
    struct search search = {.file = file};
    if (liveness.is_locked || (question->is_spdk && !(liveness.is_in_memory = is_in_memory(file))))
        return liveness;
    if (question->is_clock)
        liveness.refusal = relation_machine_refusal();
    if (question->named > 0)
        liveness.mapped = mapped_file_written(file, path, question->named, writer);
    else if (question->is_clock && !liveness.refusal && proc_each(is_writer, &search) > 0)
        liveness.mapped = MAPPED_WRITABLE;
    const pid_t known = __atomic_load_n(writer, __ATOMIC_RELAXED);
    const pid_t pid = search.found ? search.found : known ? known : question->named;
    if (pid > 0 && (!question->is_spdk || question->is_clock))
        liveness.has_begun = !proc_start_time(pid, &liveness.begun);
    return liveness;
}

struct liveness liveness_of(struct recording *recording, const struct liveness_question *question)
{
    const struct liveness *told = recording->options.told;
    return told ? *told : liveness_look(recording->file, recording->path, question, &recording->writer);
}

void liveness_put(struct text *out, const struct liveness *liveness)
{
    wire_put(out, liveness->is_locked);
    wire_put(out, liveness->is_in_memory);
    wire_put(out, liveness->has_begun);
    wire_put(out, (uint64_t)liveness->mapped);
    wire_put(out, liveness->begun);
    wire_put_text(out, liveness->refusal);
}

void liveness_take(struct cursor *in, struct liveness *liveness)
{
    liveness->is_locked = wire_take(in);
    liveness->is_in_memory = wire_take(in);
    liveness->has_begun = wire_take(in);
    liveness->mapped = (int)wire_take(in);
    liveness->begun = wire_take(in);
    liveness->refusal = wire_take_text(in);
}
