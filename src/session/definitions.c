/* SPDX-License-Identifier: BSD-3-Clause */
/* Where C headers come from, and names from outside the script: first its C definitions, then the
 * program that the probe is in, then the kernel's BTF; where a probe is in no program, the programs come
 * last. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open_foreign.h"
#include "base/rights.h"
#include "base/table.h"
#include "base/text.h"
#include "base/trusted_path.h"
#include "base/whole.h"
#include "lang/c/definitions.h"
#include "session/compiler.h"
#include "sym/kernel/btf.h"
#include "sym/kernel/kallsyms.h"

struct definitions {
    struct c_definitions *c;
    struct table enumerators;    /* of the kernel, by name, also those that are none */
    unsigned enumerators_missed; /* how many of these names are none */
};

struct c_definitions *definitions_c(const struct session *session)
{
    return session->compiler->definitions->c;
}

/* Opens a header for reading. With privileges, a file that others than root and the caller can have put there is refused
 * with -EPERM and *why. The search for headers also tries directories that others can write to: it is an error only if the
 * file is there. Returns a descriptor or -errno. */
static int open_header(struct session *session, const char *path, const char **why)
{
    struct text reason = {0};
    if (!rights_are_privileged())
        return foreign_open(path);
    int file = trusted_find(path, &reason);
    if (reason.length)
        *why = arena_copy(&session->arena, text_string(&reason), reason.length);
    text_free(&reason);
    if (file == -EPERM && (file = foreign_find(path)) >= 0) {
        close(file);
        return -EPERM;
    }
    int answer = file < 0 ? file : foreign_check(file, 0, NULL);
    if (!answer)
        answer = foreign_reopen(file, O_RDONLY);
    if (file >= 0)
        close(file);
    return answer;
}

/* Reads a header, which must be a regular file: a pipe or a device could make spoor wait. Returns 0 or -errno. */
static int read_header(void *state, const char *path, const char **text, size_t *length)
{
    enum { LARGEST = 16 << 20 };
    struct session *session = state;
    int descriptor = open_header(session, path, text);
    if (descriptor < 0)
        return descriptor == -ENOTDIR || descriptor == -EISDIR ? -ENOENT
               : foreign_is_not_regular(descriptor)            ? -EINVAL
                                                               : descriptor;
    struct stat status;
    int error = fstat(descriptor, &status) ? -errno : 0;
    if (!error && status.st_size > LARGEST)
        error = -EFBIG;
    struct text bytes = {0};
    if (!error)
        error = whole_read_text(descriptor, LARGEST, &bytes);
    close(descriptor);
    if (!error && memchr(text_string(&bytes), 0, bytes.length))
        error = -EINVAL; /* it has a NUL byte, so it is no text */
    if (!error) {
        *text = arena_copy(&session->arena, text_string(&bytes), bytes.length);
        *length = bytes.length;
    }
    text_free(&bytes);
    return error;
}

/* ---- names ---- */

static const struct type *kernel_type(void *state, const char *name)
{
    struct session *session = state;
    struct btf_file *btf = probe_btf(&session->environment);
    return btf ? btf_file_type(btf, name) : NULL;
}

/* Returns the context of the block that is being checked. */
static const struct probe_context *current_context(const struct session *session)
{
    return session->compiler->checker.unit ? session->compiler->checker.unit->context : NULL;
}

const struct type *definitions_type(struct session *session, const struct probe_context *context,
                                    const char *name)
{
    const struct type *type = c_type(definitions_c(session), name);
    bool is_program = context && context->program_path;
    if (!type && is_program)
        type = probe_program_type(&session->environment, context, name);
    if (!type)
        type = kernel_type(session, name);
    if (!type && !is_program && !c_common_type(name))
        type = probe_program_type(&session->environment, context, name);
    if (!type)
        type = c_common_type(name);
    const char *module;
    struct btf_file *btf;
    for (size_t n = 0; !type && (btf = probe_module_btf(&session->environment, n, &module)); n++)
        type = btf_file_type(btf, name);
    return type;
}

/* Finds a type for the block that is being checked. */
static const struct type *provide_type(void *state, const char *name)
{
    struct session *session = state;
    const struct type *type = enum_maps_type(session, name);
    return type ? type : definitions_type(session, current_context(session), name);
}

struct kernel_enumerator {
    const struct type *type; /* NULL: nothing has this name */
    int64_t value;
};

static const struct type *find_kernel_enumerator(struct session *session, const char *name, int64_t *value)
{
    struct btf_file *btf = probe_btf(&session->environment);
    const struct type *type = btf ? btf_file_enumerator_type(btf, name, value) : NULL;
    const char *module;
    for (size_t n = 0; !type && (btf = probe_module_btf(&session->environment, n, &module)); n++)
        type = btf_file_enumerator_type(btf, name, value);
    return type;
}

