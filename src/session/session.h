/* SPDX-License-Identifier: BSD-3-Clause */
/* One running trace: compile, load, attach, poll, act, leave. On any host, with any builtins and probe kinds:
 * both are handed in as tables.
 *
 *   session.c         opens the parts, and closes them
 *   settings.c        what the environment and config = { } say
 *   import.c          files that the script imports
 *   compile.c         text → tree → variants → typed tree → image
 *   definitions.c     C headers; names from outside the script
 *   enum_maps.c       maps of names that spoor fills
 *   divide.c          programs that the verifier gave up, compiled once more
 *   run.c             the steps of the beginning, the loop, the steps of the end
 *   attach.c          load and attach
 *   records.c         records to the handlers of builtins
 *   maps.c            maps at the end
 *   special.c         runs the programs of begin, end, self, iter and interval probes
 *   interrupt.c       signals that ask for the end, which then comes soon
 *   output.c          where the output goes: files, pipes, readers that pause
 *   observe.c         tells observers what is printed, and when
 *   limits.c          --duration, --max-memory
 *   runtime_errors.c  what went wrong inside programs, reported when it grows
 *   pump.c            goes on reading while handlers of events are slow
 *   names.c           names for the numbers in records: symbols, stacks, users, probes
 *   target.c          who is traced
 *   grow.c            probes in libraries that are loaded while the trace runs
 *   replay.c          the loop of a script over recordings, on the user-space host
 *   live_replay.c     recordings and the kernel in one script
 *   child.c           the command of -c
 *   unwind.c          tables for stacks by call frame information
 *   bench.c           --test and --bench
 */
#ifndef SPOOR_SESSION_SESSION_H
#define SPOOR_SESSION_SESSION_H

#include "bpf/host.h"
#include "lang/parse/parse.h"
#include "lang/registry.h"
#include "probe/kind.h"
#include "session/settings.h"

enum session_stage { STAGE_NONE, STAGE_AST, STAGE_TYPES, STAGE_IR_RAW, STAGE_IR, STAGE_BPF };

struct action;
struct action_table;
struct event_handler;
struct image;
struct session;
struct session_observer;

