/* SPDX-License-Identifier: BSD-3-Clause */
/* Steers the recording of a program from outside, through the memory that both share: the program does nothing for
 * it. What a format cannot do is an error that says why. */
#ifndef SPOOR_READER_CONTROL_H
#define SPOOR_READER_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "reader/reader.h"

struct control;

/* Opens a recording for control_is_enabled() and control_dump(). Here and below, functions return 0, or -errno with
 * the reason in `why`. */
int control_open(const char *path, struct control **result, struct text *why);
/* As control_open(), for every function: to steer the program that has the recording in its memory (write_access.h
 * says under which conditions). pid: the process; 0: the one that the recording names. Waits a little while another
 * tool steers it. */
int control_open_steering(const char *path, pid_t pid, struct control **result, struct text *why);
void control_close(struct control *control);
const struct recording *control_recording(const struct control *control);

/* Enables or disables tracepoints: `group` or `group:*`, `group:NAME`, `group:mask`, `all`, separated by commas;
 * with * and ? in groups and names. Nothing is changed if there is an error. */
int control_enable(struct control *control, const char *what, bool on, struct text *why);
/* Sets a filter of up to 8 owners and 8 objects; without any, removes it. Owners: b2, a number, or a description;
 * objects: the recorded id. */
int control_filter(struct control *control, const char *owners, const char *objects, struct text *why);
int control_clear(struct control *control, struct text *why);
/* Whether a tracepoint is enabled. */
bool control_is_enabled(struct control *control, const struct recording_tracepoint *tracepoint,
                        bool *is_filtered);
/* Writes the newest `nanoseconds` (0: everything) to a new file, which is a recording. */
int control_dump(struct control *control, uint64_t nanoseconds, const char *path, struct text *why);

#endif
