/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this folder share: the state of one session, and what each file does for the others. No other folder
 * includes it. */
#ifndef SPOOR_SESSION_STATE_H
#define SPOOR_SESSION_STATE_H

#include <pthread.h>
#include <regex.h>

#include "base/table.h"
#include "bpf/lower/processes.h"
#include "bpf/lower/lower.h"
#include "builtin/event_handler.h"
#include "lang/check/check.h"
#include "session/command_terminal.h"
#include "session/session.h"
#include "sym/symbolize.h"
#include "vm/vm.h"

/* One block of the script for one variant of its probes: one program. */
struct session_unit {
    struct action_block *block;
    struct probe_variant *variant;
    uint32_t name_base; /* index of the variant's first name in session.names */
    size_t program;     /* index in the image */
    bool is_left_out;   /* it could not be attached, and missing_probes takes that */
    /* Events before the end of the trace for which the kernel did not run the program. */
    uint64_t skipped, missed;
};

/* How much of one counter of the control page was reported. */
struct runtime_error_state {
    uint64_t reported;
};

/* The command of -c. */
struct session_child {
    pid_t pid;
    int pidfd;
    bool is_stopped; /* by SIGSTOP, until everything is attached */
    struct command_terminal terminal;
    int go;     /* pipe: a byte lets the command be executed. -1: none */
    int failed; /* pipe: brings the errno of a command that cannot be executed. -1: none */
};

/* One answer of cgroup_path(), kept for the next time. */
struct cgroup_name {
    struct cgroup_name *next;
    uint64_t number;
    const char *filter, *path;
};

/* A text that a script imported. */
struct session_text {
    const struct source *source;
    unsigned script;  /* which script imported it: 0 is options.source, others are those of options.more */
    const char *path; /* resolved, without links; "" for a text that spoor made */
};

struct session {
    struct session_options options;
    struct arena arena;
    struct diagnostics diagnostics;
    struct probe_environment environment;
    struct features features;
    struct kernel *kernel; /* NULL with --check, and where the VM runs all programs */
    struct vm *vm;         /* NULL where the kernel runs the programs */
    struct host *host;     /* one of the two */

    /* The script and what it was compiled to. */
    struct script *script; /* all scripts together */
    struct session_text *texts;
    size_t text_count, text_room;
    const struct type **enum_types; /* enums whose names fill maps: enum_maps.c */
    size_t enum_type_count, enum_type_room;
    struct session_unit *units;
    size_t unit_count, unit_room;
    struct check_unit *checks; /* of the units, by the same indexes */
    struct probe_variants variants;
    struct checker checker;
    struct type_provider provider;
    struct c_definitions *definitions; /* definitions.c */
    struct table enumerators;          /* of the kernel, by name, also those that are none: definitions.c */
    unsigned enumerators_missed;       /* how many of these names are none */
    struct image image;
    struct action_table actions;
    struct name_list names;
    struct table left_out; /* names of maps that only blocks without a probe assign to */
    size_t probe_count;    /* sites of all units */
    regex_t probe_filter;
    struct text dump; /* what -d prints */

    /* What is printed, and with which names. */
    struct text out; /* not written yet */
    struct printer printer;
    struct print_names print_names;
    struct event_handler handler;
    struct symbolizer *symbolizer;
    struct pump *pump;               /* NULL: records are handled where they lie in the rings */
    struct live_replay *live_replay; /* NULL, unless the script is over recordings and over the kernel */
    uint64_t *overwritten;           /* events that each recording had lost before the trace began; or NULL */
    uint64_t monotonic_ahead, tai_ahead; /* how far these clocks are ahead of the boot clock, ns */
    uint64_t horizon;                    /* records up to this time may be handled; UINT64_MAX: all */
    struct cgroup_name *cgroups;
    struct text username;             /* the answer to the last username that was asked for */
    struct image_stack *stack_frames; /* the last stack that was asked for */
    bool has_unread_stacks;           /* it was reported that stacks could not be read */
    uint64_t *tracing_glue_ranges;    /* names_tracing_glue() */
    uint32_t tracing_glue_slots;
    struct runtime_error_state *runtime_errors;
    uint64_t runtime_error_time; /* when they were reported last */

    /* Who is traced. */
    struct session_child child;
    int signals; /* signalfd */
    struct process_filter filter;
    bool unwinds;          /* the script wants stacks by call frame information */
    struct unwind *unwind; /* or NULL */
    struct pid_set_program pid_set_programs[PID_SET_COUNT];
    int *process_fds; /* pidfds of -p */
    size_t process_count;
    uint64_t process_ends; /* the count in the control page when it was read last */
    bool processes_over;   /* the set of processes is empty */
    bool grows;            /* traced processes may map files with probes in them later */
    struct table known;    /* the files that were searched for probes: grow.c */
    uint64_t grow_time;    /* when they were searched last */
    bool grow_wanted;      /* code was mapped since they were searched */
    unsigned grow_failures;
    pid_t *members; /* the processes that are traced now: grow.c */
    size_t member_count, member_room;

