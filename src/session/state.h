/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this folder share. Nobody else includes it. */
#ifndef SPOOR_SESSION_STATE_H
#define SPOOR_SESSION_STATE_H

#include <pthread.h>
#include <regex.h>

#include "base/table.h"
#include "bpf/lower_processes.h"
#include "bpf/lower.h"
#include "builtin/event_handler.h"
#include "lang/check.h"
#include "session/command_terminal.h"
#include "session/session.h"
#include "sym/symbolize.h"
#include "vm/vm.h"

struct session_unit { /* one program */
    struct action_block *block;
    struct probe_variant *variant;
    uint32_t name_base;
    size_t program;           /* in the image */
    uint64_t skipped, missed; /* events until the end of the trace for which the kernel did not run it */
};

struct runtime_error_state { /* of one counter */
    uint64_t reported;
};

struct session_child {
    pid_t pid;
    int pidfd;
    bool is_stopped; /* by SIGSTOP, until all is attached */
    struct command_terminal terminal;
    int go, failed; /* pipes: written to let it start; brings errno when it cannot be executed. -1: none */
};

struct cgroup_name { /* what was found for cgroup_path() */
    struct cgroup_name *next;
    uint64_t number;
    const char *filter, *path;
};

struct session_text { /* that was imported */
    const struct source *source;
    unsigned script;  /* by which: 0 is options.source, others are those of options.more */
    const char *path; /* without links; of a text that was made here: "" */
};

struct session {
    struct session_options options;
    struct arena arena;
    struct diagnostics diagnostics;
    struct probe_environment environment;
    struct features features;
    struct kernel *kernel; /* NULL: check only, or there is a vm */
    struct vm *vm;         /* NULL: a kernel runs the programs */
    struct host *host;
    struct script *script; /* all of them together */
    struct session_text *texts;
    size_t text_count, text_room;
    const struct type **enum_types; /* enum_maps.c */
    size_t enum_type_count, enum_type_room;
    struct session_unit *units;
    size_t unit_count, unit_room;
    struct check_unit *checks;
    struct probe_variants variants;
    struct checker checker;
    struct type_provider provider;
    struct c_definitions *definitions; /* definitions.c */
    struct table enumerators;          /* of the kernel, by name: definitions.c */
    unsigned enumerators_missed;       /* names in it that mean nothing */
    struct image image;
    struct action_table actions;
    struct name_list names;
    struct table left_out; /* names of maps that are assigned to where no probe is */
    size_t probe_count;    /* sites, for the banner */
    regex_t probe_filter;
    struct text dump;

    struct text out;
    struct printer printer;
    struct print_names print_names;
    struct event_handler handler;
    struct symbolizer *symbolizer;
    struct pump *pump;                   /* NULL: records are acted on where they are */
    struct live_replay *live_replay;     /* the script is over recordings and over the kernel; else NULL */
    uint64_t *overwritten;               /* of each recording, before it mattered; or NULL */
    uint64_t monotonic_ahead, tai_ahead; /* clocks, of the boot clock */
    uint64_t horizon;                    /* records up to this time may be acted on; UINT64_MAX: all */
    struct cgroup_name *cgroups;
    struct text username;             /* the last one asked for */
    struct image_stack *stack_frames; /* of the last stack asked for */
    bool has_unread_stacks;           /* said once */
    uint64_t *tracing_glue_ranges;    /* names_tracing_glue() */
    uint32_t tracing_glue_slots;
    struct runtime_error_state *runtime_errors;
    uint64_t runtime_error_time;
    struct session_child child;
    int signals; /* signalfd */
    struct process_filter filter;
    bool unwinds;                                 /* the script wants stacks by call frame information */
    struct unwind *unwind;                        /* or NULL */
    uint64_t pid_namespace_device, pid_namespace; /* ours; 0: the initial one */
    struct pid_set_program pid_set_programs[PID_SET_COUNT];
    int *process_fds; /* pidfds of -p */
    size_t process_count;
    uint64_t process_ends; /* as last seen in the control page */
    bool processes_over;   /* the set is empty */
    bool grows;            /* traced processes may map files with probes in them later */
    struct table known;    /* those that were looked into */
    uint64_t grow_time;    /* of the last look */
    bool grow_wanted;
    unsigned grow_failures;
    pid_t *members; /* those that are traced now */
    size_t member_count, member_room;
    bool holds_output;               /* what begin prints stands behind the banner: kept until that is said */
    bool interrupted;                /* a signal asked for the end */
    uint64_t asked_at, looked_at;    /* when the first one did, and when somebody last looked: interrupt.c */
    uint64_t maps_at;                /* when they began to be printed */
    unsigned ends_before;            /* how many may have done before the end probes run */
    uint64_t unread, unnamed;        /* records and names passed over in haste */
    struct text event_ends;          /* in `out`: a size_t for each event that is not yet written */
    uint64_t unplayed;               /* events of recordings for which no block ran */
    uint64_t unwritten;              /* events acted on whose text could not be written whole */
    bool output_known, output_waits; /* output.c: whether its reader can hold us up */
    uint64_t output_bytes;           /* in the present file */
    unsigned long long output_number; /* of files before it */
    uint64_t events;                  /* acted on, for --max-events */
    uint64_t data_limit;              /* what commands get back of RLIMIT_DATA */
    bool has_data_limit;
    uint64_t progress_time; /* when attaching began, or was last told of */
    bool shows_progress;
    size_t reported_count; /* made by actions */
    bool tests_failed;
    unsigned pending_sigusr1; /* SIGUSR1 that self probes have not heard yet */
    bool walk_failed;         /* the kernel broke an iterator off */
    bool broken_output;       /* nobody reads it any more, or it cannot be written */
    bool reader_left;         /* that is why: it has what it wanted */
    bool is_over;             /* there is nothing left to wait for */
    uint64_t until;           /* of the monotonic clock: a turn over recordings pauses then; 0: never */
    bool pauses;              /* it does */
    int wait_ms;              /* of a turn */
    uint64_t replay_time;     /* reached in the recordings */
    uint64_t remember_next, remember_pause; /* when processes are looked at again, and after how long */
    pthread_t special_thread;               /* runs begin, end and the like */
    bool has_special_thread;
    enum probe_time special_time;
    int special_error;   /* the first of its runs that failed, */
    size_t special_unit; /* and of which unit */
    bool at_end;         /* the end probes run: exit() no longer drops records */
};

