/* SPDX-License-Identifier: BSD-3-Clause */
#include "sym/tables.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "sym/elf/private.h"

enum { PATIENCE_MS = 30000 };
#define MEMORY ((uint64_t)4 << 30)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct apart *reader; /* NULL: there is none */

static tables_of_elf *const of_elf[TABLES_COUNT] = {
    [TABLES_ELF] = elf_put_tables,  [TABLES_SYMBOLS] = elf_put_symbols, [TABLES_DATA] = debug_data_put,
    [TABLES_LINK] = debug_link_put, [TABLES_DYNAMIC] = needed_put,      [TABLES_USDT] = usdt_put,
    [TABLES_CFI] = cfi_put,
};
static apart_server *const of_others[TABLES_COUNT] = {
    [TABLES_MEMBER] = archive_serve,
    [TABLES_MAP] = perf_map_serve,
};

static int serve(void *state, struct apart_question *question, struct text *answer)
{
    struct elf_file *file;
    if (question->kind >= TABLES_COUNT)
        return -ENOTSUP;
    if (!of_elf[question->kind])
        return of_others[question->kind](state, question, answer);
    uint64_t base = wire_take(&question->in), size = wire_take(&question->in);
    int error = question->in.is_bad ? -EINVAL : elf_file_open_part(question->fd, base, size, &file);
    if (error)
        return error;
    error = of_elf[question->kind](file, answer);
    elf_file_close(file);
    return error;
}

static bool begin(void *state)
{
    (void)state;
    debug_data_prepare();
    return true;
}

static int start(void)
{
    static const struct apart_options options = {
        .name = "spoor-tables", .serve = serve, .begin = begin, .memory = MEMORY, .patience_ms = PATIENCE_MS};
    return apart_need(&options, &reader);
}

int tables_ask(enum tables_kind kind, const struct text *question, int fd, struct apart_answer *out)
{
    *out = (struct apart_answer){.bytes = NULL};
    pthread_mutex_lock(&lock);
    int error = start();
    if (!error)
        error = apart_ask(reader, kind, question, fd, out);
    pthread_mutex_unlock(&lock);
    return error;
}

int tables_ask_elf(enum tables_kind kind, const struct elf_file *file, struct apart_answer *out)
{
    struct text question = {0};
    wire_put(&question, file->base);
    wire_put(&question, file->size);
    int error = tables_ask(kind, &question, file->fd, out);
    text_free(&question);
    return error;
}

bool tables_are_apart(const struct elf_file *file)
{
    return file->fd >= 0 && !apart_inside();
}

void tables_end(void)
{
    pthread_mutex_lock(&lock);
    apart_end(reader);
    reader = NULL;
    pthread_mutex_unlock(&lock);
}
