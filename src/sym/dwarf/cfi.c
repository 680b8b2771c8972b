/* SPDX-License-Identifier: BSD-3-Clause */
/* See cfi.h. A section is a list of entries: common ones (CIE), which say how to read others, and one for each
 * function (FDE), which has a small program whose run gives the rows.
 *
 * Everything is untrusted: it is read through a cursor that knows its end, and the work is bounded by the section's
 * size. */
#include "sym/dwarf/cfi.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "sym/tables.h"

enum {
    REGISTER_BP = 6,
    REGISTER_SP = 7,
    REGISTER_RETURN = 16,
    REMEMBERED_MAX = 16,
    ENTRY_BYTES = 64,  /* of a program's entry at most: what it calls returns to within them */
    STEPS_A_BYTE = 64, /* the program of a common entry runs for each function that names it */
    SECTION_MAX = 256 << 20,
};

enum saved { SAVED_SAME, SAVED_AT, SAVED_AT_BP, SAVED_LOST, SAVED_NOWHERE };

struct place_of { /* where the caller's value of a register is */
    enum saved saved;
    int64_t offset; /* SAVED_AT: bytes from the CFA */
};

struct state {
    enum cfi_kind cfa;  /* also CFI_SP if the CFA depends on another register: then is_other is set */
    uint32_t threshold; /* for CFI_PLT */
    bool is_other;
    int64_t offset;
    struct place_of bp, ip;
    bool signal_ip, signal_bp; /* they are where a signal's frame saves them */
};

struct common {
    size_t at; /* offset in the section; SIZE_MAX: none was read */
    uint64_t code_factor;
    int64_t data_factor;
    uint8_t encoding;
    bool has_size, is_signal;
    struct state initial;
};

struct found {
    uint64_t address;
    uint32_t rule;
    uint32_t order; /* of those at one address the last counts; ends come first */
};

struct reader {
    struct cursor section;
    uint64_t address; /* address of the section */
    bool is_debug;
    struct common common;
    uint64_t steps;
    struct found *items;
    size_t count, room;
    int error;
};

/* Returns the cursor's offset in the section. */
static size_t offset_of(const struct reader *reader, const struct cursor *cursor)
{
    return (size_t)(cursor->at - reader->section.at);
}

/* Reads a pointer with an encoding; a relative one is relative to its own place. */
static uint64_t take_pointer(const struct reader *reader, struct cursor *cursor, uint8_t encoding)
{
    uint64_t place = reader->address + offset_of(reader, cursor), value;
    switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8: value = cursor_take(cursor, 8); break;
    case DW_EH_PE_udata4: value = cursor_take(cursor, 4); break;
    case DW_EH_PE_sdata4: value = (uint64_t)(int64_t)(int32_t)cursor_take(cursor, 4); break;
    case DW_EH_PE_udata2: value = cursor_take(cursor, 2); break;
    case DW_EH_PE_sdata2: value = (uint64_t)(int64_t)(int16_t)cursor_take(cursor, 2); break;
    case DW_EH_PE_uleb128: value = cursor_take_uleb(cursor); break;
    case DW_EH_PE_sleb128: value = (uint64_t)cursor_take_sleb(cursor); break;
    default: cursor->is_bad = true; return 0;
    }
    switch (encoding & 0xf0) {
    case 0: return value;
    case DW_EH_PE_pcrel: return value + place;
    default: cursor->is_bad = true; return 0;
    }
}

/* ---- what a state says ---- */

static bool fits(int64_t offset)
{
    return offset % CFI_WORD == 0 && offset / CFI_WORD >= INT16_MIN && offset / CFI_WORD <= INT16_MAX;
}

static uint32_t bp_of(const struct state *state)
{
    int64_t offset = state->bp.offset;
    switch (state->bp.saved) {
    case SAVED_SAME: return CFI_BP_SAME;
    case SAVED_AT:
        return offset < 0 && offset % CFI_WORD == 0 && offset >= -(int64_t)CFI_BP_MAX * CFI_WORD
                   ? (uint32_t)(-offset / CFI_WORD)
                   : CFI_BP_LOST;
    case SAVED_AT_BP: return CFI_BP_AT_BP;
    default: return CFI_BP_LOST;
    }
}