    /* How far the trace is. */
    bool holds_output; /* output of begin probes is kept until the banner has been written */
    bool interrupted;  /* a signal asked for the end */
    /* How many signals may have asked for the end before the end probes run. */
    uint64_t asked_at,
        looked_at;    /*when the first signal did, and when signals were looked for last: interrupt.c */
    uint64_t maps_at; /*when printing the maps began */
    unsigned ends_before;
    uint64_t unread, unnamed; /* records and names that were passed over for want of time */
    struct text event_ends;   /* a size_t for each event in `out`: where its text ends */
    uint64_t unplayed;        /* events of recordings for which no block ran */
    uint64_t unwritten;       /* events that were handled and whose text could not be written whole */
    /* In the present output file. */
    bool output_known,
        output_waits; /*whether the reader of the output can make us wait, once it is known: output.c */
    uint64_t output_bytes;
    unsigned long long output_number; /* how many output files were finished before it */
    uint64_t events;                  /* how many were handled, for --max-events */
    uint64_t data_limit;              /* RLIMIT_DATA as it was, which commands get back */
    bool has_data_limit;
    uint64_t progress_time; /* when attaching began, or when progress was shown last */
    bool shows_progress;
    size_t reported_count; /* errors that handlers of events reported */
    bool tests_failed;
    unsigned pending_sigusr1; /* SIGUSR1 for which the blocks of self probes have not run yet */
    bool walk_failed;         /* the kernel ended an iterator early */
    bool broken_output;       /* the output cannot be written any more */
    bool reader_left;         /* it cannot because its reader closed it, as `head` does */
    bool is_over;             /* there is nothing left to wait for */
    uint64_t until; /* an iteration over recordings pauses at this time of the monotonic clock; 0: never */
    bool pauses;    /* it paused */
    int wait_ms;    /* how long one iteration over recordings waits */
    uint64_t replay_time; /* the time that was reached in the recordings */
    /* Runs the blocks of begin, end and such probes. */
    uint64_t remember_next,
        remember_pause; /*when the processes of -c and -p are looked at again, and how much later */
    pthread_t special_thread;
    bool has_special_thread;
    enum probe_time special_time;
    int special_error;   /* of the first block that it could not run; 0: none */
    size_t special_unit; /* the unit of that block */
    bool at_end;         /* the end probes run: exit() no longer drops records */
};

/* ---- compile.c: units that are planned while the trace runs, and what they need ---- */

/* A probe that was asked for is missing: what the diagnostics say about it since they were `before` becomes a warning,
 * or is taken back, as the setting missing_probes wants it. */
void session_demote_missing_probe(struct session *session, const struct diagnostics *before);
enum { GROW_RUNTIME_ERRORS = 256 };
/* Plans units for a block: for one of its attach points, or all (only NULL). */
void compile_plan(struct session *session, struct action_block *block, const struct attach_point *only);
/* Compiles the units from `first` on. 0, or -errno with a diagnostic. */
int compile_more(struct session *session, size_t first);
/* Compiles the block of a unit once more, divided into small functions. 0, or -errno with a diagnostic. */
int compile_divided(struct session *session, size_t unit);

/* ---- divide.c ---- */

/* Loads a program. If the verifier gives it up, compiles its block once more, divided, and loads that: the unit's
 * `program` is then the new one. 0, or -errno with a diagnostic. */
int session_load_program(struct session *session, size_t program);
/* Whether the maps of the image are those in `before`, maps that were added aside, and counters have room. */
bool session_maps_unchanged(const struct session *session, const struct image_map *before, size_t count);

/* ---- enum_maps.c ---- */

/* Fills maps that the script only reads with the names of the enums that fit, by blocks of its own. 0, or -errno with a
 * diagnostic. */
int enum_maps_fill(struct session *session);
/* The enum that these blocks call by this name, which no script can write; NULL: it is not one of their names. */
const struct type *enum_maps_type(const struct session *session, const char *name);

/* ---- import.c ---- */

/* Parses the scripts and what they import, and expands macros. Errors are in the diagnostics. */
void session_parse(struct session *session);
/* Which script a text belongs to: 0 is options.source, others are those of options.more. */
unsigned session_script_of(void *state, const struct source *source);

/* ---- names.c: names of addresses, users, control groups … ---- */

void names_init(struct session *session);
void names_close(struct session *session);
/* lower_options.tracing_glue_ranges, with the session as state. */
const uint64_t *names_tracing_glue(void *session, uint32_t *slots);
/* What is added to the boot clock for the time since 1970, ns. */
int64_t names_wall_offset(void);
/* Begins to follow which code processes map, so that their addresses can be named after they have ended. Does nothing
 * where the script prints no user addresses. To be called before anything is attached. */
