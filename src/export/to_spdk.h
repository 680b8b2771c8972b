/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two halves of the conversion to SPDK's format share: to_spdk_model.c plans and writes what is before the
 * events, to_spdk.c the events. */
#ifndef SPOOR_EXPORT_TO_SPDK_H
#define SPOOR_EXPORT_TO_SPDK_H

#include "export/convert.h"
#include "reader/spdk.h"

enum {
    TO_IDS = 1280,       /* ids that SPDK's reader knows, which looks them up by their place */
    TO_LCORES = 1024,    /* as many as SPDK's reader knows */
    TO_OWNERS = 16384,   /* as many as SPDK's programs have */
    TO_DESCRIPTION = 119 /* bytes of a description in SPDK's programs */
};

struct to_tracepoint { /* a tracepoint of the recording, by its id there */
    uint16_t id;       /* its id in the file */
    uint16_t bytes;    /* bytes of all arguments */
    uint8_t count;
    uint8_t sizes[SPDK_ARGUMENTS];
    int16_t owner;                    /* index of a type in the model; -1: not known */
    uint32_t longest[SPDK_ARGUMENTS]; /* length of the longest text that the argument had */
};

struct to_owner { /* in the order of recording_owner_at() */
    uint32_t id;
    uint16_t number; /* its number in the file */
    uint64_t since, until;
};

struct to_lcore {
    uint32_t number;
    char name[RECORDING_NAME];
    uint64_t *counts;  /* numbers of events, by id in the file; TO_IDS of them */
    uint64_t offset;   /* offset of its history */
    uint64_t capacity; /* slots */
    uint64_t used;     /* slots that have been written, or are in the buffer */
    uint64_t last;     /* time of its newest slot */
    unsigned buffered;
    struct spdk_slot *buffer;
};

struct to_spdk {
    const struct convert_job *job;
    struct to_tracepoint *tracepoints;
    uint16_t mark; /* id of SPDK_MARK in the file */
    struct to_owner *owners;
    size_t owner_count;
    unsigned owner_room;        /* owners in the file */
    uint16_t nobody;            /* the number of an owner without a description */
    unsigned description_bytes; /* bytes of each description */
    struct convert_threads threads;
    struct to_lcore *lcores; /* by the index of the thread */
    uint32_t lcore_room;
    uint64_t first;      /* time of the marks with which the lcores begin */
    uint64_t attributed; /* how many of the overwritten events were before an event */
};

/* to_spdk_plan() plans ids and owners, before the events are read. to_spdk_plan_sizes() plans sizes of arguments,
 * after the first reading. Returns 0, or -errno with the reason. */
int to_spdk_plan(struct to_spdk *to);
void to_spdk_plan_sizes(struct to_spdk *to);
/* Writes all sections at their places, the header last. to_spdk_head_bytes() returns how many bytes are in front of
 * the histories. */
uint64_t to_spdk_head_bytes(const struct to_spdk *to, unsigned lcores);
int to_spdk_write_head(struct to_spdk *to, unsigned lcores, uint64_t file_bytes);
/* Returns the number of an event's owner in the file. */
uint16_t to_spdk_owner(struct to_spdk *to, const struct recording_event *event);

#endif
