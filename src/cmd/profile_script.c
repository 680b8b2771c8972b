/* SPDX-License-Identifier: BSD-3-Clause */
/* The scripts of `spoor profile`: each fills @profile, whose key is whose stack it is and which one. */
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "cmd/command.h"
#include "cmd/profile.h"
#include "probe/kind.h"

#define SETTINGS "config = { max_map_keys = 65536; print_maps_on_exit = false; show_debug_info = true }\n\n"

/* Writes the key, for a process that is `who`'s. */
static void write_key(struct text *out, const struct profile_request *request, bool has_kernel)
{
    text_printf(out, "cgroup_path(cgroup), pid, comm%s%s",
                request->only_kernel      ? ""
                : request->frame_pointers ? ", ustack"
                                          : ", ustack(dwarf)",
                has_kernel && !request->only_user ? ", kstack" : "");
}

/* ---- on the CPU, and events ---- */

/* Whether only the command itself counts: the session chooses processes that it follows, and those of -p. */
static bool is_command_alone(const struct profile_request *request)
{
    return request->options->session.command && request->alone;
}

static void plan_on_cpu(const struct profile_request *request, struct profile_plan *plan)
{
    text_printf(&plan->script, SETTINGS "profile:hz:%llu\n/%s/\n{\n    @profile[",
                (unsigned long long)request->frequency, is_command_alone(request) ? "pid == cpid" : "pid");
    write_key(&plan->script, request, true);
    text_add(&plan->script, "] = count();\n}\n");
    text_add(&plan->title, "on CPU");
    plan->unit = "samples";
    plan->period = NSEC_PER_SEC / request->frequency;
}

static int report_event(const char *event)
{
    command_print(stderr, "ERROR: --event '%s': there is no such event\n", event);
    fputs("HINT: spoor -l 'software:*' and spoor -l 'hardware:*' list counters; a probe goes, too, as "
          "--event tracepoint:block:block_rq_issue\n",
          stderr);
    return 1;
}

/* Writes the probe of an event: a counter of perf's, NAME or NAME:COUNT, or any probe. */
static int plan_event(const struct profile_request *request, struct profile_plan *plan)
{
    const char *event = request->event, *colon = strchr(event, ':');
    struct text name = {0};
    uint32_t count;
    uint64_t each;
    text_append(&name, event, colon ? (size_t)(colon - event) : strlen(event));
    const char *kind = counter_kind(text_string(&name), &count);
    int status = 0;
    text_add(&plan->script, SETTINGS);
    if (kind) {
        each = count;
        if (colon && (!decimal_parse(colon + 1, &each) || !each || each > INT32_MAX)) {
            command_print(stderr, "ERROR: --event '%s': '%s' is not a count of events between two samples\n",
                          event, colon + 1);
            status = 1;
        }
        text_printf(&plan->script, "%s:%s:%llu", kind, text_string(&name), (unsigned long long)each);
        plan->scale = each;
        text_add(&plan->title, text_string(&name));
        plan->unit = "events";
    } else if (colon) {
        text_add(&plan->script, event);
        text_add(&plan->title, event);
        plan->unit = "events";
    } else
        status = report_event(event);
    text_printf(&plan->script, "%s\n{\n    @profile[", is_command_alone(request) ? "\n/pid == cpid/" : "");
    write_key(&plan->script, request, true);
    text_add(&plan->script, "] = count();\n}\n");
    text_free(&name);
    return status;
}

/* ---- off the CPU ---- */

/* Writes the blocks that keep @traced, the processes whose time counts. The event of a switch is in the context of the thread that
 * leaves, so that no filter of the session's can be meant. Threads are in it besides, as what fork has made. */
static void write_traced(struct text *out, const struct profile_request *request)
{
    const struct session_options *session = &request->options->session;
    text_add(out, "begin\n{\n");
    for (size_t i = 0; i < session->pid_count; i++)
        text_printf(out, "    @traced[%d] = 1;\n", (int)session->pids[i]);
    if (session->command)
        text_add(out, "    @traced[(int32)cpid] = 1;\n");
    text_printf(out, "    @living = %zu;\n}\n\n", session->pid_count + (session->command != NULL));
    if (!request->alone)
        text_add(out, "tracepoint:sched:sched_process_fork\n/@traced[pid]/\n{\n"
                      "    @traced[args.child_pid] = 1;\n    @living++;\n}\n\n");
    text_printf(out,
                "tracepoint:sched:sched_process_exit\n/@traced[tid]/\n{\n"
                "    delete(@traced, tid);\n    @living--;\n%s}\n\n",
                session->pid_count ? "    if (@living == 0) {\n        exit();\n    }\n" : "");
}

