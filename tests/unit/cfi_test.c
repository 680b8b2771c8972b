/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the rows of call frame information: compares every row of real files with libdw's answer, and reads
 * damaged sections. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sym/dwarf/cfi.h"

enum { BP = 6, SP = 7, RETURN = 16 };

/* ---- libdw's answer as rows of cfi.h ---- */

static uint32_t bp_rule(Dwarf_Frame *frame)
{
    Dwarf_Op memory[3], *operations;
    size_t count;
    assert_int_equal(dwarf_frame_register(frame, BP, memory, &operations, &count), 0);
    /* Without operations the rule is "undefined" if libdw points at our array, and "same value" if it points at
     * nothing. */
    if (count == 0)
        return operations == memory ? CFI_BP_LOST : CFI_BP_SAME;
    if (operations[0].atom == DW_OP_call_frame_cfa && count <= 2) {
        int64_t offset = count == 2 ? (int64_t)operations[1].number : 0;
        bool fits = (count == 1 || operations[1].atom == DW_OP_plus_uconst) && offset < 0 && offset % 8 == 0;
        return fits ? (uint32_t)(-offset / 8) : CFI_BP_LOST;
    }
    return count == 1 && operations[0].atom == DW_OP_breg6 && operations[0].number == 0 ? CFI_BP_AT_BP
                                                                                        : CFI_BP_LOST;
}

static bool returns_plainly(Dwarf_Frame *frame)
{
    Dwarf_Op memory[3], *operations;
    size_t count;
    assert_int_equal(dwarf_frame_register(frame, RETURN, memory, &operations, &count), 0);
    return count == 2 && operations[0].atom == DW_OP_call_frame_cfa &&
           operations[1].atom == DW_OP_plus_uconst && (int64_t)operations[1].number == -8;
}

static bool returns_nowhere(Dwarf_Frame *frame)
{
    Dwarf_Op memory[3], *operations;
    size_t count;
    return !dwarf_frame_register(frame, RETURN, memory, &operations, &count) && !count &&
           operations == memory;
}

static uint32_t answer(Dwarf_Frame *frame)
{
    Dwarf_Op *operations;
    size_t count;
    bool is_signal = false;
    Dwarf_Addr start, end;
    assert_int_equal(dwarf_frame_info(frame, &start, &end, &is_signal), RETURN);
    if (returns_nowhere(frame))
        return CFI_END;
    if (dwarf_frame_cfa(frame, &operations, &count) || !count)
        return CFI_UNKNOWN;
    bool is_sp = operations[0].atom == DW_OP_breg7 ||
                 (operations[0].atom == DW_OP_bregx && operations[0].number == SP);
    bool is_bp = operations[0].atom == DW_OP_breg6 ||
                 (operations[0].atom == DW_OP_bregx && operations[0].number == BP);
    int64_t offset =
        (int64_t)(operations[0].atom == DW_OP_bregx ? operations[0].number2 : operations[0].number);
    if (is_signal)
        return is_sp && count == 2 && offset == CFI_SIGNAL_SP ? CFI_SIGNAL : CFI_UNKNOWN;
    if (!returns_plainly(frame) || offset % 8 || (!is_sp && !is_bp))
        return CFI_UNKNOWN;
    if (count == 1)
        return cfi_rule(is_sp ? CFI_SP : CFI_BP, bp_rule(frame), offset);
    if (count == 2 && operations[1].atom == DW_OP_deref)
        return cfi_rule(is_sp ? CFI_SP_LOAD : CFI_BP_LOAD, bp_rule(frame), offset);
    if (count == 3 && is_sp && operations[1].atom == DW_OP_deref && operations[2].atom == DW_OP_plus_uconst &&
        operations[2].number == 8)
        return cfi_rule(CFI_SP_LOAD_8, bp_rule(frame), offset);
    if (is_sp && count > 2 && operations[1].atom == DW_OP_breg16)
        return cfi_rule(CFI_PLT, (uint32_t)operations[4].atom - DW_OP_lit0, offset);
    return CFI_UNKNOWN;
}

struct tally {
    size_t places, known, differ;
};

static void compare_at(const struct cfi_rows *rows, struct elf_file *file, Dwarf_CFI *cfi, uint64_t address,
                       struct tally *tally)
{
    Dwarf_Frame *frame = NULL;
    uint64_t place;
    if (elf_file_offset(file, address, &place))
        return;
    const struct cfi_row *row = cfi_find(rows, (uint32_t)place);
    uint32_t rule = row ? row->rule : CFI_UNKNOWN, expected = CFI_UNKNOWN;
    if (!dwarf_cfi_addrframe(cfi, address, &frame))
        expected = answer(frame);
    free(frame);
    const uint64_t entry = elf_file_entry(file);
    if (rule == CFI_END && expected == CFI_UNKNOWN && entry && address >= entry && address - entry < 64)
        expected = CFI_END; /* ends_at_the_entry() */
    tally->places++;
    tally->known += rule != CFI_UNKNOWN;
    if (rule != expected && tally->differ++ < 10)
        fprintf(stderr, "%#llx: %#x, and libdw says %#x\n", (unsigned long long)address, rule, expected);
}

