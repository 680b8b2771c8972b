/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the ZIP reader on an archive made by hand: whole, cut at every length, and with every byte changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sym/elf/archive.h"

struct zip {
    uint8_t bytes[1024];
    size_t size;
};

static void number(struct zip *zip, uint32_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        zip->bytes[zip->size++] = i < 4 ? (uint8_t)(value >> 8 * i) : 0;
}

static void text(struct zip *zip, const char *text)
{
    memcpy(zip->bytes + zip->size, text, strlen(text));
    zip->size += strlen(text);
}

static const struct member {
    const char *name, *content;
    uint16_t method, flags;
} members[] = {
    {"lib/a.so", "first", 0, 0}, {"packed", "xyz", 8, 0}, {"secret", "??", 0, 1}, {"b", "second!", 0, 0}};
enum { MEMBERS = sizeof members / sizeof *members };

static struct zip zip_make(void)
{
    struct zip zip = {0};
    uint32_t at[MEMBERS];
    text(&zip, "in front");
    for (unsigned i = 0; i < MEMBERS; i++) {
        at[i] = (uint32_t)zip.size;
        number(&zip, 0x04034b50, 4);
        number(&zip, 0, 22);
        number(&zip, (uint32_t)strlen(members[i].name), 2);
        number(&zip, 3, 2);
        text(&zip, members[i].name);
        text(&zip, "abc");
        text(&zip, members[i].content);
    }
    uint32_t directory = (uint32_t)zip.size;
    for (unsigned i = 0; i < MEMBERS; i++) {
        number(&zip, 0x02014b50, 4);
        number(&zip, 0, 4);
        number(&zip, members[i].flags, 2);
        number(&zip, members[i].method, 2);
        number(&zip, 0, 8);
        number(&zip, (uint32_t)strlen(members[i].content), 4);
        number(&zip, (uint32_t)strlen(members[i].content), 4);
        number(&zip, (uint32_t)strlen(members[i].name), 2);
        number(&zip, 0, 12);
        number(&zip, at[i], 4);
        text(&zip, members[i].name);
    }
    uint32_t length = (uint32_t)zip.size - directory;
    number(&zip, 0x06054b50, 4);
    number(&zip, 0, 4);
    number(&zip, MEMBERS, 2);
    number(&zip, MEMBERS, 2);
    number(&zip, length, 4);
    number(&zip, directory, 4);
    number(&zip, 4, 2);
    text(&zip, "note");
    return zip;
}

static int find(const uint8_t *bytes, size_t size, const char *member, uint64_t *offset, uint64_t *length)
{
    int fd = memfd_create("zip", 0);
    assert_int_equal(write(fd, bytes, size), size);
    int error = archive_member(fd, member, offset, length);
    close(fd);
    return error;
}

static void members_are_found(void **state)
{
    struct zip zip = zip_make();
    uint64_t offset, size;
    (void)state;
    assert_int_equal(find(zip.bytes, zip.size, "b", &offset, &size), 0);
    assert_int_equal(size, 7);
    assert_memory_equal(zip.bytes + offset, "second!", 7);
    assert_int_equal(find(zip.bytes, zip.size, "lib/a.so", &offset, &size), 0);
    assert_memory_equal(zip.bytes + offset, "first", 5);
    assert_int_equal(find(zip.bytes, zip.size, "packed", &offset, &size), -ENOTSUP);
    assert_int_equal(find(zip.bytes, zip.size, "secret", &offset, &size), -ENOTSUP);
    assert_int_equal(find(zip.bytes, zip.size, "nothing", &offset, &size), -ENOENT);
    assert_int_equal(find((const uint8_t *)"text", 4, "b", &offset, &size), -ENOEXEC);
    assert_int_equal(find((const uint8_t *)"", 0, "b", &offset, &size), -ENOEXEC);
}

static void damage_is_survived(void **state)
{
    struct zip zip = zip_make();
    uint64_t offset, size;
    (void)state;
    for (size_t cut = 0; cut < zip.size; cut++) {
        uint8_t *copy = malloc(cut + 1); /* exactly as long, so that a sanitizer sees a read behind the end */
        memcpy(copy, zip.bytes, cut);
        assert_int_not_equal(find(copy, cut, "b", &offset, &size), 0);
        free(copy);
    }
    for (size_t i = 0; i < zip.size; i++)
        for (unsigned change = 1; change < 256; change *= 2) {
            zip.bytes[i] ^= (uint8_t)change;
            if (!find(zip.bytes, zip.size, "b", &offset, &size))
                assert_true(offset <= zip.size && size <= zip.size - offset);
            zip.bytes[i] ^= (uint8_t)change;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found),
        cmocka_unit_test(damage_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
