/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording that a process without privileges reads (service.h). This one asks it for what the recording declares and for
 * its events, checks what comes, and has a struct recording of its own with that (recording_wire.h). The file is open here,
 * too, but never read: it serves to find out whether its writer lives (liveness.h). */
#ifndef SPOOR_READER_ASK_H
#define SPOOR_READER_ASK_H

#include "reader/format.h"

/* Opens the recording, which has its path, its file and its options. Returns 0, or -errno with the reason. */
int ask_open(struct recording *recording, struct text *why);
/* As the functions of reader.h. */
int ask_keep_up(struct recording *recording);
int ask_refresh(struct recording *recording);
void ask_may_leave(struct recording *recording, bool (*leaves)(void *state), void *state);
bool ask_is_lost(const struct recording *recording);

extern const struct recording_format recording_format_apart;

#endif
