/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads one recording in a process without privileges (sym/apart.h), for another one that asks (ask.h). */
#ifndef SPOOR_READER_SERVICE_H
#define SPOOR_READER_SERVICE_H

#include "sym/apart.h"

/* Questions, in this order; those of the last two kinds come again and again. */
enum service_question {
    /* The file comes along, and its path; back come is_spdk and whom it names as its writer. */
    SERVICE_WRITER,
    /* `relate` and a liveness; back come an error with its reason, or what REFRESH brings. */
    SERVICE_OPEN,
    SERVICE_KEEP_UP, /* from now on it is copied between questions, too */
    SERVICE_REFRESH, /* a liveness; back come an error, or 0, the state, and what NEXT brings */
    SERVICE_NEXT,    /* back come whether there is more, counts, and events */
};

struct service;
struct service *service_make(void); /* NULL: memory ran out */
void service_free(struct service *service);
apart_server service_serve;
int service_idle(void *service);

#endif