void names_watch(struct session *session);
/* Reads which code a process maps now, where the kernel cannot tell. */
void names_remember(struct session *session, pid_t pid);

/* ---- pump.c: a thread that empties the rings while records are handled ---- */

enum pump_mode {
    PUMP_FILL,  /* empties the rings, then hands over records up to `until` */
    PUMP_DRAIN, /* hands over every record that there is */
    PUMP_KEPT,  /* hands over only what was taken out of the rings before */
};
/* processes: gets what the kernel tells of processes; or NULL. 0 or -errno. */
int pump_start(struct session *session, struct processes *processes);
/* Starts the thread, with the rights of this one. Before it, and where there is no thread, pump_consume() empties the
 * rings itself. */
void pump_run(struct session *session);
int pump_consume(struct session *session, enum pump_mode mode, uint64_t until, host_record *record,
                 void *state);
/* Whether pump_consume() up to this time may find a record. */
bool pump_is_due(const struct session *session, uint64_t until);
void pump_stop(struct session *session);

/* ---- definitions.c: C definitions, and names from outside of the script ---- */

/* Reads the C definitions. To be called before the script is parsed. */
void definitions_open(struct session *session);
/* With -v, reports what was passed over in headers. */
void definitions_report(struct session *session);
/* Sets session->provider. */
void definitions_provide(struct session *session);
/* The type that a probe of this context knows by this name (context NULL: a probe in no program); NULL: there is
 * none. */
const struct type *definitions_type(struct session *session, const struct probe_context *context,
                                    const char *name);

/* ---- runtime_errors.c ---- */

/* How many counters there is memory for. */
size_t runtime_errors_room(const struct session *session);
int runtime_errors_init(struct session *session);
/* Reports counters that have grown, not more often than the reader can follow; last: everything that is unreported. */
void runtime_errors_report(struct session *session, bool last);
/* Takes down what the kernel has skipped so far: the trace ends, and what is skipped from now on is not reported. */
void runtime_errors_count_skipped(struct session *session);

/* ---- replay.c: scripts over recordings, which the VM runs in this process ---- */

struct replay_event;
/* Opens the recordings that the script needs, and the VM. */
int replay_open_host(struct session *session);
/* Whether the script or the options ask for recordings. */
bool replay_is_wanted(const struct session *session);
/* The first attach point that needs the kernel; NULL: none does. */
const struct attach_point *replay_kernel_point(const struct session *session);
/* Whether the script needs recordings and the kernel. */
bool live_replay_is_needed(const struct session *session);
/* Opens the recordings that the options name, or those of the traced processes. */
int replay_open_recordings(struct session *session);
/* What a program reads of an event, texts excepted: these come from replay_text(). */
void replay_fill(const struct session *session, struct image_event *to, const struct replay_event *at);
bool replay_text(const struct replay_event *at, unsigned which, struct vm_text *text);
void replay_run_special(struct session *session, enum probe_time time);
/* Starts the threads that copy what living programs record, with the rights of this one. */
void replay_begin(struct session *session);
void replay_loop(struct session *session);
/* Reports what the recordings have lost. */
void replay_report_missing(struct session *session);
/* At the end: counts the events between these two times that are still in the recordings and have no time left. */
void replay_pass_over(struct session *session, uint64_t since, uint64_t until);
void replay_close(struct session *session);

/* ---- live_replay.c: scripts over recordings and the kernel at once ---- */

/* To be called before the kernel is asked for anything. 0, or -errno with a diagnostic. */
int live_replay_open(struct session *session);
/* Whether the kernel can run the compiled programs for events of recordings. 0, or -errno with a diagnostic. */
int live_replay_check(struct session *session);
/* To be called when everything is attached. */
int live_replay_begin(struct session *session);
/* Gives the kernel the events up to this time. True: the last recorder has ended, and all its events were read. */
bool live_replay_step(struct session *session, uint64_t until);
/* Whether the last step had events. */
bool live_replay_is_busy(const struct session *session);
void live_replay_finish(struct session *session);
void live_replay_close(struct session *session);

/* ---- child.c: the command of -c ---- */

/* The program that the command runs, its first word; NULL: it has none. */
const char *child_program(struct session *session);
/* Forks; the child waits before it executes the command. 0, or -errno with a diagnostic. */
int child_start(struct session *session);
/* Lets the command run. 0, or -errno with a diagnostic when it cannot be executed. */
int child_release(struct session *session);
/* Lets the command run, and stops it as soon as `open` returns anything but -ENOENT. Returns that, or -errno. */
int child_run_until(struct session *session, int (*open)(struct session *session));
/* Waits until everything that a command wrote that has ended is on the terminal, so that it stands before what is
 * printed next. */
