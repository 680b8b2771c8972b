/* SPDX-License-Identifier: BSD-3-Clause */
/* Services: files that other users may have written (ELF files, debug information, archives, maps of generated
 * code) are read in a child of their own that has no privileges (base/sandbox.h). It gets a descriptor and a
 * question, and returns tables, which are checked before they are used. If it crashes, takes too long or needs too
 * much memory, there is no answer: names are missing, and the trace goes on.
 *
 * A child is made by fork when the first question is asked. It runs a function of its caller for every question,
 * whose state stays in the child from question to question. */
#ifndef SPOOR_SYM_APART_H
#define SPOOR_SYM_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "base/wire.h"

struct apart;

/* A question to the child. */
struct apart_question {
    uint32_t kind;
    /* the file that came with it, or -1. It is closed after the answer; a server that keeps it sets this to -1. */
    int fd;
    struct cursor in; /* as trustworthy as its sender */
};
/* Runs in the child. Appends the answer and returns 0, or returns -errno, which is then the answer. */
typedef int apart_server(void *state, struct apart_question *question, struct text *answer);

struct apart_options {
    const char *name; /* name of the process for ps, up to 15 characters */
    apart_server *serve;
    void *state;
    /* called in the child before it gives up its privileges; NULL: nothing is called. False: the child ends. */
    bool (*begin)(void *state);
    /* Called in the child while no question is there. Returns after how many milliseconds it is to be called again; -1: not
     * before the next question. NULL: nothing is called. */
    int (*idle)(void *state);
    const int *keep; /* descriptors that it keeps, under the same numbers; ends with -1; or NULL */
    uint64_t memory; /* bytes of address space that it may have; 0: no limit */
    bool may_open;   /* it may open files for reading, as the owner of */
    int owned;       /* this file, which is a descriptor; see struct sandbox */
    int patience_ms; /* how long an answer or a notice (apart_notify()) may take */
    /* Called in the parent with each notice that the child sends before its answer; NULL: notices are ignored. */
    void (*hear)(void *state, uint32_t kind, struct cursor *notice);
    void *hear_state;
};

/* Makes the child. Returns 0 or -errno. */
int apart_start(const struct apart_options *options, struct apart **out);
/* Makes the child unless *apart, which may be NULL, can still be asked; one that is gone is ended first. Returns 0, or -errno
 * with *apart NULL. */
int apart_need(const struct apart_options *options, struct apart **apart);
/* Ends the child, which is gone when this returns, unless it waits for a file system that does not answer. NULL
 * does nothing. */
void apart_end(struct apart *apart);

/* Called now and then while an answer is waited for; true: the question is given up. */
typedef bool apart_leaves(void *state);
void apart_may_leave(struct apart *apart, apart_leaves *leaves, void *state);

struct apart_answer {
    struct cursor in; /* untrusted, as the child is */
    char *bytes;
};
/* Asks the child. Returns 0 and the bytes of the answer, or the server's error. -EBADMSG: the child is gone, or had
 * to be ended, and only apart_end() may follow. question may be NULL; fd is sent along, -1: there is none. */
int apart_ask(struct apart *apart, uint32_t kind, const struct text *question, int fd,
              struct apart_answer *out);
void apart_answer_free(struct apart_answer *answer); /* to be called after an error, too */
bool apart_is_gone(const struct apart *apart);

/* ---- in the child ---- */

/* Whether this process is such a child, which can ask nobody. */
bool apart_inside(void);
/* From now on children end only when the process does, or at apart_end(), and not with the thread that made them:
 * in other programs threads come and go. */
void apart_outlive_threads(void);
/* For tests of the reading itself: from now on everything is read in this process, without a child. */
void apart_pretend(void);
/* For tests: how many children have died of a question, or had to be ended, in this process. */
unsigned apart_deaths(void);
/* For tests of callers: a function that changes each answer before it leaves the child. */
void apart_answers_change(void (*change)(struct text *answer));
/* Sends a notice to the parent's `hear`, before the answer. */
void apart_notify(uint32_t kind, const struct text *notice);

#endif
