/* SPDX-License-Identifier: BSD-3-Clause */
/* Control groups by path and by number. The number of the current one is in process.c. */
#include <errno.h>
#include <string.h>

#include "bpf/lower/lower.h"
#include "builtin/all.h"
#include "sym/process/cgroup.h"

static const struct type *check_cgroupid(struct checker *checker, struct node *node)
{
    struct node *path = check_argument(node, 0);
    uint64_t number;
    int error = cgroup_number(check_literal(path), &number);
    if (error == -EINVAL)
        check_error(checker, path->span, "cgroupid: '%s' is not a control group", check_literal(path));
    else if (error)
        check_error(checker, path->span, "cgroupid: '%s' cannot be looked at: %s", check_literal(path),
                    strerror(-error));
    if (error) {
        check_hint(checker, "groups are directories of a cgroup2 file system: see grep cgroup2 /proc/mounts");
        return NULL;
    }
    uint64_t *kept = arena_new(checker->arena, uint64_t);
    *kept = number;
    node->call.data = kept;
    return &type_u64;
}

static struct ir *lower_cgroupid(struct lowering *l, struct node *node, struct destination *into)
{
    const uint64_t *number = node->call.data;
    (void)into;
    return ir_constant(&l->b, number ? (int64_t)*number : 0);
}

static const struct type *check_cgroup_path(struct checker *checker, struct node *node)
{
    struct type *type = arena_new(checker->arena, struct type);
    *type = *type_simple(checker->arena, TYPE_CGROUP_PATH);
    /* A pattern for names of hierarchies; NULL: all of them. */
    type->format = check_literal(check_argument(node, 1));
    return type;
}

static const struct type *check_container(struct checker *checker, struct node *node)
{
    (void)node;
    return type_simple(checker->arena, TYPE_CONTAINER);
}

static const struct type *check_pod(struct checker *checker, struct node *node)
{
    (void)node;
    return type_simple(checker->arena, TYPE_POD);
}

static struct ir *lower_cgroup_path(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir *number = lower_scalar(l, check_argument(node, 0));
    if (destination_is_memory(into))
        ir_store(&l->b, into->memory.base, into->memory.offset, 8, number);
    return NULL;
}

const struct builtin builtins_cgroup[] = {
    {"cgroupid",
     "cgroupid(\"path\")",
     BUILTIN_CALL,
     1,
     1,
     {PARAMETER_LITERAL_STRING},
     .check = check_cgroupid,
     .lower = lower_cgroupid},
    {"cgroup_path",
     "cgroup_path(number [, \"filter\"])",
     BUILTIN_CALL,
     1,
     2,
     {PARAMETER_INTEGER, PARAMETER_LITERAL_STRING},
     .check = check_cgroup_path,
     .lower = lower_cgroup_path},
    {"container",
     "container(number)",
     BUILTIN_CALL,
     1,
     1,
     {PARAMETER_INTEGER},
     .check = check_container,
     .lower = lower_cgroup_path},
    {"pod",
     "pod(number)",
     BUILTIN_CALL,
     1,
     1,
     {PARAMETER_INTEGER},
     .check = check_pod,
     .lower = lower_cgroup_path},
    {0},
};
