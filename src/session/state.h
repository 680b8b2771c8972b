/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this folder share: the state of one session, and what each file does for the others. No other
 * folder includes it. */
#ifndef SPOOR_SESSION_STATE_H
#define SPOOR_SESSION_STATE_H

#include "bpf/action.h"
#include "bpf/image.h"
#include "builtin/event_handler.h"
#include "session/session.h"
#include "session/target.h"

/* One block of the script for one variant of its probes: one program. */
struct session_unit {
    struct action_block *block;
    struct probe_variant *variant;
    uint32_t name_base; /* index of the variant's first name in compiler.names */
    size_t program;     /* index in the image */
    bool is_left_out;   /* it could not be attached, and missing_probes takes that */
    /* Events before the end of the trace for which the kernel did not run the program. */
    uint64_t skipped, missed;
};

struct session_units {
    struct session_unit *items;
    size_t count, room;
    size_t site_count; /* how many sites they have together */
};

/* What all files of this folder work with. What only one of them needs is in a part: a struct that this file alone
 * knows, made by its open function when the session is opened (session.c). A part that is NULL does not exist in this
 * trace. */
struct session {
    struct session_options options;
    struct arena arena;
    struct diagnostics diagnostics;
    struct probe_environment environment; /* its features are the host's, once that is chosen */
    struct kernel *kernel;                /* NULL with --check, and where the VM runs all programs */
    struct host *host;                    /* the kernel or the VM, whichever runs the programs */
    struct session_units units;
    struct image image;
    struct action_table actions;
    struct target target;
    struct text out; /* what was printed and is not written yet */
    struct event_handler handler;
    bool is_over; /* there is nothing left to wait for */

    struct compiler *compiler;
    struct records *records;
    struct names *names;
    struct output *output;
    struct interrupt *interrupt;
    struct runtime_errors *runtime_errors;
    struct special *special;
    struct grow *grow;
    struct replay_run *replay;
    struct live_replay *live_replay; /* NULL, unless the script is over recordings and over the kernel */
    struct pump *pump;               /* NULL: records are handled where they lie in the rings */
    struct unwind *unwind;           /* NULL, unless a program unwinds stacks by call frame information */
};

/* ---- compile.c ---- */

/* A probe that was asked for is missing: what the diagnostics say about it since they were `before` becomes a warning,
 * or is taken back, as the setting missing_probes wants it. */
void session_demote_missing_probe(struct session *session, const struct diagnostics *before);
/* Compiles the block of a unit once more, divided into small functions. 0, or -errno with a diagnostic. */
int compile_divided(struct session *session, size_t unit);
/* The name that a value of TYPE_PROBE_NAME is the index of; NULL: it is none. */
const char *compiler_name(const struct session *session, uint64_t index);

/* ---- divide.c ---- */

/* Loads a program. If the verifier gives it up, compiles its block once more, divided, and loads that: the unit's
 * `program` is then the new one. 0, or -errno with a diagnostic. */
int session_load_program(struct session *session, size_t program);
/* Whether the maps of the image are those in `before`, maps that were added aside, and counters have room. */
bool session_maps_unchanged(const struct session *session, const struct image_map *before, size_t count);

/* ---- rights.c ---- */

/* Keeps what reading recordings takes, before the first byte of one is read. Which files the script makes is not known until it
 * is compiled, so the rights to make and to remove files are kept as well. */
void rights_to_read(struct session *session);
/* Keeps what the script as it was compiled goes on needing. 0. */
int rights_settle(struct session *session);

/* ---- attach.c ---- */

/* How far attaching is, for the user. `session` is set by the caller, the rest is 0 at first. */
struct attach_progress {
    struct session *session;
    uint64_t time; /* when attaching began, or when it was shown last: ns of the host's clock */
    bool is_shown;
};
/* Makes the maps and loads all programs. 0, or -errno with a diagnostic. */
int session_load(struct session *session);
/* Attaches the program of a unit. 0, or -errno with a diagnostic; -EINTR: the user asked for the end. */
int session_attach_unit(struct session *session, const struct session_unit *unit,
                        struct attach_progress *progress);
