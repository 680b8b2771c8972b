/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing the recording: options, the file's plan, errors.
 *
 * The invariant: a failed open leaves nothing behind, and every tracepoint off.
 */
#include "recorder/state.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_DIRECTORY "/dev/shm" /* where readers look when no directory is named */

struct recorder recorder;

static _Thread_local char failure[512];

/* ---- lock: not a mutex, because the record path must be able to try it in a signal handler ---- */

enum { FREE, HELD, AWAITED };

bool recorder_try_lock(void)
{
    int expected = FREE;
    return __atomic_compare_exchange_n(&recorder.locked, &expected, HELD, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

void recorder_lock(void)
{
    if (recorder_try_lock())
        return;
    while (__atomic_exchange_n(&recorder.locked, AWAITED, __ATOMIC_ACQUIRE) != FREE)
        syscall(SYS_futex, &recorder.locked, FUTEX_WAIT_PRIVATE, AWAITED, NULL);
}

void recorder_unlock(void)
{
    if (__atomic_exchange_n(&recorder.locked, FREE, __ATOMIC_RELEASE) == AWAITED)
        syscall(SYS_futex, &recorder.locked, FUTEX_WAKE_PRIVATE, 1);
}

/* ---- errors ---- */

int recorder_fail(int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure, sizeof failure, format, arguments);
    va_end(arguments);
    return error;
}

const char *spoor_trace_error(void)
{
    return failure;
}

struct recording *recorder_own(void)
{
    if (recorder.generation == 0)
        return NULL;
    if (recorder.forked && inherit_open() != 0)
        return NULL;
    return &recorder.recording;
}

const char *spoor_trace_path(void)
{
    recorder_lock();
    const struct recording *recording = recorder_own();
    recorder_unlock();
    return recording != NULL ? recording->path : NULL;
}

/* ---- options ---- */

static const char *environment(const struct spoor_trace_options *options, const char *name)
{
    return options->flags & SPOOR_TRACE_NO_ENVIRONMENT ? NULL : secure_getenv(name);
}

static int set_text(char *to, size_t room, const char *what, const char *value)
{
    const size_t length = strlen(value);
    if (length == 0 || length >= room)
        return recorder_fail(-EINVAL, "option %s: '%.40s' is %s", what, value,
                             length == 0 ? "empty" : "too long");
    memcpy(to, value, length + 1);
    return 0;
}

static int set_names(struct recorder_settings *settings, const struct spoor_trace_options *options)
{
    const char *name = options->name != NULL ? options->name : program_invocation_short_name;
    int error = set_text(settings->name, sizeof settings->name, "name", name);
    for (char *at = settings->name; *at != '\0' && error == 0; at++)
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *at) == NULL) {
            if (options->name != NULL)
                return recorder_fail(-EINVAL, "option name: '%s' may have letters, digits and . _ - only",
                                     name);
            *at = '_';
        }
    const char *directory =
        options->directory != NULL ? options->directory : environment(options, "SPOOR_TRACE_DIR");
    if (error == 0)
        error = set_text(settings->directory, sizeof settings->directory, "directory",
                         directory != NULL ? directory : DEFAULT_DIRECTORY);
    char path[128];
    snprintf(path, sizeof path, "/tmp/%s", settings->name);
    if (error == 0)
        error = set_text(settings->dump_path, sizeof settings->dump_path, "dump_path",
                         options->dump_path != NULL ? options->dump_path : path);
    return error;
}

static int set_number(unsigned *to, const char *what, unsigned value, unsigned usual, unsigned least,
                      unsigned most)
{
    *to = value != 0 ? value : usual;
    if (*to < least || *to > most)
        return recorder_fail(-EINVAL, "option %s: %u is not from %u to %u", what, *to, least, most);
    return 0;
}

static int set_options(struct recorder_settings *settings, const struct spoor_trace_options *options)
{
    *settings = (struct recorder_settings){
        .ring_bytes = options->ring_bytes != 0 ? options->ring_bytes : 1 << 20,
        .flags = options->flags,
        .dump_signal = options->dump_signal,
        .dump_seconds = options->dump_seconds,
    };
    if (settings->ring_bytes < 8192 || settings->ring_bytes > 1u << 30 ||
        (settings->ring_bytes & (settings->ring_bytes - 1)) != 0)
        return recorder_fail(-EINVAL, "option ring_bytes: %llu is not a power of two from 8192 to %u",
                             (unsigned long long)settings->ring_bytes, 1u << 30);
    int error = set_names(settings, options);
    if (error == 0)
        error = set_number(&settings->threads, "threads", options->threads, 256, 1, LAYOUT_MAX_RINGS);
    if (error == 0)
        error = set_number(&settings->kept, "kept", options->kept, 16, 1, UINT32_MAX);
    if (error == 0)
        error = set_number(&settings->owners, "owners", options->owners, 1024, 1, 65536);
    return error;
}

/* ---- the file's plan ---- */

