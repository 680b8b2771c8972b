/* SPDX-License-Identifier: BSD-3-Clause */
/* watchpoint: the processor's own breakpoints, which fire when memory is read, written or executed. Few: x86
 * has four.
 *
 * An address of the kernel, or of no process in particular, is watched on every CPU; one of a process (-p,
 * -c) in all of its threads. */
#include <stdlib.h>
#include <string.h>

#include "probe/all.h"
#include "probe/perf_event.h"
#include "probe/point.h"
#include "sym/machine/machine.h"

/* The bits of <linux/hw_breakpoint.h>, which defines names that clash with those here. */
enum { WATCH_READ = 1, WATCH_WRITE = 2, WATCH_EXECUTE = 4 };

static const uint64_t kernel_half = 1ull << 63;

static int watch_removed(struct probe_environment *environment, const struct attach_point *point)
{
    diagnose_error(environment->diagnostics, point->span,
                   "watchpoints at a function's argument do not exist any more");
    diagnose_hint(
        environment->diagnostics,
        "find the address with a uprobe first, as in uprobe:BINARY:FUNCTION { printf(\"%%p\\n\", arg0); "
        "}, and watch it: watchpoint:ADDRESS:LENGTH:MODE");
    return -EINVAL;
}

static int watch_address(struct probe_environment *environment, const struct attach_point *point,
                         struct perf_event_attr *event)
{
    const char *text = point_piece(point, 1);
    uint64_t address;
    if (text && strchr(text, '+') && !point_number(text, &address))
        return watch_removed(environment, point);
    if (!text || !point_number(text, &address) || !address) {
        diagnose_error(environment->diagnostics, point_span(point, 1), "'%s' is not an address",
                       text ? text : "");
        diagnose_hint(environment->diagnostics,
                      "addresses are numbers, as in watchpoint:0x10000000:8:w, or $1");
        return -EINVAL;
    }
    event->bp_addr = address;
    return 0;
}

static int watch_length(struct probe_environment *environment, const struct attach_point *point,
                        struct perf_event_attr *event)
{
    const char *text = point_piece(point, 2);
    uint64_t length = 0;
    if (!text || !point_number(text, &length) || (length != 1 && length != 2 && length != 4 && length != 8)) {
        diagnose_error(environment->diagnostics, point_span(point, 2),
                       "watchpoint length must be one of (1,2,4,8)");
        return -EINVAL;
    }
    event->bp_len = length;
    if (event->bp_addr % length) {
        diagnose_error(environment->diagnostics, point_span(point, 1),
                       "watchpoint address must be a multiple of its length, %s bytes", text);
        diagnose_hint(environment->diagnostics, "watch a shorter piece, or the aligned one that holds it");
        return -EINVAL;
    }
    return 0;
}

static int watch_mode(struct probe_environment *environment, const struct attach_point *point,
                      struct perf_event_attr *event)
{
    static const struct {
        char letter;
        uint32_t type;
    } modes[] = {{'r', WATCH_READ}, {'w', WATCH_WRITE}, {'x', WATCH_EXECUTE}};
    const char *text = point_piece(point, 3), *problem = NULL, *hint = NULL;
    uint32_t type = 0;
    for (const char *at = text ? text : ""; *at && !problem; at++) {
        uint32_t one = 0;
        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
            one |= modes[i].letter == *at ? modes[i].type : 0;
        if (!one || type & one)
            problem =
                one ? "watchpoint mode has a letter twice" : "watchpoint mode must be combination of (r,w,x)";
        type |= one;
    }
    if (!type && !problem)
        problem = "watchpoint mode must be combination of (r,w,x)";
    if (!problem && type & WATCH_EXECUTE && type != WATCH_EXECUTE) {
        problem = "watchpoint mode cannot have x together with r or w";
        hint = "use two probes";
    }
    if (!problem && machine_here() == MACHINE_X86_64 && type == WATCH_READ) {
        problem = "this processor cannot watch for reading alone";
        hint = "write rw";
    }
    if (!problem && machine_here() == MACHINE_X86_64 && type == WATCH_EXECUTE &&
        event->bp_len != sizeof(long) && event->bp_len != 1) {
        problem = "this processor watches for execution with length 1 or 8";
        hint = "write 1 for the length; it is the address that counts";
    }
    if (!problem && machine_here() == MACHINE_X86_64 && type == WATCH_EXECUTE)
        event->bp_len = sizeof(long); /* the kernel takes no other length for instructions */
    event->bp_type = type;
    if (!problem)
        return 0;
    diagnose_error(environment->diagnostics, point_span(point, 3), "%s", problem);
    if (hint)
        diagnose_hint(environment->diagnostics, "%s", hint);
    return -EINVAL;
}

static int watch_expand(const struct probe_kind *kind, struct probe_environment *environment,
                        const struct attach_point *point, struct probe_sites *sites)
{
    if (!point_count(environment, kind, point, 3, 3))
        return -EINVAL;
    struct perf_site *site = arena_new(environment->arena, struct perf_site);
    struct perf_event_attr *event = &site->attributes;
    *event =
        (struct perf_event_attr){.size = sizeof *event, .type = PERF_TYPE_BREAKPOINT, .sample_period = 1};
    if (watch_address(environment, point, event) || watch_length(environment, point, event) ||
        watch_mode(environment, point, event))
        return -EINVAL;
    site->of_process = event->bp_addr < kernel_half;
    probe_site_add(environment, sites, point, point_name(environment, kind->name, point), NULL, site);
    return 0;
}

static int watch_list(const struct probe_kind *kind, struct probe_environment *environment,
                      const struct attach_point *pattern, bool verbose, probe_visitor *visit, void *state)
{
    (void)kind, (void)environment, (void)pattern, (void)verbose, (void)visit, (void)state;
    return 0; /* every address can be watched */
}

const struct probe_kind probe_kind_watchpoint = {
    .name = "watchpoint",
    .needs = (const char *const[]){"watchpoint", NULL},
    .aliases = (const char *const[]){"w", NULL},
    .forms = "watchpoint:ADDRESS:LENGTH:MODE (1, 2, 4, 8; of r, w, x)",
    .what = "memory at an address is read, written or executed",
    .expand = watch_expand,
    .plan = perf_event_plan,
    .attach = perf_event_attach,
    .list = watch_list,
};