/* Attaches the programs of all units. 0, or -errno with a diagnostic; -EINTR: the user asked for the end. */
int session_attach(struct session *session);
/* Reports warnings, from the given diagnostic on, about what was left out while all was attached. */
void session_report_left_out(struct session *session, size_t from);
/* Has the kernel measure how long programs run, if the options want that. 0: where it refuses, they are not measured. */
int session_count_time(struct session *session);
/* Reports how many probes are attached, and then what begin probes have printed. */
void session_report_attached(struct session *session);

/* ---- records.c ---- */

void records_open(struct session *session);
void records_close(struct session *session);
/* Makes the printer and the handler of events. 0. */
int records_begin(struct session *session);
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
/* How many errors handlers of events have reported. */
size_t session_reported_errors(const struct session *session);
/* To be called when a test of --test has failed: the exit status will not be 0. */
void session_fail_test(struct session *session);
/* Whether any test has failed. */
bool session_test_has_failed(const struct session *session);

/* ---- maps.c ---- */

/* Prints the maps, as the settings want it. */
void maps_print(struct session *session);

/* ---- names.c: names of addresses, users, control groups … ---- */

void names_open(struct session *session);
void names_close(struct session *session);
struct print_names *names_of_printer(struct session *session);
/* lower_options.tracing_glue_ranges, with the session as state. */
const uint64_t *names_tracing_glue(void *session, uint32_t *slots);
/* What is added to the boot clock for the time since 1970, ns. */
int64_t names_wall_offset(void);
/* Begins to follow which code processes map, so that their addresses can be named after they have ended. Does nothing
 * where the script prints no user addresses. To be called before anything is attached. */
void names_watch(struct session *session);
/* Stacks and symbols are named when they are printed, often after their process has ended: reads which code the traced
 * processes map while they live, soon after the start and then ever less often. */
void names_remember(struct session *session);
/* Where most of the user stacks that were printed are one frame, says what would help. */
void names_advise(struct session *session);

/* ---- pump.c: a thread that empties the rings while records are handled ---- */

struct processes;
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

/* ---- runtime_errors.c ---- */

void runtime_errors_open(struct session *session);
/* How many counters there is memory for. */
size_t runtime_errors_room(const struct session *session);
/* To be called when the script is compiled. 0. */
int runtime_errors_begin(struct session *session);
/* Reports counters that have grown, not more often than the reader can follow; last: everything that is unreported. */
void runtime_errors_report(struct session *session, bool last);
/* Takes down what the kernel has skipped so far: the trace ends, and what is skipped from now on is not reported. */
void runtime_errors_count_skipped(struct session *session);

/* ---- replay.c: scripts over recordings, which the VM runs in this process ---- */

struct replay_event;
struct vm_text;
void replay_run_open(struct session *session);
void replay_run_close(struct session *session);
/* Opens the recordings that the script needs, and the VM. 0, or -errno with a diagnostic. */
int replay_open_host(struct session *session);
/* Whether the VM runs the programs, in this process. */
bool replay_runs_programs(const struct session *session);
/* Whether the script or the options ask for recordings. */
bool replay_is_wanted(const struct session *session);
/* The first attach point that needs the kernel; NULL: none does. */
const struct attach_point *replay_kernel_point(const struct session *session);
/* Whether the script needs recordings and the kernel. */
bool live_replay_is_needed(const struct session *session);
/* Opens the recordings that the options name, or those of the traced processes. 0, or -errno with a diagnostic. */
int replay_open_recordings(struct session *session);
/* What a program reads of an event, texts excepted: these come from replay_text(). */
void replay_fill(const struct session *session, struct image_event *to, const struct replay_event *at);
bool replay_text(const struct replay_event *at, unsigned which, struct vm_text *text);
void replay_run_special(struct session *session, enum probe_time time);
/* Starts the threads that copy what living programs record, with the rights of this one. */
void replay_begin(struct session *session);
void replay_loop(struct session *session);
/* What recordings have lost until now is not reported. */
void replay_forget_overwritten(struct session *session);
/* Reports what the recordings have lost. */
void replay_report_missing(struct session *session);
/* When there is no time left for events: whether even counting them takes too long, or the end was asked for once more. */
bool replay_leaves_rest(struct session *session);
/* At the end: counts the events between these two times that are still in the recordings and have no time left. */
void replay_pass_over(struct session *session, uint64_t since, uint64_t until);

