/* SPDX-License-Identifier: BSD-3-Clause */
/* A ZIP archive ends with a record (22 bytes, and a comment of up to 64 KiB) that says where its directory is. An
 * entry of the directory (46 bytes, name, extra field, comment) says where the member's own header is (30 bytes,
 * name, extra field), which the member's bytes follow. Numbers are little-endian and untrusted. */
#include "sym/elf/archive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "sym/tables.h"

enum { END = 22, ENTRY = 46, HEADER = 30, COMMENT_MAX = 65535, DIRECTORY_MAX = 64 << 20, ENCRYPTED = 1 };
static const uint32_t end_magic = 0x06054b50, entry_magic = 0x02014b50, header_magic = 0x04034b50;

static int read_at(int fd, uint64_t offset, void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(fd, (char *)bytes + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got ? -errno : -EBADMSG;
        done += (size_t)got;
    }
    return 0;
}

/* Reads the directory, which the caller frees. Returns 0 or -errno. */
static int directory_read(int fd, uint64_t file_size, uint8_t **directory, size_t *size)
{
    static const uint32_t in_64_bit_form = UINT32_MAX;
    size_t length = file_size < END + COMMENT_MAX ? (size_t)file_size : END + COMMENT_MAX;
    uint8_t *tail = length >= END ? malloc(length) : NULL;
    if (!tail)
        return length >= END ? -ENOMEM : -ENOEXEC;
    int error = read_at(fd, file_size - length, tail, length);
    struct cursor end = {.is_bad = true};
    for (size_t at = length - END + 1; !error && end.is_bad && at-- > 0;) {
        const struct cursor here = cursor_over(tail + at, length - at);
        if (cursor_peek(&here, 0, 4) == end_magic && cursor_peek(&here, 20, 2) == length - END - at)
            end = here;
    }
    uint64_t offset = cursor_peek(&end, 16, 4);
    *size = cursor_peek(&end, 12, 4);
    free(tail);
    if (error || end.is_bad)
        return error ? error : -ENOEXEC;
    if (offset == in_64_bit_form || *size > DIRECTORY_MAX)
        return -EFBIG;
    *directory = malloc(*size + 1);
    if (!*directory)
        return -ENOMEM;
    error = read_at(fd, offset, *directory, *size);
    if (error)
        free(*directory);
    return error;
}

static int member_locate(int fd, uint64_t file_size, const struct cursor *entry, uint64_t *offset,
                         uint64_t *size)
{
    uint8_t bytes[HEADER];
    const struct cursor header = cursor_over(bytes, sizeof bytes);
    uint64_t at = cursor_peek(entry, 42, 4);
    *size = cursor_peek(entry, 20, 4);
    if (cursor_peek(entry, 8, 2) & ENCRYPTED || cursor_peek(entry, 10, 2) != 0)
        return -ENOTSUP;
    int error = read_at(fd, at, bytes, sizeof bytes);
    if (error)
        return error;
    *offset = at + HEADER + cursor_peek(&header, 26, 2) + cursor_peek(&header, 28, 2);
    if (cursor_peek(&header, 0, 4) != header_magic || *offset > file_size || *size > file_size - *offset)
        return -EBADMSG;
    return 0;
}

static int find_member(int fd, const char *member, uint64_t *offset, uint64_t *size)
{
    struct stat status;
    uint8_t *directory;
    size_t length, wanted = strlen(member);
    if (fstat(fd, &status))
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -ENOEXEC;
    int error = directory_read(fd, (uint64_t)status.st_size, &directory, &length);
    if (error)
        return error;
    error = -ENOENT;
    struct cursor left = cursor_over(directory, length);
    while (error == -ENOENT && cursor_left(&left) >= ENTRY) {
        const struct cursor entry = left;
        uint64_t magic = cursor_peek(&entry, 0, 4), size_of_name = cursor_peek(&entry, 28, 2);
        cursor_skip(&left, ENTRY);
        const void *name = cursor_take_bytes(&left, size_of_name);
        cursor_skip(&left, cursor_peek(&entry, 30, 2) + cursor_peek(&entry, 32, 2));
        if (magic != entry_magic || left.is_bad)
            error = -EBADMSG;
        else if (size_of_name == wanted && !memcmp(name, member, wanted))
            error = member_locate(fd, (uint64_t)status.st_size, &entry, offset, size);
    }
    free(directory);
    return error;
}

int archive_serve(void *state, struct apart_question *question, struct text *answer)
{
    const char *member = wire_take_text(&question->in);
    uint64_t offset, size;
    (void)state;
    int error = member ? find_member(question->fd, member, &offset, &size) : -EINVAL;
    if (error)
        return error;
    wire_put(answer, offset);
    wire_put(answer, size);
    return 0;
}

int archive_member(int fd, const char *member, uint64_t *offset, uint64_t *size)
{
    struct apart_answer answer;
    struct text question = {0};
    struct stat status;
    if (apart_inside())
        return find_member(fd, member, offset, size);
    if (fstat(fd, &status))
        return -errno;
    wire_put_text(&question, member);
    int error = tables_ask(TABLES_MEMBER, &question, fd, &answer);
    text_free(&question);
    if (!error) {
        *offset = wire_take_within(&answer.in, (uint64_t)status.st_size);
        *size = wire_take_within(&answer.in, (uint64_t)status.st_size - *offset);
        error = answer.in.is_bad ? -EBADMSG : 0;
    }
    apart_answer_free(&answer);
    return error;
}
