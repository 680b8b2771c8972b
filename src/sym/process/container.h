/* SPDX-License-Identifier: BSD-3-Clause */
/* Containers and pods, as those who run them name their control groups. */
#ifndef SPOOR_SYM_PROCESS_CONTAINER_H
#define SPOOR_SYM_PROCESS_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

struct container {
    const char
        *runtime; /* "docker", "containerd", "lxc" …; "pod" or "container" where its group does not say */
    const char *name; /* within the group's path: 64 hexadecimal digits, or the name that its owner gave it */
    size_t length;
    bool is_id;
};

/* Finds the container that a control group belongs to: "unified:/system.slice/docker-….scope". False: it is none's. */
bool container_find(const char *cgroup, struct container *out);
/* Appends the uid of the pod of Kubernetes that a control group belongs to, as its API writes it. False: it is none's. */
bool container_pod(const char *cgroup, struct text *out);

#endif