static void plan_off_cpu(const struct profile_request *request, struct profile_plan *plan)
{
    const struct session_options *session = &request->options->session;
    const bool is_limited = session->pid_count || session->command;
    struct text *out = &plan->script, stacks = {0};
    write_key(&stacks, request, true);
    text_add(out, SETTINGS);
    if (is_limited)
        write_traced(out, request);
    text_printf(out,
                "tracepoint:sched:sched_switch\n{\n"
                "    // Now is the last moment at which the stacks of the thread that leaves can be seen.\n"
                "    // A thread that has ended (EXIT_DEAD, EXIT_ZOMBIE) waits for nothing.\n"
                "    if (args.prev_pid != 0 && (args.prev_state & 0x30) == 0%s) {\n        "
                "@left[args.prev_pid] = (nsecs, (%s));\n    }\n"
                "    if (has_key(@left, args.next_pid)) {\n"
                "        $left = @left[args.next_pid];\n"
                "        if (nsecs - $left.0 >= %llu) {\n"
                "            @profile[$left.1] = sum(nsecs - $left.0);\n        }\n"
                "        delete(@left, args.next_pid);\n    }\n}\n\n"
                "end\n{\n    // What waits until now has waited, too.\n    for ($waiting : @left) {\n"
                "        if (nsecs - $waiting.1.0 >= %llu) {\n"
                "            @profile[$waiting.1.1] = sum(nsecs - $waiting.1.0);\n        }\n    }\n}\n",
                is_limited ? " && @traced[pid]" : "", text_string(&stacks),
                (unsigned long long)request->least, (unsigned long long)request->least);
    text_free(&stacks);
    text_add(&plan->title, "off CPU");
    plan->unit = "nanoseconds";
}

/* ---- allocations ---- */

static void plan_alloc(const struct profile_request *request, struct profile_plan *plan)
{
    static const struct {
        const char *functions, *bytes;
    } allocators[] = {
        {"uprobe:libc:malloc,\nuprobe:libc:valloc,\nuprobe:libc:pvalloc", "arg0"},
        {"uprobe:libc:calloc", "arg0 * arg1"},
        {"uprobe:libc:realloc,\nuprobe:libc:memalign,\nuprobe:libc:aligned_alloc", "arg1"},
        {"uprobe:libc:posix_memalign", "arg2"},
    };
    text_add(&plan->script, SETTINGS);
    for (size_t i = 0; i < sizeof allocators / sizeof *allocators; i++) {
        text_printf(&plan->script, "%s\n{\n    @profile[", allocators[i].functions);
        write_key(&plan->script, request, false);
        text_printf(&plan->script, "] = sum(%s);\n}\n\n", allocators[i].bytes);
    }
    text_add(&plan->title, "memory allocated");
    plan->unit = "bytes";
}

static void write_whose(const struct profile_request *request, struct text *title)
{
    const struct session_options *session = &request->options->session;
    if (session->command)
        text_printf(title, ": %s", session->command);
    else if (session->pid_count)
        for (size_t i = 0; i < session->pid_count; i++)
            text_printf(title, "%s%d", !i ? session->pid_count > 1 ? ": processes " : ": process " : ", ",
                        (int)session->pids[i]);
    else if (session->cgroup)
        text_printf(title, ": control group %s", session->cgroup);
    else
        text_add(title, ": all processes");
}

int profile_plan(const struct profile_request *request, struct profile_plan *plan)
{
    int status = 0;
    *plan = (struct profile_plan){.scale = 1};
    switch (request->measure) {
    case PROFILE_ON_CPU: plan_on_cpu(request, plan); break;
    case PROFILE_OFF_CPU: plan_off_cpu(request, plan); break;
    case PROFILE_EVENT: status = plan_event(request, plan); break;
    case PROFILE_ALLOC: plan_alloc(request, plan); break;
    }
    write_whose(request, &plan->title);
    return status;
}

void profile_plan_free(struct profile_plan *plan)
{
    text_free(&plan->script);
    text_free(&plan->title);
}
