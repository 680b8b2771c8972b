/* SPDX-License-Identifier: BSD-3-Clause */
/* For builtins that stand for an expression of the language: `ppid` is curtask.real_parent.tgid. The check
 * callback makes the expression once and keeps it in call.data; desugar_lower lowers it. */
#ifndef SPOOR_BUILTIN_DESUGAR_H
#define SPOOR_BUILTIN_DESUGAR_H

#include "bpf/lower/lower.h"

/* A bare name becomes the call without arguments, which has room for the expression. */
void desugar_call(struct node *node);
/* Makes nodes with the span of `at`. path: members, such as "real_parent.tgid". */
struct node *desugar_name(struct checker *checker, const struct node *at, const char *name);
struct node *desugar_path(struct checker *checker, struct node *object, const char *path);
struct node *desugar_cast(struct checker *checker, struct node *operand, const char *type);
struct node *desugar_call_of(struct checker *checker, const struct node *at, const char *name,
                             struct node *argument);

/* Turns the node into a constant of type bool. */
const struct type *desugar_bool(struct node *node, bool value);

struct ir *desugar_lower(struct lowering *l, struct node *node, struct destination *into);

#endif
