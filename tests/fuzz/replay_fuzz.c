/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer: scripts over hostile recordings (recordings.h): the recording's own names, types and texts reach the
 * checker, the compiler, programs, maps and the output. The input's first byte chooses the script and the form of
 * the output. */
#include <stdio.h>

#include "builtin/all.h"
#include "probe/all.h"
#include "recordings.h"
#include "session/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ITERATION_MS = 50 }; /* a recording may say that its program lives and will go on */

static const char *const scripts[] = {
    "trace:*:* { @[probe, comm, owner_name] = count(); @living = hist(lifetime); @since[tid] = stats(since); "
    "@last[object, related, owner] = nsecs; } interval:ms:100 { print(@living); }",
    "trace:*:* { print(args); @all[args] = count(); }",
    "trace:*:* { printf(\"%d %s %r\\n\", arg0, str(arg0), buf(arg1)); @[str(arg1), arg2] = max(arg0); "
    "if (strcontains(str(arg0), \"e\")) { @e[cpu, pid] = avg(elapsed); } }",
    "begin { @begun = nsecs; } trace:bdev:*, trace:t:BEGIN, trace:*:E* { @[object]++; delete(@, related); "
    "$t = (args.text, args.n); print($t); } end { for ($kv : @) { print($kv); } }",
};

static void ignore(void *state, const char *text)
{
    (void)state, (void)text;
}

static void ignore_output(void *state, const char *bytes, size_t length)
{
    (void)state, (void)bytes, (void)length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    char path[32];
    const int file = hostile_recording(data + 1, size - 1);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const char *text = scripts[data[0] % (sizeof scripts / sizeof scripts[0])];
    const struct source source = {"fuzz", text, strlen(text)};
    const char *const paths[] = {path, NULL};
    const struct session_options options = {
        .source = &source,
        .kinds = probe_kinds,
        .builtins = &builtin_table,
        .recordings = paths,
        .is_json = data[0] & 64,
        .shows_times = data[0] & 128,
        .is_embedded = true,
        .report = ignore,
        .write = ignore_output,
    };
    struct session *session;
    int status;
    if (!session_open(&options, &session)) {
        if (!session_compile(session) && !session_begin(session)) {
            session_iterate(session, ITERATION_MS);
            session_end(session, &status);
        }
        session_close(session);
    }
    close(file);
    return 0;
}
