/* SPDX-License-Identifier: BSD-3-Clause */
/* A ZIP archive ends in a record (22 bytes, and a comment of up to 64 KiB) that says where its directory is;
 * an entry of the directory (46 bytes, name, extra field, comment) says where a member's own header is (30
 * bytes, name, extra field); the bytes follow that. Numbers are little-endian and untrusted. */
#include "sym/elf/archive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sym/tables.h"

enum { END = 22, ENTRY = 46, HEADER = 30, COMMENT_MAX = 65535, DIRECTORY_MAX = 64 << 20, ENCRYPTED = 1 };
static const uint32_t end_magic = 0x06054b50, entry_magic = 0x02014b50, header_magic = 0x04034b50;

static uint32_t half(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8;
}

static uint32_t word(const uint8_t *at)
{
    return half(at) | half(at + 2) << 16;
}

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

/* The directory's bytes; free them. */
static int directory_read(int fd, uint64_t file_size, uint8_t **directory, size_t *size)
{
    static const uint32_t in_64_bit_form = UINT32_MAX;
    size_t length = file_size < END + COMMENT_MAX ? (size_t)file_size : END + COMMENT_MAX;
    uint8_t *tail = length >= END ? malloc(length) : NULL;
    if (!tail)
        return length >= END ? -ENOMEM : -ENOEXEC;
    int error = read_at(fd, file_size - length, tail, length);
    const uint8_t *end = NULL;
    for (size_t at = length - END + 1; !error && !end && at-- > 0;)
        if (word(tail + at) == end_magic && half(tail + at + 20) == length - END - at)
            end = tail + at;
    uint32_t offset = end ? word(end + 16) : 0;
    *size = end ? word(end + 12) : 0;
    free(tail);
    if (error || !end)
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

static int member_locate(int fd, uint64_t file_size, const uint8_t *entry, uint64_t *offset, uint64_t *size)
{
    uint8_t header[HEADER];
    uint32_t at = word(entry + 42);
    *size = word(entry + 20);
    if (half(entry + 8) & ENCRYPTED || half(entry + 10) != 0)
        return -ENOTSUP;
    int error = read_at(fd, at, header, sizeof header);
    if (error)
        return error;
    *offset = (uint64_t)at + HEADER + half(header + 26) + half(header + 28);
    if (word(header) != header_magic || *offset > file_size || *size > file_size - *offset)
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
    for (size_t at = 0; length - at >= ENTRY;) {
        const uint8_t *entry = directory + at;
        size_t name = half(entry + 28), whole = ENTRY + name + half(entry + 30) + half(entry + 32);
        if (word(entry) != entry_magic || whole > length - at) {
            error = -EBADMSG;
            break;
        }
        if (name == wanted && !memcmp(entry + ENTRY, member, name)) {
            error = member_locate(fd, (uint64_t)status.st_size, entry, offset, size);
            break;
        }
        at += whole;
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
