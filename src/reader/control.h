/* SPDX-License-Identifier: BSD-3-Clause */
/* Steering a program's recording from outside: through the same memory, the program takes no part. What a
 * format cannot do is an error that says why. */
#ifndef SPOOR_READER_CONTROL_H
#define SPOOR_READER_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "reader/reader.h"

struct control;

/* 0, or -errno with the reason; here and below. Only for reading: control_is_enabled and control_dump. */
int control_open(const char *path, struct control **result, struct text *why);
/* The same for steering the program that has the recording in its memory: see write_access.h for what must be
 * so. pid: which process; 0: the recording's. Waits a little until no other tool steers it. */
int control_open_steering(const char *path, pid_t pid, struct control **result, struct text *why);
void control_close(struct control *control);
const struct recording *control_recording(const struct control *control);

/* `group` or `group:*`, `group:NAME`, `group:mask`, `all`; comma separated; * and ? in groups and names. All
 * or nothing. */
int control_enable(struct control *control, const char *what, bool on, struct text *why);
/* Up to 8 of each; none: no filter. Owners: b2, its number, or its description; objects: the recorded id. */
int control_filter(struct control *control, const char *owners, const char *objects, struct text *why);
int control_clear(struct control *control, struct text *why);
/* Is the tracepoint on? */
bool control_is_enabled(struct control *control, const struct recording_tracepoint *tracepoint,
                        bool *is_filtered);
/* The newest `nanoseconds` (0: everything) to a new file, which is a recording. */
int control_dump(struct control *control, uint64_t nanoseconds, const char *path, struct text *why);

#endif