/* compile.c: a probe is missing: what was said about it, since the diagnostics were `before`, becomes a
 * warning or nothing, as missing_probes wants it. */
void session_demote_missing_probe(struct session *session, const struct diagnostics *before);

/* enum_maps.c: fills maps that are only read with the names of the enums that fit, by blocks of its own. 0, or -errno
 * with a diagnostic. */
int enum_maps_fill(struct session *session);
/* What these blocks call an enum; NULL: the name is none of theirs. */
const struct type *enum_maps_type(const struct session *session, const char *name);

/* import.c: parses the scripts and what they import, and expands macros. */
void session_parse(struct session *session);
unsigned session_script_of(void *state, const struct source *source); /* which script's text it is */

/* names.c */
void names_init(struct session *session);
void names_close(struct session *session);
const uint64_t *names_tracing_glue(void *session, uint32_t *slots); /* lower_options.tracing_glue_ranges */
int64_t names_wall_offset(void);                                    /* since 1970 - since boot, ns */
/* Before anything is attached: from now on it is known which code processes have mapped, also when they have
 * ended by the time that an address is printed. Nothing where no user addresses are. */
void names_watch(struct session *session);
/* Looks at a process now, where the kernel tells nothing. */
void names_remember(struct session *session, pid_t pid);
/* pump.c */
int pump_start(struct session *session, struct processes *processes); /* processes: to hear of, or NULL */
/* Until then, and without a thread, who acts on records takes them out of the rings, too. The thread has the rights that
 * this one has. */
void pump_run(struct session *session);
enum pump_mode { PUMP_FILL, PUMP_DRAIN, PUMP_KEPT }; /* KEPT: only what was taken out of the rings before */
int pump_consume(struct session *session, enum pump_mode mode, uint64_t until, host_record *record,
                 void *state);
bool pump_is_due(const struct session *session, uint64_t until); /* pump_consume() could find something */
void pump_stop(struct session *session);
/* definitions.c: C definitions, before the script is parsed; and names from outside the script. */
void definitions_open(struct session *session);
void definitions_report(struct session *session);  /* -v: what of the headers was passed over */
void definitions_provide(struct session *session); /* sets session->provider */
/* A type by its name as a probe of that context knows it. context NULL: in no program. NULL: there is none. */
const struct type *definitions_type(struct session *session, const struct probe_context *context,
                                    const char *name);
/* runtime_errors.c: tells what has grown. last: everything that was not told yet. */
/* How many counters there is memory for. */
size_t runtime_errors_room(const struct session *session);
int runtime_errors_init(struct session *session);
void runtime_errors_report(struct session *session, bool last);
/* The trace ends now: what the kernel skips from now on is not told. */
void runtime_errors_count_skipped(struct session *session);
/* replay.c: what is peculiar to a host in this process */
struct replay_event;
int replay_open_host(struct session *session);        /* opens the recordings that the script needs */
bool replay_is_wanted(const struct session *session); /* by the script, or by the options */
const struct attach_point *replay_kernel_point(const struct session *session); /* the first; or NULL */
bool live_replay_is_needed(const struct session *session); /* the script needs recordings and the kernel */
int replay_open_recordings(struct session *session);       /* of the options, or of the processes */
/* What a program gets of an event, but for texts. */
void replay_fill(const struct session *session, struct image_event *to, const struct replay_event *at);
bool replay_text(const struct replay_event *at, unsigned which, struct vm_text *text);
void replay_run_special(struct session *session, enum probe_time time);
/* Threads copy what living programs record, with the rights that this one has. */
void replay_begin(struct session *session);
void replay_loop(struct session *session);
void replay_report_missing(struct session *session); /* what the recordings have lost */
/* At the end: counts the events that are still there, of that time, and that there is no time for. */
void replay_pass_over(struct session *session, uint64_t since, uint64_t until);
void replay_close(struct session *session);
/* live_replay.c: a script over recordings and the kernel at once */
int live_replay_open(struct session *session);  /* before the kernel is asked for anything */
int live_replay_check(struct session *session); /* the compiled programs */
int live_replay_begin(struct session *session); /* all is attached */
bool live_replay_step(struct session *session,
                      uint64_t until); /* true: the last recorder has ended, and all was read */