/* Finds an enumerator of the kernel. BTF has no index of them, so answers are kept, also that there is none. After MISSES_MAX
 * names that mean nothing no more are looked for: each takes long, and no more errors are shown. */
static const struct type *kernel_enumerator(struct session *session, const char *name, int64_t *value)
{
    enum { MISSES_MAX = 1000 };
    struct definitions *definitions = session->compiler->definitions;
    struct kernel_enumerator *known = table_find(&definitions->enumerators, name);
    if (!known && definitions->enumerators_missed == MISSES_MAX)
        return NULL;
    if (!known) {
        known = arena_new(&session->arena, struct kernel_enumerator);
        known->type = find_kernel_enumerator(session, name, &known->value);
        definitions->enumerators_missed += !known->type;
        table_put(&definitions->enumerators, name, known); /* without memory it is looked for again */
    }
    if (known->type)
        *value = known->value;
    return known->type;
}

static const struct type *provide_enumerator(void *state, const char *name, int64_t *value)
{
    struct session *session = state;
    const struct type *type = c_enumerator(definitions_c(session), name, value);
    if (type)
        return type;
    const struct probe_context *context = current_context(session);
    bool is_program = context && context->program_path;
    if (is_program && (type = probe_program_enumerator(&session->environment, context, name, value)))
        return type;
    type = kernel_enumerator(session, name, value);
    return type || is_program ? type : probe_program_enumerator(&session->environment, context, name, value);
}

static const char *provide_missing_header(void *state)
{
    return c_missing_header(definitions_c(state));
}

static int provide_kernel_address(void *state, const char *symbol, uint64_t *address)
{
    struct kallsyms *kallsyms = probe_kallsyms(&((struct session *)state)->environment);
    return kallsyms ? kallsyms_address(kallsyms, symbol, address) : -ENOENT;
}

static const struct type *provide_kernel_variable(void *state, const char *name)
{
    struct btf_file *btf = probe_btf(&((struct session *)state)->environment);
    uint32_t id = btf ? btf_file_id(btf, BTF_NAME_VARIABLE, name) : 0;
    const struct type *type = id ? btf_file_type_by_id(btf, id) : NULL;
    return type && type->kind != TYPE_NONE ? type : NULL;
}

static bool provide_kernel_function(void *state, const char *name)
{
    struct btf_file *btf = probe_btf(&((struct session *)state)->environment);
    return btf && btf_file_id(btf, BTF_NAME_FUNCTION, name);
}

static bool provide_kernel_function_allowed(void *state, const char *name,
                                            const struct probe_context *context)
{
    struct probe_environment *environment = &((struct session *)state)->environment;
    struct btf_file *btf = probe_btf(environment);
    uint32_t id = btf ? btf_file_id(btf, BTF_NAME_FUNCTION, name) : 0;
    return id && environment->asks_kernel &&
           kernel_function_allowed(context->program_type, context->expected_attach_type,
                                   context->attach_btf_id, id);
}

/* Reports what takes long, to a user at a terminal. */
static void report_waiting(void *state, const char *line, bool is_problem)
{
    if (is_problem || isatty(STDERR_FILENO))
        session_report(state, "%s\n", line);
}

void definitions_provide(struct session *session)
{
    session->compiler->provider =
        (struct type_provider){.state = session,
                               .type = provide_type,
                               .enumerator = provide_enumerator,
                               .missing_header = provide_missing_header,
                               .kernel_address = provide_kernel_address,
                               .kernel_variable = provide_kernel_variable,
                               .kernel_function = provide_kernel_function,
                               .kernel_function_allowed = provide_kernel_function_allowed};
}

void definitions_open(struct session *session)
{
    session->compiler->definitions = arena_new(&session->arena, struct definitions);
    const char *name = session->options.source->name, *slash = strrchr(name, '/');
    struct c_options options = {
        .arena = &session->arena,
        .diagnostics = &session->diagnostics,
        .directories = session->options.directories,
        .script_directory = slash == name ? "/"
                            : slash       ? arena_copy(&session->arena, name, (size_t)(slash - name))
                                          : ".",
        .have_btf = session->environment.features.btf && !access("/sys/kernel/btf/vmlinux", R_OK),
        .state = session,
        .read = read_header,
        .type = kernel_type,
    };
    session->compiler->definitions->c = c_open(&options);
    session->environment.report = report_waiting;
    session->environment.report_state = session;
    for (const char *const *header = session->options.headers; header && *header; header++)
        c_include(definitions_c(session), *header, (struct span){0});
}

void definitions_close(struct session *session)
{
    struct definitions *definitions = session->compiler->definitions;
    if (!definitions)
        return;
    table_free(&definitions->enumerators);
    c_close(definitions->c);
}

void definitions_report(struct session *session)
{
    const char *note;
    for (size_t n = 0; session->options.is_verbose && (note = c_note(definitions_c(session), n)); n++)
        session_report(session, "%s\n", note);
}