struct session_options {
    const struct source *source;
    const struct source *more; /* scripts that run together with it */
    size_t more_count;
    bool shares_names;        /* --together: maps and functions of these scripts are common to all */
    const char *const *enums; /* --enum: "map=enum"; NULL-terminated, or NULL */
    struct parameters parameters;
    const struct probe_kind *const *kinds; /* NULL-terminated */
    const struct builtin_table *builtins;
    const char *const *directories;       /* -I, CPATH; NULL-terminated, or NULL */
    const char *const *headers;           /* --include; the same */
    const char *const *debug_directories; /* --debuginfo; the same */
    const pid_t *pids;                    /* -p */
    size_t pid_count;
    bool follows;             /* --follow: also what they, or the command, start */
    const char *cgroup;       /* --cgroup; NULL: none */
    const char *command;      /* -c; NULL: none */
    const char *command_user; /* the user that runs it; NULL: the one who called sudo, or spoor's own */
    bool new_privileges;      /* as another user it may run set-user-ID programs */
    const char *const *symbol_files; /* that may have the symbols of others; NULL-terminated, or NULL */
    const char *without;             /* --no-feature; NULL: none */
    bool without_kernel;             /* --host vm */
    const char *const *recordings;   /* for probes that read them; NULL-terminated, or NULL: the newest */
    bool from_start;                 /* --from start: also what living programs have recorded until now */
    const char *probe_filter;        /* regular expression, or NULL: all */
    enum probe_time runs;            /* PROBE_TEST: --test, PROBE_BENCH: --bench; else 0 */
    bool is_unsafe, is_json, is_quiet, is_verbose, warns; /* warns: -k */
    bool check_only;                                      /* --check: nothing is asked of the kernel */
    bool no_warnings;
    bool shows_times;     /* --times: JSON lines say when */
    bool json_stack_text; /* as the setting json_stacks = text */
    enum session_stage dump;
    struct settings settings; /* of the environment */
    const char *clock_map;    /* tests: tseries' clock; NULL: the real one */
    int output;               /* where the script's output goes */
    const char *output_path;  /* its name, for rotation; NULL: none */
    uint64_t rotate_bytes;    /* the size that a file of output may have; 0: any */
    unsigned keep_files;      /* how many of them are kept; 0: all */
    uint64_t duration_ns;     /* how long the trace lasts after all is attached; 0: no limit */
    uint64_t max_events;      /* after how many events it ends; 0: no limit */
    uint64_t max_memory;      /* bytes for maps, rings and this process; 0: no limit */
    uint64_t tells_each_ns;   /* how often runtime errors are told that happen again; 0: each second */
    bool unbuffered;          /* write each record at once: -B line, -B none */
    bool makes_files;         /* the caller makes and replaces files while the trace runs */
    bool counts_time;         /* the kernel measures how long programs run; session_each_program() */
    bool keep_maps_quiet;     /* no maps at the end, nor the empty lines before them */
    bool bcc_histograms;      /* --histogram bcc */
    const struct map_watcher *watcher;       /* is told of maps while they are printed; NULL: nobody is */
    const struct session_observer *observer; /* is told of what is printed; NULL: nobody is */
    /* Gets what is reported beside the output, in whole lines: banners, warnings, run-time errors. */
    void (*report)(void *state, const char *text);
    /* Gets how many sites are attached, now and then while that takes long; total 0: it is over. May be NULL. */
    void (*progress)(void *state, size_t done, size_t total);
    /* Called now and then while the trace waits for the reader of its output. It may read maps. May be NULL. */
    void (*meanwhile)(void *state);
    void *state;
    bool colour;
    bool colours_output; /* the output is to have colours */
    bool is_terminal;    /* the output is a terminal's */
    /* Part of another program (libspoortracer): no signal is taken over, and the environment is not read. */
    bool is_embedded;
    /* Instead of `output`; or NULL. */
    void (*write)(void *state, const char *bytes, size_t length);
    /* Gets each record before it is handled, and returns true if nothing else is to be done with it. May be NULL. */
    bool (*watch)(void *state, const struct event_handler *handler, const struct action *action,
                  const uint8_t *record);
};

enum report_kind { REPORT_NOTE, REPORT_WARNING, REPORT_ERROR };

/* Somebody who keeps what a trace prints, with its time. All functions are called by the session's thread, and may be NULL.
 * Times are those of the boot clock, ns; over recordings, of their events. */
struct session_observer {
    void *state;
    const struct session_observer *next; /* who is told after this one; or NULL */
    /* Gets what the script printed, as it is written: text, or lines of JSON. Maps are left out: see `watcher`. */
    void (*printed)(void *state, uint64_t time, const char *bytes, size_t length);
    /* Gets what is reported beside the output, without colours. */
    void (*reported)(void *state, uint64_t time, enum report_kind kind, const char *text);
    /* Called again and again while the trace runs, very often over recordings, and once when no more events come, before
     * end probes run and maps are printed (is_end). The maps can be read. session: NULL, if the trace runs on other
     * machines. */
    void (*passed)(void *state, struct session *session, uint64_t time, bool is_end);
};

/* 0, or -ENOMEM. The options must live as long as the session. */
int session_open(const struct session_options *options, struct session **out);
/* 0; or -errno with errors in session_diagnostics. With a dump stage: session_dump has its text. */
int session_compile(struct session *session);
/* Runs until the script, a signal, the command or the process ends it. *status: what to exit with. 0 or
 * -errno with errors in session_diagnostics. SIGINT and SIGTERM are taken over while it runs. */
int session_run(struct session *session, int *status);
/* The same in steps, for a caller with a loop of its own. */
int session_begin(struct session *session); /* loads, attaches. After an error: only diagnostics and close */
/* Waits at most so long for something to happen, and acts on it: the number of records. Over recordings it
 * goes on until that time has passed. */
