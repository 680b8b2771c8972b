/* SPDX-License-Identifier: BSD-3-Clause */
#include "sym/instruction.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "sym/apart.h"

enum { PATIENCE_MS = 10000, AARCH64_BYTES = 4 };
#define MEMORY ((uint64_t)1 << 30)

/* ---- in the service ---- */

/* What is used of capstone. Its headers are not needed: these have been the same since its version 3. */
enum { CAPSTONE_X86 = 3, CAPSTONE_MODE_64 = 1 << 3 };
typedef int capstone_open(int architecture, int mode, size_t *handle);
typedef void *capstone_allocate(size_t handle);
typedef bool capstone_next(size_t handle, const uint8_t **code, size_t *size, uint64_t *address,
                           void *instruction);

static capstone_next *next; /* NULL: there is no capstone */
static size_t handle;
static void *instruction; /* which the library fills, and nobody reads */

/* Loads the library, while the process may still open files. */
static bool begin(void *state)
{
    static const char *const names[] = {"libcapstone.so.5", "libcapstone.so.4", "libcapstone.so.3"};
    void *library = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return true;
    capstone_open *prepare = (capstone_open *)dlsym(library, "cs_open");
    capstone_allocate *allocate = (capstone_allocate *)dlsym(library, "cs_malloc");
    capstone_next *decode = (capstone_next *)dlsym(library, "cs_disasm_iter");
    if (prepare && allocate && decode && !prepare(CAPSTONE_X86, CAPSTONE_MODE_64, &handle))
        instruction = allocate(handle);
    next = instruction ? decode : NULL;
    return true;
}

static int decode(const uint8_t *code, size_t size, uint64_t offset, struct instruction_bounds *out)
{
    uint64_t at = 0, before = 0;
    if (!next)
        return -ENOTSUP;
    while (at < offset) {
        before = at;
        if (!next(handle, &code, &size, &at, instruction) || at <= before)
            return -EILSEQ;
    }
    *out = (struct instruction_bounds){at == offset ? at : before, at};
    return 0;
}

/* Answers a question, which is an offset and code. */
static int serve(void *state, struct apart_question *question, struct text *answer)
{
    struct instruction_bounds bounds;
    size_t size;
    (void)state;
    uint64_t offset = wire_take(&question->in);
    const void *code = wire_take_bytes(&question->in, &size);
    int error = code ? decode(code, size, offset, &bounds) : -EINVAL;
    if (error)
        return error;
    wire_put(answer, bounds.below);
    wire_put(answer, bounds.above);
    return 0;
}

/* ---- in the process that asks ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct apart *reader; /* NULL: there is none */

static int start(void)
{
    static const struct apart_options options = {
        .name = "spoor-code", .serve = serve, .begin = begin, .memory = MEMORY, .patience_ms = PATIENCE_MS};
    return apart_need(&options, &reader);
}

static int ask(const void *code, size_t size, uint64_t offset, struct instruction_bounds *out)
{
    struct text question = {0};
    struct apart_answer answer = {.bytes = NULL};
    wire_put(&question, offset);
    wire_put_bytes(&question, code, size);
    pthread_mutex_lock(&lock);
    int error = question.failed ? -ENOMEM : start();
    if (!error)
        error = apart_ask(reader, 0, &question, -1, &answer);
    pthread_mutex_unlock(&lock);
    uint64_t below = error ? 0 : wire_take_within(&answer.in, offset);
    uint64_t above = error ? 0 : wire_take_within(&answer.in, offset + INSTRUCTION_BYTES_MAX);
    if (!error && (answer.in.is_bad || above < offset))
        error = -EBADMSG;
    if (!error)
        *out = (struct instruction_bounds){below, above};
    apart_answer_free(&answer);
    text_free(&question);
    return error;
}

int instruction_around(enum machine machine, const void *code, size_t size, uint64_t offset,
                       struct instruction_bounds *out)
{
    if (machine == MACHINE_AARCH64) {
        const uint64_t inside = offset % AARCH64_BYTES;
        *out =
            (struct instruction_bounds){offset - inside, inside ? offset - inside + AARCH64_BYTES : offset};
        return 0;
    }
    if (machine != MACHINE_X86_64)
        return -ENOTSUP;
    return size > INSTRUCTION_CODE_MAX ? -EFBIG : ask(code, size, offset, out);
}

bool instruction_has_decoder(enum machine machine)
{
    static const uint8_t nothing[] = {0x90};
    struct instruction_bounds bounds;
    return !instruction_around(machine, nothing, sizeof nothing, 0, &bounds);
}

void instruction_end(void)
{
    pthread_mutex_lock(&lock);
    apart_end(reader);
    reader = NULL;
    pthread_mutex_unlock(&lock);
}
