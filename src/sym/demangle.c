/* SPDX-License-Identifier: BSD-3-Clause */
/* libiberty hands out the pieces of a name one by one; when they become too many, this file leaves it in the middle
 * by longjmp. libiberty limits its recursion itself. Whatever else a name does harms only a process without
 * privileges. */
#include "sym/demangle.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libiberty/demangle.h>

#include "base/clock.h"
#include "sym/apart.h"

enum {
    MANGLED_MAX = 4096,
    DEMANGLED_MAX = 16 << 10,
    PATIENCE_MS = 1000,
    DEATHS_MAX = 5,      /* how often the process may die of a name, until */
    FORGIVEN_AFTER = 60, /* it was not asked for so many seconds */
    ASKED_AT_ONCE = 512, /* names in one question */
};
#define MEMORY ((uint64_t)4 << 30)

static bool is_mangled(const char *name)
{
    return (!strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2)) &&
           strnlen(name, MANGLED_MAX + 1) <= MANGLED_MAX;
}

/* ---- in the service ---- */

struct demangling {
    jmp_buf too_long;
    struct text *out;
};

static void take_piece(const char *piece, size_t length, void *state)
{
    struct demangling *demangling = state;
    if (length > DEMANGLED_MAX - demangling->out->length)
        longjmp(demangling->too_long, 1);
    text_append(demangling->out, piece, length);
}

/* Demangles a name. False: it is not mangled, or what it stands for is too long. */
static bool demangle(const char *name, struct text *out)
{
    enum { OPTIONS = DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO };
    struct demangling demangling = {.out = out};
    text_clear(out);
    if (setjmp(demangling.too_long))
        return false;
    if (rust_demangle_callback(name, OPTIONS, take_piece, &demangling))
        return out->length && !out->failed;
    text_clear(out);
    return cplus_demangle_v3_callback(name, OPTIONS, take_piece, &demangling) && out->length && !out->failed;
}

/* Answers a question: for each of its names the demangled one, or NULL. */
static int serve(void *state, struct apart_question *question, struct text *answer)
{
    struct text name = {0};
    (void)state;
    for (size_t count = wire_take_count(&question->in, 8); count; count--) {
        const char *mangled = wire_take_text(&question->in);
        wire_put_text(answer, mangled && demangle(mangled, &name) ? text_string(&name) : NULL);
    }
    text_free(&name);
    return 0;
}

/* ---- in the process that asks ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct apart *reader; /* NULL: there is none */
static unsigned deaths;
static time_t died;

static int start(void)
{
    static const struct apart_options options = {
        .name = "spoor-names", .serve = serve, .memory = MEMORY, .patience_ms = PATIENCE_MS};
    if (deaths && clock_seconds(CLOCK_MONOTONIC) - died > FORGIVEN_AFTER)
        deaths = 0;
    return deaths < DEATHS_MAX ? apart_need(&options, &reader) : -EBADMSG;
}

static int ask(const struct text *question, struct apart_answer *answer)
{
    int error = start();
    if (error)
        return error;
    error = apart_ask(reader, 0, question, -1, answer);
    if (error == -EBADMSG) {
        deaths++;
        died = clock_seconds(CLOCK_MONOTONIC);
    }
    return error;
}

/* Takes an answer; NULL if it is none, or too long. */
static char *take_answer(struct cursor *in)
{
    const char *text = wire_take_text(in);
    return text && *text && strnlen(text, DEMANGLED_MAX + 1) <= DEMANGLED_MAX ? strdup(text) : NULL;
}

static int ask_for(const char *const *names, size_t count, char **answers)
{
    struct text question = {0};
    struct apart_answer answer = {.bytes = NULL};
    wire_put(&question, count);
    for (size_t i = 0; i < count; i++)
        wire_put_text(&question, names[i]);
    pthread_mutex_lock(&lock);
    const int error = question.failed ? -ENOMEM : ask(&question, &answer);
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < count && !error; i++)
        answers[i] = take_answer(&answer.in);
    apart_answer_free(&answer);
    text_free(&question);
    return error;
}

static char *demangle_here(const char *name)
{
    struct text out = {0};
    char *answer = demangle(name, &out) ? strdup(text_string(&out)) : NULL;
    text_free(&out);
    return answer;
}

/* Asks for each name alone, after the process died of one of several. */
static void ask_one_by_one(const char *const *names, size_t count, char **answers)
{
    for (size_t i = 0; i < count; i++)
        ask_for(&names[i], 1, &answers[i]);
}

void symbol_demangle_all(const char *const *names, size_t count, char **answers)
{
    const char *asked[ASKED_AT_ONCE];
    char *found[ASKED_AT_ONCE];
    size_t places[ASKED_AT_ONCE] = {0};
    for (size_t i = 0; i < count;) {
        size_t used = 0;
        for (; i < count && used < ASKED_AT_ONCE; i++) {
            answers[i] = NULL;
            if (!is_mangled(names[i]))
                continue;
            if (apart_inside()) {
                answers[i] = demangle_here(names[i]);
                continue;
            }
            found[used] = NULL;
            places[used] = i;
            asked[used++] = names[i];
        }
        if (used && ask_for(asked, used, found) && used > 1)
            ask_one_by_one(asked, used, found);
        for (size_t k = 0; k < used; k++)
            answers[places[k]] = found[k];
    }
}

char *symbol_demangle(const char *name)
{
    char *answer;
    symbol_demangle_all(&name, 1, &answer);
    return answer;
}

/* ---- the functions of a file ---- */

/* Bytes of the names of one file. The largest programs have less; a file with more was made to take minutes. */
#define NAMES_BYTES_MAX ((size_t)256 << 20)

struct batch {
    size_t count;
    size_t bytes; /* of all names of the file so far */
    struct elf_symbol symbols[ASKED_AT_ONCE];
    const char *names[ASKED_AT_ONCE];
    demangled_visitor *visit;
    void *context;
};

static int visit_batch(struct batch *batch)
{
    char *answers[ASKED_AT_ONCE];
    int stopped = 0;
    symbol_demangle_all(batch->names, batch->count, answers);
    for (size_t i = 0; i < batch->count; i++) {
        batch->bytes += answers[i] ? strlen(answers[i]) : 0;
        if (batch->bytes > NAMES_BYTES_MAX && !stopped)
            stopped = -EFBIG;
        if (answers[i] && !stopped)
            stopped = batch->visit(batch->context, &batch->symbols[i], answers[i]);
        free(answers[i]);
    }
    batch->count = 0;
    return stopped;
}

static int add_to_batch(void *context, const struct elf_symbol *symbol)
{
    struct batch *batch = context;
    if (!is_mangled(symbol->name))
        return 0;
    batch->symbols[batch->count] = *symbol;
    batch->names[batch->count++] = symbol->name;
    return batch->count == ASKED_AT_ONCE ? visit_batch(batch) : 0;
}

int demangle_each_function(struct elf_file *file, demangled_visitor *visit, void *context)
{
    struct batch *batch = calloc(1, sizeof *batch);
    if (!batch)
        return -ENOMEM;
    batch->visit = visit;
    batch->context = context;
    int error = elf_file_each_function(file, NULL, add_to_batch, batch);
    if (!error)
        error = visit_batch(batch);
    free(batch);
    return error;
}

void demangle_end(void)
{
    pthread_mutex_lock(&lock);
    apart_end(reader);
    reader = NULL;
    pthread_mutex_unlock(&lock);
}
