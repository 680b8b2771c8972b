/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading what others wrote, in a process of its own that has no privileges (base/sandbox.h): ELF files, debug
 * information, archives, maps of generated code. It gets a descriptor and a question, and hands back tables,
 * which are checked before they are used. When it crashes, takes too long or too much memory, there is no
 * answer: names are missing, and the trace goes on.
 *
 * Such a child is made by fork when the first question is asked. What serves it is a function of ours, which
 * runs there; its state stays there from question to question. */
#ifndef SPOOR_SYM_APART_H
#define SPOOR_SYM_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "base/wire.h"

struct apart;

/* What the child is asked. */
struct apart_question {
    uint32_t kind;
    int fd; /* the file that came with it, or -1; closed when it was answered: to keep it, set it to -1 */
    struct cursor in; /* untrusted no more than its sender is */
};
/* Runs in the child. Appends the answer; 0, or -errno, which is the answer then. */
typedef int apart_server(void *state, struct apart_question *question, struct text *answer);

struct apart_options {
    const char *name; /* of the process, for ps: up to 15 characters */
    apart_server *serve;
    void *state;
    bool (*begin)(
        void *state); /* in the child, before it gives up everything; NULL: nothing. False: it ends */
    const int *keep;  /* descriptors that it goes on having, under the same numbers; ends with -1 */
    uint64_t memory;  /* bytes of addresses that it may have; 0: no limit */
    bool may_open;    /* files, for reading, as the owner of … */
    int owned;        /* … this file; see struct sandbox */
    int patience_ms;  /* for an answer, or a sign of life (apart_tell) */
    /* In the parent: what the child tells meanwhile; NULL: nobody listens. */
    void (*hear)(void *state, uint32_t kind, struct cursor *notice);
    void *hear_state;
};

/* Makes the child. -errno. */
int apart_start(const struct apart_options *options, struct apart **out);
/* NULL is fine. The child is gone when this returns, unless it waits for a file system that does not answer. */
void apart_end(struct apart *apart);

/* Asked while an answer is waited for, now and then; true: it is given up. */
typedef bool apart_leaves(void *state);
void apart_may_leave(struct apart *apart, apart_leaves *leaves, void *state);

struct apart_answer {
    struct cursor in; /* the child is not trusted either */
    char *bytes;
};
/* What the server answered: 0 with bytes to take, or its error. -EBADMSG: the child is gone, or had to be ended;
 * only apart_end can follow. question may be NULL; fd is sent along, -1: none. */
int apart_ask(struct apart *apart, uint32_t kind, const struct text *question, int fd,
              struct apart_answer *out);
void apart_answer_free(struct apart_answer *answer); /* after an error, too */
bool apart_is_gone(const struct apart *apart);

/* ---- in the child ---- */

/* Are we one? Then there is nobody to ask. */
bool apart_inside(void);
/* From now on children do not end with the thread that makes them, but only when the process does, or apart_end is
 * called: in other programs, threads come and go. */
void apart_outlive_threads(void);
/* For tests that want to see the reading itself: reads here, without a child, from now on. */
void apart_pretend(void);
/* For tests: how many children have died of a question, or had to be ended, in this process. */
unsigned apart_deaths(void);
/* For tests of who asks: what is done to each answer before it leaves the child. */
void apart_answers_change(void (*change)(struct text *answer));
/* Something for the parent's `hear`, before the answer. */
void apart_notify(uint32_t kind, const struct text *notice);

#endif