static uint32_t rule_of(const struct state *state, bool is_signal)
{
    if (state->ip.saved == SAVED_NOWHERE)
        return CFI_END;
    if (is_signal)
        return state->cfa == CFI_SP_LOAD && state->offset == CFI_SIGNAL_SP && state->signal_ip &&
                       state->signal_bp
                   ? CFI_SIGNAL
                   : CFI_UNKNOWN;
    if (state->is_other || !fits(state->offset) || state->ip.saved != SAVED_AT ||
        state->ip.offset != -CFI_WORD)
        return CFI_UNKNOWN;
    uint32_t bp = state->cfa == CFI_PLT ? state->threshold : bp_of(state);
    return state->cfa == CFI_UNKNOWN ? CFI_UNKNOWN : cfi_rule(state->cfa, bp, state->offset);
}

static void add(struct reader *reader, uint64_t address, uint32_t rule, bool is_end)
{
    if (!vector_make_room(reader->items, reader->count, reader->room)) {
        reader->error = -ENOMEM;
        return;
    }
    uint32_t order = is_end ? 0 : (uint32_t)reader->count + 1;
    reader->items[reader->count++] = (struct found){address, rule, order};
}

/* ---- programs ---- */

/* Reads an expression for the CFA. The known ones are those of linkers for the PLT, of compilers for a stack that
 * is aligned, and of assembly that keeps the old stack pointer in memory. */
