/* SPDX-License-Identifier: BSD-3-Clause */
/* A program all of whose names become hostile: its symbols, the names in its debug information, its probes, and
 * what it records. C accepts no such names, so here they end in several x, which hostile_names.py replaces in the
 * finished file.
 *
 *   hostile_names [TEXT]
 *
 * Its comm and its thread have such names, too. It prints the path of its recording, and goes on until its standard
 * input ends. */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <spoor/probe.h>
#include <spoor/trace.h>

SPOOR_GROUP(Zgroup_xxxxxxxxxxxxxxxxxxxxx, "Zabout_xxxxxxxxxxxxxxxxxxxxx");
SPOOR_OWNER(Zowner, 'o');
SPOOR_OBJECT(Zobject_xxxxxxxxxxxxxxxxxxxxx, 'i');
enum Zenum_xxxxxxxxxxxxxxxxxxxxx { Zone_xxxxxxxxxxxxxxxxxxxxx = 1, Ztwo_xxxxxxxxxxxxxxxxxxxxx = 2 };
SPOOR_ENUM(Zenum_xxxxxxxxxxxxxxxxxxxxx, SPOOR_VALUE(Zone_xxxxxxxxxxxxxxxxxxxxx),
           SPOOR_VALUE(Ztwo_xxxxxxxxxxxxxxxxxxxxx));
SPOOR_TRACEPOINT(Zgroup_xxxxxxxxxxxxxxxxxxxxx, Zbegin_xxxxxxxxxxxxxxxxxxxxx, Zobject_xxxxxxxxxxxxxxxxxxxxx,
                 SPOOR_BEGINS, (const char *, Ztext_xxxxxxxxxxxxxxxxxxxxx),
                 (enum Zenum_xxxxxxxxxxxxxxxxxxxxx, Zkind_xxxxxxxxxxxxxxxxxxxxx,
                  Zenum_xxxxxxxxxxxxxxxxxxxxx));
SPOOR_TRACEPOINT(Zgroup_xxxxxxxxxxxxxxxxxxxxx, Zend_xxxxxxxxxxxxxxxxxxxxx, Zobject_xxxxxxxxxxxxxxxxxxxxx,
                 SPOOR_ENDS, (const char *, Ztext_xxxxxxxxxxxxxxxxxxxxx));
SPOOR_TRACEPOINT_HERE(Zbegin_xxxxxxxxxxxxxxxxxxxxx);
SPOOR_TRACEPOINT_HERE(Zend_xxxxxxxxxxxxxxxxxxxxx);
SPOOR_PROBE_DECLARE(Zprovider_xxxxxxxxxxxxxxxxxxxxx, Zprobe_xxxxxxxxxxxxxxxxxxxxx,
                    (const char *, Zargument_xxxxxxxxxxxxxxxxxxxxx));

struct Zstruct_xxxxxxxxxxxxxxxxxxxxx {
    char Zfield_xxxxxxxxxxxxxxxxxxxxx[64];
    enum Zenum_xxxxxxxxxxxxxxxxxxxxx Zmember_xxxxxxxxxxxxxxxxxxxxx;
};

#line 1000 "Zsource_xxxxxxxxxxxxxxxxxxxxx"
__attribute__((noinline)) void Zsymbol_xxxxxxxxxxxxxxxxxxxxx(const char *Zparameter_xxxxxxxxxxxxxxxxxxxxx,
                                                             enum Zenum_xxxxxxxxxxxxxxxxxxxxx kind,
                                                             struct Zstruct_xxxxxxxxxxxxxxxxxxxxx *both)
{
    SPOOR_FIRE(Zprovider_xxxxxxxxxxxxxxxxxxxxx, Zprobe_xxxxxxxxxxxxxxxxxxxxx,
               Zparameter_xxxxxxxxxxxxxxxxxxxxx);
    __asm__ volatile("" : : "r"(kind), "r"(both) : "memory");
}

int main(int argc, char **argv)
{
    static struct Zstruct_xxxxxxxxxxxxxxxxxxxxx both = {"", Ztwo_xxxxxxxxxxxxxxxxxxxxx};
    const char *text = argc > 1 ? argv[1] : "Ztold";
    const struct spoor_trace_options options = {.size = sizeof options, .name = "Zname", .enable = "all"};
    snprintf(both.Zfield_xxxxxxxxxxxxxxxxxxxxx, sizeof both.Zfield_xxxxxxxxxxxxxxxxxxxxx, "%s", text);
    prctl(PR_SET_NAME, text);
    if (spoor_trace_open(&options)) {
        fprintf(stderr, "%s\n", spoor_trace_error());
        return 1;
    }
    spoor_trace_thread(text);
    const uint32_t owner = spoor_owner_register(&spoor_owner_Zowner, text);
    struct pollfd end = {STDIN_FILENO, POLLIN, 0};
    bool is_told = false;
    do {
        SPOOR_RECORD(Zbegin_xxxxxxxxxxxxxxxxxxxxx, owner, &both, text, Zone_xxxxxxxxxxxxxxxxxxxxx);
        Zsymbol_xxxxxxxxxxxxxxxxxxxxx(text, Zone_xxxxxxxxxxxxxxxxxxxxx, &both);
        if (getenv(text)) /* for tracers that probe calls of the C library */
            return 1;
        SPOOR_RECORD(Zend_xxxxxxxxxxxxxxxxxxxxx, owner, &both, text);
        if (!is_told) { /* only now the recording has a record */
            printf("%s\n", spoor_trace_path());
            fflush(stdout);
        }
        is_told = true;
    } while (!poll(&end, 1, 5));
    return 0;
}