int session_iterate(struct session *session, int wait_ms);
bool session_is_over(const struct session *session);
int session_end(struct session *session, int *status); /* maps can still be read */
/* Without end probes: what runs stops, what is attached goes. */
void session_leave(struct session *session);
int session_descriptor(const struct session *session); /* readable when a ring is filling up; -1: none */
/* While it is paused, from session_begin on, its probes stay attached and do nothing: events of that time are not counted,
 * not even as lost. */
void session_pause(struct session *session, bool pauses);
/* Says a line beside the output, as the session itself does. It is an error if the format begins with "ERROR: ", a warning with
 * "WARNING: " or "Lost ", and else a note. */
void session_report(struct session *session, const char *format, ...) __attribute__((format(printf, 2, 3)));
const struct diagnostics *session_diagnostics(const struct session *session);
const char *session_dump(const struct session *session);
/* Calls with the session's memory guarded: what the call answers, or -ENOMEM. Everything that prints needs
 * it. */
int session_guarded(struct session *session, int (*call)(void *), void *state);
/* For reading maps, from session_begin on. */
struct host *session_host(const struct session *session);
const struct image *session_image(const struct session *session);
struct printer *session_printer(struct session *session);
const struct source *session_source(const struct session *session); /* the first script */
/* The settings of the environment and the script. */
const struct settings *session_settings(const struct session *session);
/* Where the script uses a map of the image first; a span of no source: it is none of the script's. */
struct span session_map_use(const struct session *session, size_t map);
/* Whether a map is the script's own notebook, such as the times at which something began: expressions use its values, and
 * delete() removes its keys. */
bool session_map_is_notebook(const struct session *session, size_t map);
/* Whether it runs over recordings, whose time is its own. */
bool session_is_replay(const struct session *session);
/* What the script calls where records are handled. */
const struct action_table *session_actions(const struct session *session);
/* From now on the script's output goes to session_options.output, and not to its `write`. */
void session_write_directly(struct session *session);
void session_close(struct session *session);

/* What a trace has counted about itself, from session_begin on. */
uint64_t session_events(const struct session *session); /* that were printed or acted on */
size_t session_attached(const struct session *session); /* how many probes are attached */
struct session_program {
    const char *probe; /* the first one that it is attached to */
    struct span block;
    struct host_runs runs;
};
typedef void session_program_visitor(void *state, const struct session_program *program);
void session_each_program(const struct session *session, session_program_visitor *visit, void *state);
/* Whether the kernel measures how long programs run; without CAP_SYS_ADMIN only if kernel.bpf_stats_enabled is set. */
bool session_has_time(const struct session *session);
/* An error inside programs, in the order of the script; several programs may have one at the same place. */
struct session_error {
    const char *error; /* a word: "fault", "map_full" */
    const char *probe; /* as the script writes it */
    struct span span;  /* of no source: it is nowhere */
    bool is_lost;      /* an event is lost each time */
    uint64_t count;
};
typedef void session_error_visitor(void *state, const struct session_error *error);
/* Visits those that a trace reports when they happen, with those that have not happened yet. */
void session_each_error(const struct session *session, session_error_visitor *visit, void *state);

/* For -l with a script: the names of all its probes. */
int session_probes(struct session *session, probe_visitor *visit, void *state);
/* Calls `visit` for each attach point of the script, also after an error: then some have no sites yet. */
struct session_point {
    const struct attach_point *point;
    const struct probe_kind *kind; /* of its first site; NULL: it has none */
    size_t sites;
};
typedef void session_point_visitor(void *state, const struct session_point *point);
void session_each_point(const struct session *session, session_point_visitor *visit, void *state);

/* What stands at an offset of the script. */
struct session_place {
    /* The attach point there, or the first one of the block; NULL: there is none. */
    const struct attach_point *point;
    bool is_at_point; /* the offset is within it */
    /* The smallest map or expression with a type there, after checking; NULL: none. */
    const struct node *node;
};
struct session_place session_find(const struct session *session, uint32_t offset);

#endif
