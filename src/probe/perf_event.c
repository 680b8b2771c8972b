/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs on perf events. -p is not given to the kernel for counters: an event follows one thread, and we
 * mean the whole process; the program filters by itself. Memory belongs to a process, so a watchpoint is set
 * in each of its threads. */
#include "probe/perf_event.h"

#include "sym/kernel/btf.h"

static void perf_event_fill(struct probe_environment *environment, const struct context_uses *uses,
                            struct probe_variant *variant)
{
    const struct perf_site *site = variant->sites[0].detail;
    struct probe_context *context = &variant->context;
    context->program_type = BPF_PROG_TYPE_PERF_EVENT;
    context->space = site->of_process ? SPACE_USER : SPACE_KERNEL;
    context->has_registers = true; /* struct bpf_perf_event_data begins with them */
    context->args_missing = "it has no arguments";
    if (uses->ctx) {
        struct btf_file *btf = probe_btf(environment);
        const struct type *data = btf ? btf_file_type(btf, "struct bpf_perf_event_data_kern") : NULL;
        context->ctx = type_pointer(environment->arena, data ? data : &type_none, SPACE_KERNEL);
    }
}

int perf_event_plan(const struct probe_kind *kind, struct probe_environment *environment,
                    const struct context_uses *uses, const struct probe_sites *sites,
                    struct probe_variants *variants)
{
    return probe_plan_simple(kind, environment, uses, sites, variants, perf_event_fill);
}

int perf_event_attach(struct probe_environment *environment, struct kernel *kernel,
                      const struct probe_variant *variant, struct attach_request *request)
{
    for (size_t i = 0; i < variant->count; i++) {
        const struct perf_site *site = variant->sites[i].detail;
        request->name = variant->sites[i].name;
        request->span = variant->sites[i].span;
        size_t count = site->of_process && !environment->pid ? environment->process_count : 0;
        pid_t pid = site->of_process && environment->pid ? environment->pid : -1;
        for (size_t k = 0; k < (count ? count : 1); k++) {
            int error = kernel_attach_perf_event(kernel, request, &site->attributes,
                                                 count ? environment->processes[k] : pid);
            if (error)
                return error;
        }
    }
    return 0;
}