/* ---- live_replay.c: scripts over recordings and the kernel at once ---- */

/* To be called before the kernel is asked for anything. 0, or -errno with a diagnostic. */
int live_replay_open(struct session *session);
/* Whether the kernel can run the compiled programs for events of recordings. 0, or -errno with a diagnostic. */
int live_replay_check(struct session *session);
/* To be called when everything is attached; does nothing for other scripts. 0, or -errno with a diagnostic. */
int live_replay_begin(struct session *session);
/* Gives the kernel the events up to this time. True: the last recorder has ended, and all its events were read. */
bool live_replay_step(struct session *session, uint64_t until);
/* Whether the last step had events. */
bool live_replay_is_busy(const struct session *session);
/* Records of the kernel up to this time may be handled; UINT64_MAX: all. */
uint64_t live_replay_horizon(const struct session *session);
/* Reads what was recorded until now; does nothing for other scripts. */
void live_replay_finish(struct session *session);
void live_replay_close(struct session *session);

/* ---- unwind.c: tables for unwinding; does nothing where no program needs them ---- */

/* NULL: the kernel does not tell them. */
const struct unwind_offsets *unwind_find_offsets(struct session *session);
/* To be called before probes are attached. 0 or -errno. */
int unwind_begin(struct session *session);
/* A descriptor that becomes readable when processes have mapped code; -1: there is none. */
int unwind_descriptor(const struct session *session);
/* Makes the tables that programs have asked for, and those of new processes. */
void unwind_look(struct session *session);
void unwind_close(struct session *session);

/* ---- grow.c: probes in files that are mapped while the trace runs ---- */

enum { GROW_RUNTIME_ERRORS = 256 };
void grow_open(struct session *session);
/* Decides whether there can be any. */
void grow_choose(struct session *session);
/* Whether there can be any. */
bool grow_is_on(const struct session *session);
/* Begins to look for them. 0: where the kernel cannot report mappings, the trace goes on without, with a warning. */
int grow_begin(struct session *session);
/* Attaches to what was mapped since the last time. */
void grow_look(struct session *session);
void grow_close(struct session *session);

/* ---- special.c ---- */

void special_open(struct session *session);
/* Makes programs return at their first instruction from now on. */
void special_stop(struct session *session);
/* Runs the begin or end probes, those for a signal, or walks over what an iterator walks over, and prints what they
 * print meanwhile. */
void special_run(struct session *session, enum probe_time time);
/* Stops programs that special_run() has not waited for because memory ran out meanwhile. */
void special_join(struct session *session);
/* Starts the timers of interval probes. 0 or -errno. */
int special_start_timers(struct session *session);
/* Ends the trace if the kernel refused to run a timer's program. */
void special_look_at_timers(struct session *session);
/* To be called before special_stop(), so that what is due runs. */
void special_stop_timers(struct session *session);

/* ---- output.c ---- */

void session_output_open(struct session *session);
void session_output_close(struct session *session);
/* Writes session->out. */
void session_flush(struct session *session);
/* Writes a message of spoor's own, or lines of them, to the error stream. */
void session_report_text(struct session *session, enum report_kind kind, const struct text *text);
/* While it is held, session_flush() keeps what there is, unless that is much. */
void output_hold(struct session *session, bool holds);
/* Ends holding: writes what `print` prints, and then what was held. */
void output_release_behind(struct session *session, void (*print)(struct session *session));
/* Whether it cannot be written any more. */
bool output_is_broken(const struct session *session);
/* From now on it counts as broken: the caller does not want the rest of it. */
void output_discard(struct session *session);
/* An event was handled; was_broken: output_is_broken() before that. */
void output_event(struct session *session, bool was_broken);
/* An event that was not handled because of that is counted, unless the reader has left. */
void output_count_unwritten(struct session *session);
void output_report_unwritten(struct session *session);

