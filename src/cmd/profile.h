/* SPDX-License-Identifier: BSD-3-Clause */
/* What `spoor profile` was asked for, and the script that measures it. */
#ifndef SPOOR_CMD_PROFILE_H
#define SPOOR_CMD_PROFILE_H

#include "base/text.h"
#include "cmd/options.h"

enum profile_measure { PROFILE_ON_CPU, PROFILE_OFF_CPU, PROFILE_EVENT, PROFILE_ALLOC };

struct profile_request {
    struct options *options; /* its processes and its command */
    enum profile_measure measure;
    uint64_t frequency; /* samples a second on each CPU */
    uint64_t least;     /* off the CPU: shorter times are left out, ns */
    const char *event;  /* as it was given */
    bool only_user, only_kernel;
    bool frame_pointers; /* user stacks by frame pointers, not by call frame information */
    bool alone;          /* not what the processes start */
};

/* What the script measures, for the profile that is made of its map @profile. */
struct profile_plan {
    struct text script, title;
    const char *unit;
    uint64_t scale;  /* what one of the map's counts is worth */
    uint64_t period; /* ns between two samples; 0: they do not come by time */
};

/* Writes the script. Returns 0, or 1 after a message. */
int profile_plan(const struct profile_request *request, struct profile_plan *plan);
void profile_plan_free(struct profile_plan *plan);

#endif
