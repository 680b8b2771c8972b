/* SPDX-License-Identifier: BSD-3-Clause */
/* A dump: the newest part of the recording in a file of its own. It is a copy with holes: the same layout at the
 * same offsets, without the blocks that are too old. Rings are copied while their threads go on recording; a reader
 * finds out which blocks are whole, as in any copy. Only system calls are made, so that a signal handler can write
 * a dump. */
#include "recorder/state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int write_all(int file, const void *from, size_t bytes, uint64_t offset)
{
    const uint8_t *at = from;
    while (bytes > 0) {
        const ssize_t written = pwrite(file, at, bytes, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -EIO;
        at += written;
        offset += (uint64_t)written;
        bytes -= (size_t)written;
    }
    return 0;
}

/* Whether every record in this block is older than `from`: it is if the next block was opened before that. */
static bool block_is_old(const struct layout_block *blocks, uint64_t count, uint64_t slot, uint64_t from)
{
    const uint64_t sequence = __atomic_load_n(&blocks[slot].sequence, __ATOMIC_ACQUIRE);
    if (sequence == 0)
        return true;
    const struct layout_block *next = &blocks[(slot + 1) % count];
    return __atomic_load_n(&next->sequence, __ATOMIC_ACQUIRE) == sequence + 1 && next->counter < from;
}

static int write_ring(int file, const struct recording *recording, const struct layout_place *place,
                      uint64_t from)
{
    const uint64_t offset = place->offset;
    const uint64_t count = place->bytes / LAYOUT_BLOCK_BYTES;
    const struct layout_block *blocks =
        (const struct layout_block *)(recording->memory + offset + LAYOUT_PAGE);
    int error = write_all(file, recording->memory + offset, LAYOUT_PAGE, offset);
    /* The neighbours of a block that is not old are copied, too: their pages say whether it is whole. */
    for (uint64_t slot = 0; slot < count && error == 0; slot++)
        if (!block_is_old(blocks, count, slot, from) ||
            !block_is_old(blocks, count, (slot + 1) % count, from) ||
            !block_is_old(blocks, count, (slot + count - 1) % count, from))
            error = write_all(file, &blocks[slot], LAYOUT_BLOCK_BYTES,
                              offset + LAYOUT_PAGE + slot * LAYOUT_BLOCK_BYTES);
    /* The tail is written after the blocks, because it shows which of them were overwritten meanwhile. */
    if (error == 0) {
        const uint64_t tail = offset + LAYOUT_PAGE + place->bytes;
        error = write_all(file, recording->memory + tail, sizeof(struct layout_tail), tail);
    }
    return error;
}

static int write_recording(int file, const struct recording *recording, unsigned seconds)
{
    const struct layout_header *header = recording->header;
    struct {
        _Alignas(8) uint8_t bytes[LAYOUT_PAGE];
    } page;
    memcpy(&page, recording->control, sizeof page);
    struct layout_control *control = (struct layout_control *)page.bytes;
    const uint64_t now = spoor_counter_(), span = seconds * header->counter_hz;
    control->from = seconds != 0 && span < now ? now - span : 0;
    if (control->from < control->cleared)
        control->from = control->cleared;

    const uint64_t behind = header->control_offset + header->control_bytes;
    int error = write_all(file, recording->memory + behind, header->directory_offset - behind, behind);
    uint64_t end = header->rings_offset;
    for (uint64_t i = 0; i < control->rings && error == 0; i++) {
        const struct layout_place *here = directory_place(recording, i);
        const uint32_t state = __atomic_load_n(&here->state, __ATOMIC_ACQUIRE);
        if (state != LAYOUT_RING_USED && state != LAYOUT_RING_ENDED)
            continue;
        const struct layout_place place = {here->offset, here->bytes, state};
        error = write_ring(file, recording, &place, control->from);
        if (error == 0) /* without its entry in the directory the ring is not there */
            error = write_all(file, &place, sizeof place, header->directory_offset + i * sizeof place);
        if (end < place.offset + LAYOUT_PAGE + place.bytes + LAYOUT_PAGE)
            end = place.offset + LAYOUT_PAGE + place.bytes + LAYOUT_PAGE;
    }
    if (error == 0 && ftruncate(file, (off_t)end) != 0)
        error = -errno;
    if (error == 0)
        error = write_all(file, &page, sizeof page, header->control_offset);
    if (error == 0) /* The header is written last: without it the file is no recording. */
        error = write_all(file, header, LAYOUT_PAGE, 0);
    return error;
}

static int dump(const char *path, unsigned seconds)
{
    const struct recording *recording = &recorder.recording;
    if (__atomic_load_n(&recorder.generation, __ATOMIC_ACQUIRE) == 0 || recorder.forked)
        return -ENOENT;
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return -errno;
    int error = write_recording(file, recording, seconds);
    if (close(file) != 0 && error == 0)
        error = -errno;
    if (error != 0)
        unlink(path);
    return error;
}

int spoor_trace_dump(const char *path, unsigned seconds)
{
    const int saved = errno, error = dump(path, seconds);
    errno = saved;
    return error;
}

static void on_signal(int signal)
{
    (void)signal;
    char path[PATH_MAX], *end = path + sizeof path;
    const uint64_t number = __atomic_add_fetch(&recorder.dumps, 1, __ATOMIC_RELAXED);
    char *at = file_append(path, end, recorder.settings.dump_path);
    at = file_append(at, end, ".");
    at = file_append_number(at, end, (uint64_t)getpid());
    at = file_append(at, end, ".");
    at = file_append_number(at, end, number);
    at = file_append(at, end, ".spoor");
    if (at != NULL)
        /* A signal handler can report a failure to nobody. */
        spoor_trace_dump(path, recorder.settings.dump_seconds);
}

int dump_signal_begin(void)
{
    if (recorder.settings.dump_signal == 0)
        return 0;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(recorder.settings.dump_signal, &action, &recorder.signal_before) != 0)
        return recorder_fail(-EINVAL, "signal %d cannot be used for dumps", recorder.settings.dump_signal);
    return 0;
}

void dump_signal_end(void)
{
    if (recorder.settings.dump_signal != 0)
        sigaction(recorder.settings.dump_signal, &recorder.signal_before, NULL);
}