/* Compares at the beginning of each row and at the address before it. Between two beginnings neither side changes,
 * unless libdw has a row that is missing here; the walk over a sample of all addresses finds that. */
static void compare_file(const char *path)
{
    struct elf_file *file;
    struct cfi_rows rows;
    struct tally tally = {0};
    if (access(path, R_OK))
        return;
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
    assert_non_null(cfi);
    assert_int_equal(elf_file_open(path, &file), 0);
    assert_int_equal(cfi_read(file, &rows), 0);
    for (size_t i = 0; i < rows.count; i++) {
        uint64_t address;
        assert_true(!i || rows.items[i - 1].place < rows.items[i].place);
        assert_true(!i || rows.items[i - 1].rule != rows.items[i].rule);
        if (elf_file_address(file, rows.items[i].place, &address))
            continue;
        compare_at(&rows, file, cfi, address, &tally);
        if (address)
            compare_at(&rows, file, cfi, address - 1, &tally);
        uint64_t step = 1 + rows.count / 20000;
        for (uint64_t at = address + 1; i + 1 < rows.count && i % step == 0 && rows.items[i].rule &&
                                        at - address < rows.items[i + 1].place - rows.items[i].place;
             at++)
            compare_at(&rows, file, cfi, at, &tally);
    }
    printf("%s: %zu rows, %zu places, %zu known\n", path, rows.count, tally.places, tally.known);
    assert_int_equal(tally.differ, 0);
    assert_true(tally.known > tally.places / 2);
    cfi_free(&rows);
    elf_file_close(file);
    dwarf_cfi_end(cfi);
    elf_end(elf);
    close(fd);
}

static void as_libdw(void **state)
{
    (void)state;
    compare_file("/lib/x86_64-linux-gnu/libc.so.6");
    compare_file("/lib64/ld-linux-x86-64.so.2");
    compare_file("/lib/x86_64-linux-gnu/libcrypto.so.3"); /* assembly */
    compare_file("/lib/x86_64-linux-gnu/libstdc++.so.6");
    const char *more = getenv("SPOOR_CFI_FILES"); /* the paths are separated by blanks */
    char *copy = more ? strdup(more) : NULL, *rest = NULL;
    for (char *path = copy ? strtok_r(copy, " ", &rest) : NULL; path; path = strtok_r(NULL, " ", &rest))
        compare_file(path);
    free(copy);
}

/* The entry of the dynamic linker, of which nothing is said, has no caller; 64 bytes behind it that is over. */
static void ends_at_the_entry(void **state)
{
    (void)state;
    struct elf_file *file;
    struct cfi_rows rows;
    uint64_t place;
    if (elf_file_open("/lib64/ld-linux-x86-64.so.2", &file))
        skip();
    assert_int_equal(cfi_read(file, &rows), 0);
    assert_int_equal(elf_file_offset(file, elf_file_entry(file), &place), 0);
    assert_int_equal(cfi_find(&rows, (uint32_t)place)->rule, CFI_END);
    assert_int_not_equal(cfi_find(&rows, (uint32_t)place + 64)->rule, CFI_END);
    cfi_free(&rows);
    elf_file_close(file);
}

static void finds_nothing_in_others(void **state)
{
    (void)state;
    struct cfi_rows none = {0};
    assert_null(cfi_find(&none, 1));
    struct cfi_row items[] = {{16, 2}, {32, 3}};
    struct cfi_rows two = {items, 2};
    assert_null(cfi_find(&two, 15));
    assert_int_equal(cfi_find(&two, 16)->rule, 2);
    assert_int_equal(cfi_find(&two, 31)->rule, 2);
    assert_int_equal(cfi_find(&two, UINT32_MAX)->rule, 3);
}

/* Changes every byte of a section in turn: nothing outside of the section is read, and the reader ends. */
static void survives_damage(void **state)
{
    (void)state;
    FILE *stream = fopen("/proc/self/exe", "rb");
    assert_non_null(stream);
    size_t room = 32 << 20, size;
    uint8_t *bytes = malloc(room);
    assert_non_null(bytes);
    size = fread(bytes, 1, room, stream);
    fclose(stream);
    struct elf_file *file;
    struct elf_section section;
    struct cfi_rows rows;
    assert_int_equal(elf_file_open_memory(bytes, size, &file), 0);
    assert_true(elf_file_section_named(file, ".eh_frame", &section));
    elf_file_close(file);
    uint64_t most = section.size < 600 ? section.size : 600;
    for (uint64_t i = 0; i < most; i++) {
        static const uint8_t values[] = {0, 0xff, 0x80, 0x7f};
        uint8_t *at = bytes + section.offset + i, before = *at;
        for (size_t k = 0; k < sizeof values; k++) {
            *at = values[k];
            assert_int_equal(elf_file_open_memory(bytes, size, &file), 0);
            if (!cfi_read(file, &rows))
                cfi_free(&rows);
            elf_file_close(file);
        }
        *at = before;
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_nothing_in_others),
        cmocka_unit_test(survives_damage),
        cmocka_unit_test(as_libdw),
        cmocka_unit_test(ends_at_the_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