static uint64_t round_page(uint64_t bytes)
{
    return (bytes + LAYOUT_PAGE - 1) & ~(uint64_t)(LAYOUT_PAGE - 1);
}

static uint64_t first_ring(const struct recorder_settings *settings)
{
    return settings->ring_bytes < LAYOUT_RING_FIRST ? settings->ring_bytes : LAYOUT_RING_FIRST;
}

/* Returns how many bytes all rings may take: each of `threads` threads can have one of each size. */
static uint64_t rings_bytes(const struct recorder_settings *settings)
{
    uint64_t bytes = settings->ring_bytes, all = 2 * LAYOUT_PAGE + bytes;
    for (uint64_t size = first_ring(settings); size < bytes; size *= LAYOUT_RING_GROWS)
        all += 2 * LAYOUT_PAGE + size;
    return all * settings->threads;
}

static uint64_t most_rings(const struct recorder_settings *settings)
{
    const uint64_t rings = rings_bytes(settings) / (2 * LAYOUT_PAGE + first_ring(settings));
    return rings < LAYOUT_MAX_RINGS ? rings : LAYOUT_MAX_RINGS;
}

static struct layout_header plan(const struct recorder_settings *settings, const struct registry *registry,
                                 size_t sections_bytes)
{
    enum { SPARE_TRACEPOINTS = 1024, SPARE_SECTIONS = 1 << 16 }; /* for modules that are loaded later */
    struct layout_header header = {
        .version = LAYOUT_VERSION,
        .byte_order = LAYOUT_BYTE_ORDER,
        .header_bytes = sizeof header,
        .kind = LAYOUT_KIND_RINGS,
        .required = LAYOUT_REQUIRED_NONE,
        .optional = clock_is_invariant() ? LAYOUT_OPTIONAL_INVARIANT_COUNTER : 0,
#if defined(__x86_64__)
        .counter_kind = LAYOUT_COUNTER_TSC,
#else
        .counter_kind = LAYOUT_COUNTER_CNTVCT,
#endif
        .pid = (uint32_t)getpid(),
        .start_ticks = file_start_ticks(),
        .control_offset = LAYOUT_PAGE,
        .control_bytes = LAYOUT_PAGE,
        .enable_count = round_page(registry->tracepoint_count + 1 + SPARE_TRACEPOINTS),
        .owner_count = settings->owners,
        .owner_bytes = sizeof(struct layout_owner),
        .sections_bytes = round_page(sections_bytes + SPARE_SECTIONS),
        .place_bytes = sizeof(struct layout_place),
        .ring_limit = most_rings(settings),
        .ring_bytes = settings->ring_bytes,
        .block_bytes = LAYOUT_BLOCK_BYTES,
    };
    if (header.owner_count < owner_table_needed())
        header.owner_count = owner_table_needed() * 2;
    header.enable_offset = header.control_offset + header.control_bytes;
    header.owners_offset = header.enable_offset + header.enable_count;
    header.sections_offset = round_page(header.owners_offset + header.owner_count * header.owner_bytes);
    header.directory_offset = header.sections_offset + header.sections_bytes;
    header.rings_offset = round_page(header.directory_offset + header.ring_limit * header.place_bytes);
    return header;
}

/* ---- open ---- */

/* Says on standard error how to read the recording: by the process's id where `spoor report` looks by itself, else
 * by the path of the file. */
static void announce(const struct recording *recording)
{
    if (strcmp(recorder.settings.directory, DEFAULT_DIRECTORY) == 0)
        fprintf(stderr, "spoor: 'spoor report -p %d' shows what %s records, also while it runs;\n",
                (int)getpid(), recorder.settings.name);
    else
        fprintf(stderr, "spoor: 'spoor report -f %s' shows what %s records, also while it runs;\n",
                recording->path, recorder.settings.name);
    fprintf(stderr, "spoor: or copy %s for later.\n", recording->path);
}

static int create(const struct recorder_settings *settings, const struct registry *registry,
                  struct recording *recording)
{
    size_t sections_bytes = 0;
    const struct sections_from none = {0};
    uint8_t *sections = sections_build(registry, &none, settings, &sections_bytes);
    if (sections == NULL)
        return recorder_fail(-ENOMEM, "no memory for the table of tracepoints");
    struct layout_header header = plan(settings, registry, sections_bytes);
    const char *step = "";
    const int error = file_create(recording, settings, header.directory_offset, header.rings_offset,
                                  header.rings_offset + rings_bytes(settings), &step);
    if (error != 0) {
        free(sections);
        const char *hint = "";
        if (error == -ENOSPC)
            hint = "; 'spoor ctl clean' removes recordings of ended programs";
        else if (error == -EEXIST)
            hint = "; it is in use, or not ours";
        else if (error == -EOPNOTSUPP)
            hint = "; the file system cannot, choose another directory";
        else if (error == -EACCES || error == -ENOENT || error == -EROFS || error == -EPERM)
            hint = "; choose another directory with SPOOR_TRACE_DIR or the option";
        return recorder_fail(error, "cannot %s the recording %s: %s%s", step, recording->path,
                             strerror(-error), hint);
    }
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    header.realtime = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    header.opened = clock_read();
    header.counter_hz = clock_measure_rate(&header.opened);
    header.device = recording->device;
    header.inode = recording->inode;
    *recording->header = header;
    memcpy(recording->memory + header.sections_offset, sections, sections_bytes);
    recording->control->sections_used = sections_bytes;
    recording->control->rings_end = header.rings_offset;
    free(sections);
    return 0;
}