/* ---- observe.c: all of these do nothing if nobody observes ---- */

struct observe {
    struct map_watcher watcher; /* of this file, before the one of the options */
    size_t told;                /* so much of session.out is told, or is not to be */
};
/* Returns what output.c keeps for this file. */
struct observe *output_observe(const struct session *session);
/* Who is told of maps that are printed: for the printer. */
const struct map_watcher *observe_watcher(struct session *session);
/* Tells what was added to session.out since the last call, or leaves it out. Whoever empties session.out calls observe_text()
 * before and observe_skip() behind. */
void observe_text(struct session *session);
void observe_skip(struct session *session);
void observe_message(struct session *session, enum report_kind kind, const char *text);
/* Called while the trace runs. */
void observe_passing(struct session *session, bool is_end);

/* ---- interrupt.c: how much is still done after a signal asked for the end ---- */

void interrupt_open(struct session *session);
void interrupt_close(struct session *session);
/* Takes over the signals that ask for the end. 0 or -errno. */
int interrupt_begin(struct session *session);
/* Can be read when a signal has come. -1: signals are the caller's. */
int interrupt_descriptor(const struct session *session);
/* The monotonic clock, ns. The host's clock is another: over recordings it is their time. */
uint64_t session_clock(void);
/* Looks whether a signal asks for the end, or an iteration over recordings is to pause. */
bool session_interrupted(struct session *session);
/* Whether a signal had asked for the end when that was looked for last. */
bool interrupt_is_asked(const struct session *session);
/* A SIGUSR1 came, for which the blocks of self probes are to run; takes one of them. */
bool interrupt_take_sigusr1(struct session *session);
/* An iteration over recordings is to pause at this time of session_clock(). */
void interrupt_pause_at(struct session *session, uint64_t time);
/* Whether it pauses, and no signal asked for the end. */
bool interrupt_pauses(const struct session *session);
/* The iteration is over: whether it paused. */
bool interrupt_end_pause(struct session *session);
/* Whether this record is left out, because a signal asked for the end or because the output cannot be written. */
bool interrupt_drops(struct session *session, const struct action *action);
/* Whether there is no time even for the rest of the record that is being handled. */
bool interrupt_cuts(struct session *session);
/* Whether there is no time for a name that has to be read from a file; counts those names. State: the session. */
bool interrupt_leaves_names(void *session);
/* An event of a recording was not read for want of time. */
void interrupt_count_unplayed(struct session *session);
/* Perhaps more events of recordings were not read, and how many is not known. */
void interrupt_leave_unplayed(struct session *session);
/* To be called when the programs have stopped, which does not count as time for the records that wait. */
void interrupt_records_begin(struct session *session);
/* To be called when everything else was handled: from now on records are those of the end probes. */
void interrupt_end_begins(struct session *session);
/* Whether records are those of the end probes. */
bool interrupt_is_at_end(const struct session *session);
void interrupt_maps_begin(struct session *session);
/* Reports what was passed over. To be called at the end. */
void interrupt_report(struct session *session);

/* ---- limits.c ---- */

/* Sets the limit of memory. To be called before maps are made. 0, or -errno with a diagnostic. */
int limits_memory(struct session *session);
/* In a child: sets the limits that were found at the start. */
void limits_of_command(const struct session *session);
/* Starts the time of --duration, or ends it. */
void limits_time(struct session *session, bool begins);

/* ---- bench.c: --test and --bench; does nothing without these ---- */

void bench_run(struct session *session);

#endif