void child_settle(struct session *session);
/* Sends SIGTERM to a command that still runs, and waits for it. */
void child_end(struct session *session);

/* ---- processes.c: -p, --follow, --cgroup ---- */

/* Finds out who is to be traced. To be called before probes are expanded. 0, or -errno with a diagnostic. */
int processes_choose(struct session *session);
/* Fills the set of processes, which grows from now on. To be called before probes are attached. */
int processes_begin(struct session *session);
int processes_attach(struct session *session, enum pid_set_program_kind kind);
/* Lets the set shrink, too. To be called after probes are attached. */
int processes_attached(struct session *session);
/* Whether every process that was in the set has ended. */
bool processes_ended(struct session *session);
void processes_close(struct session *session);
/* A member of one of the kernel's structs, and where its offset is put. */
struct session_member {
    const char *type, *member;
    uint32_t *offset;
};
/* False: the kernel's BTF does not have all of them. */
bool processes_offsets(struct session *session, const struct session_member *members, size_t count);

/* ---- unwind.c: tables for unwinding; does nothing where no program needs them ---- */

/* NULL: the kernel does not tell them. */
const struct unwind_offsets *unwind_find_offsets(struct session *session);
/* To be called before probes are attached. */
int unwind_begin(struct session *session);
/* Makes the tables that programs have asked for. */
void unwind_look(struct session *session);
void unwind_close(struct session *session);

/* ---- grow.c: probes in files that are mapped while the trace runs ---- */

/* Decides whether there can be any: session->grows. */
void grow_choose(struct session *session);
int grow_begin(struct session *session);
/* Attaches to what was mapped since the last time. */
void grow_look(struct session *session);
void grow_close(struct session *session);

/* ---- special.c ---- */

/* Makes programs return at their first instruction from now on. */
void special_stop(struct session *session);
/* Runs the begin or end probes, those for a signal, or walks over what an iterator walks over, and prints what they
 * print meanwhile. */
void special_run(struct session *session, enum probe_time time);
/* Starts the timers of interval probes. 0 or -errno. */
int special_start_timers(struct session *session);
/* Ends the trace if the kernel refused to run a timer's program. */
void special_look_at_timers(struct session *session);
/* To be called before special_stop(), so that what is due runs. */
void special_stop_timers(struct session *session);

/* ---- run.c ---- */

/* Attaches the program of a unit. 0, or -errno with a diagnostic. */
int session_attach_unit(struct session *session, const struct session_unit *unit);
/* Writes a message of spoor's own, or lines of them, to the error stream. */
void session_report(struct session *session, const char *format, ...) __attribute__((format(printf, 2, 3)));
void session_report_text(struct session *session, const struct text *text);
/* Writes session->out. */
void session_flush(struct session *session);
/* Handles records that have come and writes what they print; with `drain` all of them, as at the end (see bpf/host.h).
 * Returns their number. */
int session_consume(struct session *session, bool drain);
/* Handles every record that has come. */
void session_deliver(struct session *session);
/* Handles the records of programs that ran in this process. */
void session_deliver_own(struct session *session);
/* Handles records that were taken out of the rings before, up to this time. */
void session_release(struct session *session, uint64_t until);
/* Takes records out of the rings, and handles none. */
void session_collect(struct session *session);

/* ---- output.c ---- */

/* An event was handled; was_broken: session->broken_output before that. */
void output_event(struct session *session, bool was_broken);

/* ---- interrupt.c: how much is still done after a signal asked for the end ---- */

/* The monotonic clock, ns. The host's clock is another: over recordings it is their time. */
uint64_t session_clock(void);
/* Whether a signal has asked for the end. */
bool session_interrupted(struct session *session);
/* Whether this record is passed over, because a signal asked for the end or because nobody reads any more. */
bool interrupt_drops(struct session *session, const struct action *action);
/* Whether there is no time even for the rest of the record that is being handled. */
bool interrupt_cuts(struct session *session);
/* Whether there is no time for a name that has to be read from a file; counts those names. State: the session. */
bool interrupt_leaves_names(void *session);
/* From now on records are those of the end probes. */
void interrupt_end_begins(struct session *session);
void interrupt_maps_begin(struct session *session);
/* Reports what was passed over. To be called at the end. */
void interrupt_report(struct session *session);

/* ---- limits.c ---- */

/* Sets the limit of memory. To be called before maps are made. 0, or -errno with a diagnostic. */
int limits_memory(struct session *session);
/* In a child: sets the limits that were found at the start. */
void limits_of_command(const struct session *session);
void limits_time(struct session *session, bool begins);

/* ---- bench.c: --test and --bench; does nothing without these ---- */

void bench_run(struct session *session);

#endif
