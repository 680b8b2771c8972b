/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and closes the kernel host, and holds its table of operations. What the operations do stands in the
 * other files of this folder. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/kernel_error.h"
#include "base/number.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/whole.h"
#include "kernel/state.h"
#include "sym/kernel/tracefs.h"

enum { LOG_SIZE = 1 << 20 };

static struct image_control *kernel_control(struct host *host)
{
    return kernel_of(host)->control;
}

static int kernel_descriptor(struct host *host)
{
    return kernel_of(host)->rings.epoll;
}

static uint64_t kernel_disorder(struct host *host)
{
    return kernel_of(host)->rings.disorder;
}

static uint64_t kernel_clock(struct host *host)
{
    (void)host;
    return clock_ns(CLOCK_BOOTTIME);
}

static void kernel_close(struct host *host)
{
    struct kernel *kernel = kernel_of(host);
    timers_free(kernel);
    kernel_detach_from(kernel, 0);
    free(kernel->attachments);
    if (kernel->tracefs)
        tracefs_close(kernel->tracefs);
    for (size_t i = 0; i < kernel->program_count; i++) {
        if (kernel->programs[i].fd >= 0)
            close(kernel->programs[i].fd);
        free(kernel->programs[i].log);
    }
    free(kernel->programs);
    growth_end(kernel);
    ring_close(&kernel->rings);
    ring_close(&kernel->own_rings);
    watch_close(kernel);
    if (kernel->control)
        munmap(kernel->control, kernel->control_size);
    for (size_t i = 0; i < kernel->map_count; i++)
        close(kernel->maps[i].fd);
    free(kernel->maps);
    free(kernel->online);
    free(kernel);
}

static const struct host_operations kernel_operations = {
    .create_maps = create_maps,
    .add_maps = add_maps,
    .load = load_program,
    .run = load_run,
    .map_each = map_each,
    .map_lookup = map_lookup,
    .map_update = map_update,
    .map_delete = map_delete,
    .map_clear = map_clear,
    .map_zero = map_zero,
    .control = kernel_control,
    .descriptor = kernel_descriptor,
    .consume = ring_consume,
    .consume_own = ring_consume_own,
    .disorder = kernel_disorder,
    .clock = kernel_clock,
    .runs = load_runs,
    .unwatch = attach_unwatch,
    .close = kernel_close,
};

/* The CPUs of a list like "0-3,8": those that are online. Without the file: as many as sysconf counts. */
static int kernel_online(struct kernel *kernel)
{
    char text[4096];
    unsigned possible = kernel->host.features.cpus;
    kernel->online = calloc(possible, sizeof *kernel->online);
    if (!kernel->online)
        return -ENOMEM;
    whole_read_short("/sys/devices/system/cpu/online", text, sizeof text);
    for (const char *at = text; *at; at += *at == ',') {
        uint64_t first, last;
        if (!number_take(&at, NULL, 10, &first))
            break;
        last = first;
        if (*at == '-' && (at++, !number_take(&at, NULL, 10, &last)))
            break;
        for (; first <= last && first < possible && kernel->online_count < possible; first++)
            kernel->online[kernel->online_count++] = (unsigned)first;
    }
    if (!kernel->online_count) {
        long count = sysconf(_SC_NPROCESSORS_ONLN);
        while (kernel->online_count < possible && (long)kernel->online_count < (count > 0 ? count : 1)) {
            kernel->online[kernel->online_count] = (unsigned)kernel->online_count;
            kernel->online_count++;
        }
    }
    kernel->host.features.rings = kernel->online[kernel->online_count - 1] + 1;
    return 0;
}

/* Reports why the kernel refused even the smallest program. */
static void kernel_explain(struct diagnostics *diagnostics, int error)
{
    struct span span = {0};
    if (error == -EPERM || error == -EACCES) {
        permission_explain(diagnostics, span, "Tracing");
    } else if (error == -ENOSYS) {
        diagnose_error(diagnostics, span, "This kernel has no bpf(2)");
        diagnose_hint(diagnostics, "It was built without CONFIG_BPF_SYSCALL, or a sandbox hides it.");
    } else {
        diagnose_error(diagnostics, span, "The kernel does not load any BPF program: %s",
                       kernel_error(error));
        diagnose_hint(diagnostics, "Programs of the kprobe type need CONFIG_BPF_EVENTS.");
    }
}

/* Whether the kernel has the features for which there is no fallback; reports those that it lacks. */
static int kernel_suffices(const struct kernel *kernel, struct diagnostics *diagnostics)
{
    static const char *const needs[] = {"ring_buffer", "boot_clock"};
    struct text why = {0};
    struct utsname name;
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        if (kernel_lacks(kernel, needs[i], &why)) {
            diagnose_error(diagnostics, (struct span){0}, "spoor does not run on this kernel (%s): %s",
                           uname(&name) ? "unknown" : name.release, text_string(&why));
            text_free(&why);
            return -ENOSYS;
        }
    return 0;
}

int kernel_open(const struct kernel_options *options, struct diagnostics *diagnostics, struct kernel **out)
{
    struct kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return -ENOMEM;
    kernel->host.operations = &kernel_operations;
    kernel->verbose = options ? options->verbose : 0;
    kernel->log_size = options && options->log_size >= 128 ? options->log_size : LOG_SIZE;
    kernel->license = options && options->license ? options->license : "GPL";
    kernel->rings.epoll = -1;
    int error = features_probe(&kernel->host.features, kernel->lacked);
    if (error)
        kernel_explain(diagnostics, error);
    if (!error && options && options->without)
        error = features_without(&kernel->host.features, options->without, diagnostics);
    if (!error)
        error = kernel_suffices(kernel, diagnostics);
    if (!error)
        error = kernel_online(kernel);
    if (error) {
        kernel_close(&kernel->host);
        return error;
    }
    *out = kernel;
    return 0;
}

struct host *kernel_host(struct kernel *kernel)
{
    return &kernel->host;
}

const char *kernel_log(struct kernel *kernel, size_t program)
{
    return program < kernel->program_count ? kernel->programs[program].log : NULL;
}

void kernel_describe_rights(struct text *out)
{
    struct utsname name;
    if (!uname(&name))
        text_printf(out, "  %-20s %s %s\n", "kernel", name.release, name.machine);
    permission_describe(out);
}

void kernel_describe(struct kernel *kernel, struct text *out)
{
    features_probe_thoroughly(&kernel->host.features, kernel->lacked);
    kernel_describe_rights(out);
    text_printf(out, "  %-20s %zu\n", "online CPUs", kernel->online_count);
    text_printf(out, "  %-20s %u\n\nfeatures\n", "possible CPUs", kernel->host.features.cpus);
    features_describe(&kernel->host.features, kernel->lacked, out);
    text_add(out, "\nhelpers of programs\n");
    helpers_describe(out);
}

bool kernel_lacks(const struct kernel *kernel, const char *feature, struct text *out)
{
    return features_lacks(&kernel->host.features, kernel->lacked, feature, out);
}

void kernel_each_missing(struct kernel *kernel, kernel_feature_visitor *visit, void *state)
{
    features_probe_thoroughly(&kernel->host.features, kernel->lacked);
    features_each_missing(&kernel->host.features, kernel->lacked, visit, state);
}

size_t kernel_attached(const struct kernel *kernel)
{
    return kernel->attachment_count;
}

void kernel_describe_attachments(const struct kernel *kernel, struct text *out)
{
    for (size_t i = 0; i < kernel->attachment_count; i++)
        terminal_print(out, "%s\n",
                       kernel->attachments[i].description ? kernel->attachments[i].description : "?");
}