bool live_replay_is_busy(const struct session *session); /* the last turn had events */
void live_replay_finish(struct session *session);
void live_replay_close(struct session *session);
/* child.c */
const char *child_program(struct session *session); /* the command's first word; NULL: it has none */
int child_start(struct session *session);           /* forks; the command waits */
int child_release(
    struct session *session); /* lets it run; -errno with a diagnostic when it cannot be executed */
/* Starts it and stops it as soon as `open` does not answer -ENOENT any more. What `open` says, or -errno. */
int child_run_until(struct session *session, int (*open)(struct session *session));
void child_settle(
    struct session *session); /* what a command wrote that has ended stands before what we print then */
void child_end(struct session *session); /* SIGTERM to what still runs, and waits for it */
/* processes.c */
int processes_choose(
    struct session *session); /* 0, or -errno with a diagnostic; before anything is expanded */
int processes_begin(struct session *session); /* before probes are attached: the set is filled and grows … */
int processes_attach(struct session *session, enum pid_set_program_kind kind);
int processes_attached(struct session *session); /* … and after: it shrinks */
bool processes_ended(struct session *session);   /* all that were in the set */
void processes_close(struct session *session);
struct session_member { /* of a struct of the kernel's, and where it goes */
    const char *type, *member;
    uint32_t *offset;
};
/* False: the kernel does not tell all of them. */
bool processes_offsets(struct session *session, const struct session_member *members, size_t count);
/* unwind.c: tables for unwinding; nothing where no program needs them. */
const struct unwind_offsets *unwind_find_offsets(struct session *session); /* NULL: not known */
int unwind_begin(struct session *session);                                 /* before probes are attached */
void unwind_look(struct session *session); /* at what programs have asked for */
void unwind_close(struct session *session);
/* compile.c: units that come while the trace runs, and what they need. 0, or -errno with a diagnostic. */
enum { GROW_RUNTIME_ERRORS = 256 };
void compile_plan(struct session *session, struct action_block *block, const struct attach_point *only);
int compile_more(struct session *session, size_t first);
int compile_divided(struct session *session, size_t unit); /* once more, in small functions */
/* ---- divide.c ---- */
/* Loads it, or instead of it another one for its unit, whose `program` then is that one. */
int session_load_program(struct session *session, size_t program);
/* Whether the maps of the image are as before, those aside that were added; the counters have room, too. */
bool session_maps_unchanged(const struct session *session, const struct image_map *before, size_t count);
/* grow.c */
void grow_choose(struct session *session); /* whether there is something to wait for */
int grow_begin(struct session *session);
void grow_look(struct session *session);
void grow_close(struct session *session);
/* run.c */
int session_attach_unit(struct session *session, const struct session_unit *unit);
void session_report(struct session *session, const char *format, ...) __attribute__((format(printf, 2, 3)));
void session_report_text(struct session *session, const struct text *text); /* of lines of our own */
void session_flush(struct session *session);
/* output.c: an event was acted on; was_broken: the output before that. */
void output_event(struct session *session, bool was_broken);
void session_consume_all(struct session *session); /* acts on everything that has come */
void session_deliver(struct session *session);     /* the same, and nothing else */
void session_deliver_own(struct session *session); /* what programs sent that ran in this process */
void session_release(struct session *session, uint64_t until); /* acts on what was kept, up to this time */
void session_collect(struct session *session);                 /* empties the rings, and acts on nothing */
/* interrupt.c */
uint64_t session_clock(void);                      /* ns; not the host's, which in recordings is their time */
bool session_interrupted(struct session *session); /* a signal asked for the end */
/* Whether this record is passed over, because a signal asked for the end or because nobody reads any more. */
bool interrupt_drops(struct session *session, const struct action *action);
bool interrupt_cuts(struct session *session); /* nor is there time for the rest of one */
bool interrupt_leaves_names(void *session); /* nor for a name that has to be read from a file; counts them */
void interrupt_end_begins(struct session *session); /* from now on records are those of the end probes */
void interrupt_maps_begin(struct session *session);
void interrupt_report(struct session *session); /* at the end: what was passed over */
/* limits.c */
int limits_memory(struct session *session);            /* before maps are made; -errno with a diagnostic */
void limits_of_command(const struct session *session); /* in a child: the limits that we found */
void limits_time(struct session *session, bool begins);
/* bench.c: --test and --bench; nothing without. */
void bench_run(struct session *session);

#endif
