/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests of the recorder through its public interface: tracepoints of every kind, a recording of this process,
 * and a minimal reader of its file. The ring under load is tested in tests/programs/recorder_stress.c. */
#ifndef SPOOR_TESTS_RECORDER_TESTING_H
#define SPOOR_TESTS_RECORDER_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <spoor/trace.h>
#include "recorder_reader.h"

enum io_type { IO_READ, IO_WRITE, IO_FLUSH = 7, IO_WRONG = -1 };
typedef void (*message_function)(void *context);

SPOOR_GROUP(bdev, "block devices");
SPOOR_GROUP(tcp, "TCP transport");
SPOOR_OWNER(bdev, 'b');
SPOOR_OWNER(connection, 't');
SPOOR_OBJECT(bdev_io, 'i');
SPOOR_OBJECT(tcp_request, 'r');
SPOOR_ENUM(io_type, SPOOR_VALUE(IO_READ), SPOOR_VALUE(IO_WRITE), SPOOR_VALUE(IO_FLUSH),
           SPOOR_VALUE(IO_WRONG));

SPOOR_TRACEPOINT(bdev, BDEV_IO_START, bdev_io, SPOOR_BEGINS, (enum io_type, type, io_type),
                 (const void *, ctx), (uint64_t, offset), (uint32_t, len));
SPOOR_TRACEPOINT(bdev, BDEV_IO_DONE, bdev_io, SPOOR_ENDS, (const void *, ctx));
SPOOR_TRACEPOINT(tcp, TCP_REQ_NEW, tcp_request, SPOOR_BEGINS);
SPOOR_TRACEPOINT(tcp, TCP_TEXT, none, SPOOR_USES, (const char *, text), (uint8_t, small), (char *, other));
SPOOR_TRACEPOINT(tcp, TCP_ALL, none, SPOOR_USES, (char, a), (int8_t, b), (uint16_t, c), (int32_t, d),
                 (long long, e), (bool, f), (float, g), (double, h), (message_function, i), (const int *, j),
                 (unsigned long, k), (enum io_type, l, io_type));
SPOOR_RELATION(BDEV_IO_START, ctx, tcp_request);
SPOOR_TRACEPOINT_HERE(BDEV_IO_START);
SPOOR_TRACEPOINT_HERE(BDEV_IO_DONE);
SPOOR_TRACEPOINT_HERE(TCP_REQ_NEW);
SPOOR_TRACEPOINT_HERE(TCP_TEXT);
SPOOR_TRACEPOINT_HERE(TCP_ALL);

static char directory[64];

static inline struct spoor_trace_options usual(const char *enable)
{
    return (struct spoor_trace_options){
        .size = sizeof(struct spoor_trace_options),
        .name = "unit",
        .enable = enable,
        .directory = directory,
        .ring_bytes = 16384,
        .flags = SPOOR_TRACE_REMOVE | SPOOR_TRACE_NO_ENVIRONMENT,
    };
}

static inline void open_usual(const char *enable)
{
    const struct spoor_trace_options options = usual(enable);
    if (spoor_trace_open(&options) != 0)
        fail_msg("%s", spoor_trace_error());
}

static inline struct recording_view look(void)
{
    struct recording_view view = {0};
    assert_true(view_open(&view, spoor_trace_path()));
    return view;
}

static inline unsigned files_in_directory(void)
{
    unsigned files = 0;
    DIR *opened = opendir(directory);
    for (struct dirent *entry; (entry = readdir(opened)) != NULL;)
        files += entry->d_name[0] != '.';
    closedir(opened);
    return files;
}

/* ---- records, gathered ---- */

enum { GATHERED = 64 };
struct gathered {
    unsigned count;
    struct {
        uint64_t number;
        union {
            struct layout_record record;
            uint8_t bytes[LAYOUT_BLOCK_BYTES];
        };
    } records[GATHERED];
};

static inline void gather(void *context, uint64_t number, const struct layout_record *record)
{
    struct gathered *gathered = context;
    if (gathered->count == GATHERED) { /* keeps the newest records */
        memmove(&gathered->records[0], &gathered->records[1], sizeof gathered->records[0] * (GATHERED - 1));
        gathered->count--;
    }
    gathered->records[gathered->count].number = number;
    memcpy(gathered->records[gathered->count].bytes, record, layout_record_bytes(record->start));
    gathered->count++;
}

static inline struct gathered *gather_ring(const struct recording_view *view, uint64_t ring)
{
    static struct gathered gathered;
    gathered.count = 0;
    if (view_has_ring(view, ring))
        ring_walk(view, ring, gather, &gathered);
    return &gathered;
}

static inline struct gathered *gather_here(void)
{
    struct recording_view view = look();
    struct gathered *gathered = gather_ring(&view, 0);
    view_close(&view);
    return gathered;
}

static inline const char *string_argument(const struct layout_record *record, unsigned index)
{
    static char text[LAYOUT_BLOCK_BYTES];
    const uint64_t word = record->arguments[index];
    const uint32_t offset = (uint32_t)(word >> 16 & 0xffff), bytes = (uint32_t)(word & 0xffff);
    if (offset == 0)
        return NULL;
    assert_true(offset + bytes <= layout_record_bytes(record->start));
    memcpy(text, (const char *)record + offset, bytes);
    text[bytes] = '\0';
    return text;
}

static inline uint64_t string_length(const struct layout_record *record, unsigned index)
{
    return record->arguments[index] >> 32;
}

static inline unsigned owner_entries(const struct recording_view *view, uint32_t id)
{
    unsigned entries = 0;
    for (uint64_t i = 0; i < view_header(view)->owner_count; i++)
        entries += view_owner(view, i)->version != 0 && view_owner(view, i)->id == id;
    return entries;
}

/* Creates the directory that all tests of a program share. */
static inline int make_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/dev/shm/spoor-unit-XXXXXX");
    return mkdtemp(directory) == NULL;
}

static inline int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory);
}

static inline int close_recording(void **state)
{
    (void)state;
    spoor_trace_close();
    return 0;
}

#define TEST(name_) cmocka_unit_test_teardown(name_, close_recording)

#endif