static void take_cfa_expression(struct state *state, struct cursor expression)
{
    uint8_t first = (uint8_t)cursor_take(&expression, 1);
    int64_t offset = cursor_take_sleb(&expression);
    uint8_t second = (uint8_t)cursor_take(&expression, 1);
    bool is_sp = first == DW_OP_breg0 + REGISTER_SP, is_bp = first == DW_OP_breg0 + REGISTER_BP;
    size_t left = cursor_left(&expression);
    state->cfa = CFI_UNKNOWN;
    state->offset = offset;
    state->is_other = false;
    if (expression.is_bad)
        return;
    if (second == DW_OP_deref && !left) {
        state->cfa = is_sp ? CFI_SP_LOAD : is_bp ? CFI_BP_LOAD : CFI_UNKNOWN;
    } else if (second == DW_OP_deref && is_sp) {
        if (cursor_take(&expression, 1) == DW_OP_plus_uconst && cursor_take_uleb(&expression) == 8 &&
            cursor_is_done(&expression))
            state->cfa = CFI_SP_LOAD_8;
    } else if (is_sp && second == DW_OP_breg0 + REGISTER_RETURN && left == 8) {
        const uint8_t *code = expression.at;
        const uint8_t known[] = {0, DW_OP_lit15, DW_OP_and, 0, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
        bool is_plt = code[3] >= DW_OP_lit0 && code[3] <= DW_OP_lit15;
        for (size_t i = 0; i < sizeof known; i++)
            is_plt &= i == 3 || code[i] == known[i];
        state->cfa = is_plt ? CFI_PLT : CFI_UNKNOWN;
        state->threshold = code[3] - (uint32_t)DW_OP_lit0;
    }
}

static void take_expression(struct state *state, uint64_t number, struct cursor expression)
{
    uint8_t first = (uint8_t)cursor_take(&expression, 1);
    int64_t offset = cursor_take_sleb(&expression);
    bool is_plain = cursor_is_done(&expression);
    bool at_sp = is_plain && first == DW_OP_breg0 + REGISTER_SP;
    if (number == REGISTER_BP) {
        bool at_bp = is_plain && first == DW_OP_breg0 + REGISTER_BP && offset == 0;
        state->bp.saved = at_bp ? SAVED_AT_BP : SAVED_LOST;
        state->signal_bp = at_sp && offset == CFI_SIGNAL_BP;
    } else if (number == REGISTER_RETURN) {
        state->ip.saved = SAVED_LOST;
        state->signal_ip = at_sp && offset == CFI_SIGNAL_IP;
    }
}

static void set_register(struct state *state, uint64_t number, enum saved saved, int64_t offset)
{
    struct place_of *place = number == REGISTER_BP       ? &state->bp
                             : number == REGISTER_RETURN ? &state->ip
                                                         : NULL;
    if (place)
        *place = (struct place_of){saved, offset};
}

static void restore_register(struct state *state, const struct state *initial, uint64_t number)
{
    if (number == REGISTER_BP)
        state->bp = initial->bp;
    else if (number == REGISTER_RETURN)
        state->ip = initial->ip;
}

static void set_cfa(struct state *state, uint64_t number, int64_t offset)
{
    state->is_other = number != REGISTER_SP && number != REGISTER_BP;
    state->cfa = number == REGISTER_BP ? CFI_BP : CFI_SP;
    state->offset = offset;
}

static int64_t times(uint64_t factor, int64_t with)
{
    return (int64_t)(factor * (uint64_t)with);
}

/* Runs a program from `from` up to `to`, where the function ends. That of a common entry does not move, and `to` is
 * 0. */
/* NOLINTNEXTLINE(readability-function-size): a case for each instruction */
static void run(struct reader *reader, struct cursor program, struct state *state, uint64_t from, uint64_t to)
{
    const struct common *common = &reader->common;
    struct state remembered[REMEMBERED_MAX];
    unsigned depth = 0;
    uint64_t at = from, next = from;
    while (!program.is_bad && program.at < program.end && !reader->error) {
        uint8_t code = (uint8_t)cursor_take(&program, 1), low = code & 0x3f;
        uint64_t number, size;
        struct cursor part;
        if (reader->steps-- == 0) {
            reader->error = -EBADMSG;
            return;
        }
        switch (code & 0xc0 ? code & 0xc0 : code) {
        case DW_CFA_advance_loc: next = at + low * common->code_factor; break;
        case DW_CFA_offset:
            set_register(state, low, SAVED_AT, times(cursor_take_uleb(&program), common->data_factor));
            break;
        case DW_CFA_restore: restore_register(state, &common->initial, low); break;
        case DW_CFA_nop: break;
        case DW_CFA_set_loc: next = take_pointer(reader, &program, common->encoding); break;
        case DW_CFA_advance_loc1: next = at + cursor_take(&program, 1) * common->code_factor; break;
        case DW_CFA_advance_loc2: next = at + cursor_take(&program, 2) * common->code_factor; break;
        case DW_CFA_advance_loc4: next = at + cursor_take(&program, 4) * common->code_factor; break;
        case DW_CFA_offset_extended:
            number = cursor_take_uleb(&program);
            set_register(state, number, SAVED_AT, times(cursor_take_uleb(&program), common->data_factor));
            break;
        case DW_CFA_offset_extended_sf:
            number = cursor_take_uleb(&program);
            set_register(state, number, SAVED_AT,
                         times((uint64_t)cursor_take_sleb(&program), common->data_factor));
            break;
        case DW_CFA_GNU_negative_offset_extended:
            number = cursor_take_uleb(&program);
            set_register(state, number, SAVED_AT, -times(cursor_take_uleb(&program), common->data_factor));
            break;
        case DW_CFA_restore_extended:
            restore_register(state, &common->initial, cursor_take_uleb(&program));
            break;
        case DW_CFA_undefined: set_register(state, cursor_take_uleb(&program), SAVED_NOWHERE, 0); break;
        case DW_CFA_same_value: set_register(state, cursor_take_uleb(&program), SAVED_SAME, 0); break;
        case DW_CFA_register:
        case DW_CFA_val_offset:
        case DW_CFA_val_offset_sf:
            number = cursor_take_uleb(&program);
            cursor_take_uleb(&program);
            set_register(state, number, SAVED_LOST, 0);
            break;
        case DW_CFA_remember_state:
            if (depth < REMEMBERED_MAX)
                remembered[depth++] = *state;
            else
                program.is_bad = true;
            break;
        case DW_CFA_restore_state:
            if (depth)
                *state = remembered[--depth];
            else
                program.is_bad = true;
            break;
        case DW_CFA_def_cfa:
            number = cursor_take_uleb(&program);
            set_cfa(state, number, (int64_t)cursor_take_uleb(&program));
            break;
        case DW_CFA_def_cfa_sf:
            number = cursor_take_uleb(&program);
            set_cfa(state, number, times((uint64_t)cursor_take_sleb(&program), common->data_factor));
            break;
        case DW_CFA_def_cfa_register: set_cfa(state, cursor_take_uleb(&program), state->offset); break;
        case DW_CFA_def_cfa_offset: state->offset = (int64_t)cursor_take_uleb(&program); break;
        case DW_CFA_def_cfa_offset_sf:
            state->offset = times((uint64_t)cursor_take_sleb(&program), common->data_factor);
            break;
        case DW_CFA_def_cfa_expression:
            size = cursor_take_uleb(&program);
            take_cfa_expression(state, cursor_take_part(&program, size));
            break;
        case DW_CFA_expression:
        case DW_CFA_val_expression:
            number = cursor_take_uleb(&program);
            size = cursor_take_uleb(&program);
            part = cursor_take_part(&program, size);
            if (code == DW_CFA_expression)
                take_expression(state, number, part);
            else
                set_register(state, number, SAVED_LOST, 0);
            break;
        case DW_CFA_GNU_args_size: cursor_take_uleb(&program); break;
        default: program.is_bad = true;
        }
        if (next == at || !to)
            continue;
        if (next < at || next > to) {
            program.is_bad = true;
            break;
        }
        add(reader, at, rule_of(state, common->is_signal), false);
        at = next;
    }
    if (to)
        add(reader, at, program.is_bad ? CFI_UNKNOWN : rule_of(state, common->is_signal), false);
    else if (program.is_bad)
        state->cfa = CFI_UNKNOWN;
}

/* ---- entries ---- */

/* Reads a common entry behind its number. False: it cannot be used. */
static bool take_common(struct reader *reader, struct cursor entry, size_t at)
{
    struct common *common = &reader->common;
    *common = (struct common){.at = SIZE_MAX, .encoding = DW_EH_PE_absptr};
    uint8_t version = (uint8_t)cursor_take(&entry, 1);
    const char *letters = cursor_take_text(&entry, SIZE_MAX);
    size_t length = letters ? strlen(letters) : 0;
    if (version >= 4)
        cursor_skip(&entry, 2); /* sizes of addresses and of segments */
    common->code_factor = cursor_take_uleb(&entry);
    common->data_factor = cursor_take_sleb(&entry);
    uint64_t number = version == 1 ? cursor_take(&entry, 1) : cursor_take_uleb(&entry);
    if (entry.is_bad || (version != 1 && version != 3 && version != 4) || number != REGISTER_RETURN)
        return false;
    if (length && letters[0] == 'z') {
        struct cursor data = cursor_take_part(&entry, cursor_take_uleb(&entry));
        common->has_size = true;
        for (size_t i = 1; i < length; i++)
            switch (letters[i]) {
            case 'R': common->encoding = (uint8_t)cursor_take(&data, 1); break;
            case 'L': cursor_take(&data, 1); break;
            case 'P': {
                uint8_t encoding = (uint8_t)cursor_take(&data, 1);
                take_pointer(reader, &data, encoding & 0x7f); /* its place does not matter */
                break;
            }
            case 'S': common->is_signal = true; break;
            case 'B': break;
            default: return false;
            }
        if (data.is_bad)
            return false;
    } else if (length) {
        return false;
    }
    common->initial = (struct state){.cfa = CFI_UNKNOWN, .ip.saved = SAVED_LOST};
    run(reader, entry, &common->initial, 0, 0);
    common->at = at;
    return !reader->error;
}

static void take_function(struct reader *reader, struct cursor entry)
{
    const struct common *common = &reader->common;
    uint64_t from = take_pointer(reader, &entry, common->encoding);
    uint64_t size = take_pointer(reader, &entry, common->encoding & 0x0f);
    if (common->has_size)
        cursor_skip(&entry, cursor_take_uleb(&entry));
    if (entry.is_bad || !from || !size || from + size < from)
        return;
    struct state state = common->initial;
    run(reader, entry, &state, from, from + size);
    add(reader, from + size, CFI_UNKNOWN, true);
}

/* Reads the entry at the cursor, which moves behind it. `entry` is over its content, from its number on. False: the
 * list ends. */
static bool take_entry(struct cursor *cursor, struct cursor *entry, bool *is_wide)
{
    uint64_t length = cursor_take(cursor, 4);
    *is_wide = length == UINT32_MAX;
    if (*is_wide)
        length = cursor_take(cursor, 8);
    *entry = cursor_take_part(cursor, length);
    return !cursor->is_bad && length;
}

static bool read_common(struct reader *reader, size_t at)
{
    struct cursor cursor = cursor_ahead(&reader->section, at), entry;
    bool is_wide;
    if (!take_entry(&cursor, &entry, &is_wide))
        return false;
    uint64_t number = cursor_take(&entry, is_wide && reader->is_debug ? 8 : 4);
    uint64_t none = !reader->is_debug ? 0 : is_wide ? UINT64_MAX : UINT32_MAX;
    return number == none && !entry.is_bad && take_common(reader, entry, at);
}

static void read_section(struct reader *reader)
{
    struct cursor cursor = reader->section;
    while (cursor.at < cursor.end && !reader->error) {
        struct cursor entry;
        bool is_wide, goes_on = take_entry(&cursor, &entry, &is_wide);
        if (cursor.is_bad)
            break;
        if (!goes_on) /* an end mark, which linkers put at the end, and sometimes between */
            continue;
        size_t place = offset_of(reader, &entry);
        uint64_t number = cursor_take(&entry, is_wide && reader->is_debug ? 8 : 4);
        uint64_t none = !reader->is_debug ? 0 : is_wide ? UINT64_MAX : UINT32_MAX;
        if (entry.is_bad || number == none)
            continue;
        uint64_t common = reader->is_debug ? number : place - number;
        if (common >= cursor_left(&reader->section))
            continue;
        if (reader->common.at == common || read_common(reader, (size_t)common))
            take_function(reader, entry);
        if (reader->steps-- == 0)
            reader->error = -EBADMSG;
    }
}

/* ---- rows ---- */

static int compare(const void *left, const void *right)
{
    const struct found *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Makes rows by offsets in the file: an address that is in no segment has no code. Rows are in the order of
 * addresses, and stay so, because linkers place segments in that order. */
static int make_rows(struct elf_file *file, struct reader *reader, struct cfi_rows *out)
{
    if (!reader->count)
        return -ENOENT;
    qsort(reader->items, reader->count, sizeof *reader->items, compare);
    struct cfi_row *rows = calloc(reader->count, sizeof *rows);
    size_t count = 0;
    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < reader->count; i++) {
        const struct found *found = &reader->items[i];
        uint64_t place;
        if (elf_file_offset(file, found->address, &place)) {
            /* It is behind the last byte of a segment: from there on nothing is known. */
            if (!found->address || elf_file_offset(file, found->address - 1, &place))
                continue;
            place++;
        }
        if (place > UINT32_MAX || (count && place < rows[count - 1].place))
            continue;
        if (count && rows[count - 1].place == place)
            count--;
        if (!count || rows[count - 1].rule != found->rule)
            rows[count++] = (struct cfi_row){(uint32_t)place, found->rule};
    }
    struct cfi_row *fitting = realloc(rows, (count + 1) * sizeof *rows);
    *out = (struct cfi_rows){fitting ? fitting : rows, count};
    return 0;
}

/* Adds the rows of a section. -ENOENT: there is none. */
static int read_named(struct elf_file *file, const char *name, bool is_debug, struct reader *reader)
{
    struct elf_section section;
    if (!elf_file_section_named(file, name, &section) || section.type == SHT_NOBITS ||
        section.flags & SHF_COMPRESSED)
        return -ENOENT;
    if (section.size > SECTION_MAX)
        return -EFBIG;
    void *bytes = NULL;
    size_t size = 0;
    int error = elf_file_section_read(file, &section, &bytes, &size);
    if (error)
        return error;
    reader->section = cursor_over(bytes, size);
    reader->address = section.address;
    reader->is_debug = is_debug;
    reader->common.at = SIZE_MAX;
    reader->steps = (uint64_t)size * STEPS_A_BYTE + 1;
    read_section(reader);
    free(bytes);
    return reader->error;
}

/* Makes the entry of a program, of whose code nothing is known, a place that has no caller: that of the dynamic linker is
 * such code, and calls all that runs before the program. */
static void end_at_entry(struct elf_file *file, struct reader *reader)
{
    const uint64_t entry = elf_file_entry(file);
    const struct found *before = NULL;
    bool is_alone = true; /* nothing else begins in what follows it */
    if (!entry)
        return;
    for (size_t i = 0; i < reader->count; i++) {
        const struct found *found = &reader->items[i];
        if (found->address <= entry)
            before = !before || compare(before, found) < 0 ? found : before;
        else
            is_alone &= found->address >= entry + ENTRY_BYTES;
    }
    if (before && before->rule != CFI_UNKNOWN)
        return;
    add(reader, entry, CFI_END, false);
    if (is_alone)
        add(reader, entry + ENTRY_BYTES, CFI_UNKNOWN, true);
}

static int parse(struct elf_file *file, struct cfi_rows *out)
{
    struct reader reader = {0};
    int error = read_named(file, ".eh_frame", false, &reader);
    if (!error || error == -ENOENT)
        error = read_named(file, ".debug_frame", true, &reader);
    if (reader.count)
        end_at_entry(file, &reader);
    if (!error || error == -ENOENT)
        error = reader.error ? reader.error : make_rows(file, &reader, out);
    free(reader.items);
    return error;
}

int cfi_put(struct elf_file *file, struct text *answer)
{
    struct cfi_rows rows;
    int error = cfi_read(file, &rows);
    if (!error)
        wire_put_bytes(answer, rows.items, rows.count * sizeof *rows.items);
    cfi_free(&rows);
    return error;
}

static int ask(const struct elf_file *file, struct cfi_rows *out)
{
    struct apart_answer answer;
    size_t count = 0;
    int error = tables_ask_elf(TABLES_CFI, file, &answer);
    const struct cfi_row *rows = error ? NULL : wire_take_array(&answer.in, sizeof *rows, &count);
    for (size_t i = 1; i < count && !error; i++)
        if (rows[i].place <= rows[i - 1].place)
            error = -EBADMSG;
    if (!error)
        error = rows ? 0 : -EBADMSG;
    if (!error && !(out->items = malloc(count * sizeof *rows + 1)))
        error = -ENOMEM;
    if (!error) {
        memcpy(out->items, rows, count * sizeof *rows);
        out->count = count;
    }
    apart_answer_free(&answer);
    return error;
}

int cfi_read(struct elf_file *file, struct cfi_rows *out)
{
    *out = (struct cfi_rows){0};
    if (elf_file_machine(file) != MACHINE_X86_64)
        return -ENOTSUP;
    return tables_are_apart(file) ? ask(file, out) : parse(file, out);
}

void cfi_free(struct cfi_rows *rows)
{
    free(rows->items);
    *rows = (struct cfi_rows){0};
}

const struct cfi_row *cfi_find(const struct cfi_rows *rows, uint32_t place)
{
    const size_t behind = partition_point(rows->count, i, rows->items[i].place <= place);
    return behind ? &rows->items[behind - 1] : NULL;
}