/* A program that was built with a later header has options behind those that are known here: none of them may be set. */
static int check_size(const struct spoor_trace_options *options)
{
    if (options == NULL || options->size < sizeof *options)
        return recorder_fail(-EINVAL, "option size: must be sizeof(struct spoor_trace_options)");
    for (size_t i = sizeof *options; i < options->size; i++)
        if (((const char *)options)[i] != 0)
            return recorder_fail(-EINVAL, "an option is set that this version of libspoor does not know");
    return 0;
}

static int open_recording(const struct spoor_trace_options *options)
{
    static struct recorder_settings settings; /* static because it is large; guarded by the lock */
    int error = check_size(options);
    if (error != 0)
        return error;
    if (recorder.generation != 0)
        return recorder_fail(-EALREADY, "there is a recording already: %s", recorder.recording.path);
    error = set_options(&settings, options);
    struct registry *registry = NULL;
    if (error == 0)
        error = registry_collect(&registry);
    if (error != 0)
        return error;
    const char *what = options->enable != NULL ? options->enable : environment(options, "SPOOR_TRACE");
    if (enable_is_help(what)) {
        enable_list(registry, stderr);
        registry_free(registry);
        return recorder_fail(-ECANCELED, "tracepoints were listed, nothing is recorded");
    }
    static struct recording recording;
    memset(&recording, 0, sizeof recording);
    char *enabled = what != NULL ? strdup(what) : NULL;
    if (what != NULL && enabled == NULL)
        error = recorder_fail(-ENOMEM, "no memory for the options");
    if (error == 0 && what != NULL)
        error = enable_check(registry, what);
    if (error == 0 && (error = inherit_prepare()) != 0)
        recorder_fail(error, "no memory for the handler of fork");
    if (error == 0)
        error = create(&settings, registry, &recording);
    if (error == 0) {
        recorder.settings = settings;
        error = dump_signal_begin();
        if (error != 0)
            file_discard(&recording);
    }
    if (error != 0) {
        free(enabled);
        registry_free(registry);
        return error;
    }

    recorder.registry = registry;
    recorder.enabled = enabled;
    recorder.sections_used = recording.control->sections_used;
    recorder.last_clock = recording.header->opened.counter;
    directory_begin();
    recorder.recording = recording;
    owner_publish();
    uint8_t *enable = recording.memory + recording.header->enable_offset;
    __atomic_store_n(&recorder.generation, ++recorder.generations, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(recording.header->magic, LAYOUT_MAGIC, sizeof recording.header->magic);
    if (what != NULL)
        enable_apply(registry, what, enable, LAYOUT_ENABLE_ON, 0);
    registry_point(registry, enable);
    if (settings.flags & SPOOR_TRACE_ANNOUNCE)
        announce(&recording);
    return 0;
}

int spoor_trace_open(const struct spoor_trace_options *options)
{
    failure[0] = '\0';
    recorder_lock();
    const int error = open_recording(options);
    recorder_unlock();
    return error;
}

/* ---- close ---- */

static void last_clock(void)
{
    /* Otherwise clock_publish() would leave out a clock that comes within a second of the one before. */
    recorder.last_clock -= recorder.recording.header->counter_hz * 2;
    const struct layout_clock clock = clock_read();
    clock_publish(&recorder.recording, &clock);
}

void spoor_trace_close(void)
{
    recorder_lock();
    struct recording *recording = recorder.forked ? NULL : recorder_own();
    if (recorder.generation != 0) {
        __atomic_store_n(&recorder.generation, 0, __ATOMIC_RELEASE);
        registry_point(recorder.registry, NULL);
        dump_signal_end();
        /* In the child of a fork that has no recording of its own yet, the file is still the parent's. */
        if (recording != NULL) {
            last_clock();
            recording->control->closed = spoor_counter_();
            if (recorder.settings.flags & SPOOR_TRACE_REMOVE)
                unlink(recording->path);
            file_close(recording);
        }
        recorder.forked = 0;
        file_retire(recorder.recording.memory, recorder.recording.mapped);
        ring_forget();
        registry_free(recorder.registry);
        recorder.registry = NULL;
        free(recorder.enabled);
        recorder.enabled = NULL;
    }
    recorder_unlock();
}

/* Publishes a last clock when the process ends: readers compute the counter's rate from the first triple and the
 * last. */
static void __attribute__((destructor)) at_exit(void)
{
    if (recorder_try_lock()) {
        if (recorder.generation != 0 && !recorder.forked)
            last_clock();
        recorder_unlock();
    }
}
