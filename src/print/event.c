/* SPDX-License-Identifier: BSD-3-Clause */
#include "print/event.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum {
    CELL_NAME = 7,
    CELL_VALUE = 16,
    NAME_BYTES_MAX = RECORDING_NAME_CUT, /* longer names are cut */
};

struct pen { /* builds one line; what it holds goes to `out` before anything long is added */
    struct text *out;
    char *at;
    unsigned column; /* the column at which `line` begins */
    uint64_t now;    /* the time of the event, ns */
    char line[2048];
};

static void pen_flush(struct pen *pen)
{
    text_append(pen->out, pen->line, (size_t)(pen->at - pen->line));
    pen->column += (unsigned)(pen->at - pen->line);
    pen->at = pen->line;
}

static unsigned pen_column(const struct pen *pen)
{
    return pen->column + (unsigned)(pen->at - pen->line);
}

static inline void pen_need(struct pen *pen, size_t bytes)
{
    if ((size_t)(pen->line + sizeof pen->line - pen->at) < bytes)
        pen_flush(pen);
}

static inline void put_fill(struct pen *pen, unsigned count)
{
    enum { STEP = 32 }; /* a constant, so that it is two instructions and no call */
    pen_need(pen, count + STEP);
    for (unsigned done = 0; done < count; done += STEP)
        memset(pen->at + done, ' ', STEP);
    pen->at += count;
}

/* As put_to() for at most CELL_VALUE columns: the spaces are always written, which is one instruction, and count where they
 * are needed. */
static inline void put_to_near(struct pen *pen, unsigned column)
{
    const unsigned now = pen_column(pen);
    pen_need(pen, CELL_VALUE);
    memset(pen->at, ' ', CELL_VALUE);
    pen->at += now < column && column - now <= CELL_VALUE ? column - now : 0;
}

static inline void put_to(struct pen *pen, unsigned column)
{
    const unsigned now = pen_column(pen);
    if (now < column)
        put_fill(pen, column - now > 256 ? 256 : column - now);
}

/* Puts what fits into a line. A function of its own, where compilers know nothing of the length: a call is faster than
 * what they put in its place. */
static __attribute__((noinline)) void put_known(struct pen *pen, const char *bytes, size_t length)
{
    pen_need(pen, length);
    memcpy(pen->at, bytes, length);
    pen->at += length;
}

static void put_bytes(struct pen *pen, const char *bytes, size_t length)
{
    if (length > sizeof pen->line) {
        pen_flush(pen);
        text_append(pen->out, bytes, length);
        pen->column += (unsigned)length;
        return;
    }
    put_known(pen, bytes, length);
}

static inline void put_short(struct pen *pen, const char *text, size_t length) /* at most NAME_BYTES_MAX */
{
    pen_need(pen, NAME_BYTES_MAX);
    memcpy(pen->at, text, length);
    pen->at += length;
}

static void put_name(struct pen *pen, const char *name)
{
    put_known(pen, name, strnlen(name, NAME_BYTES_MAX));
}

/* Puts the name of a thread, behind which there are zeros. */
static void put_thread_name(struct pen *pen, const char *name)
{
    uint64_t words[RECORDING_NAME / sizeof(uint64_t)];
    pen_need(pen, RECORDING_NAME);
    memcpy(words, name, sizeof words);
    memcpy(pen->at, name, sizeof words);
    const unsigned zeros = words[1]   ? (unsigned)__builtin_clzll(words[1]) / 8
                           : words[0] ? 8 + (unsigned)__builtin_clzll(words[0]) / 8
                                      : RECORDING_NAME;
    pen->at += RECORDING_NAME - zeros; /* little-endian, as every machine that we know */
}

/* Puts a text of the program's own, whose length the compiler knows. */
#define PUT_TEXT(pen_, text_) put_short(pen_, "" text_, sizeof(text_) - 1)

static inline void put_char(struct pen *pen, char c)
{
    pen_need(pen, 1);
    *pen->at++ = c;
}

static inline void put_number(struct pen *pen, uint64_t value)
{
    pen_need(pen, NUMBER_DIGITS_MAX);
    pen->at = number_write(pen->at, value);
}

static inline unsigned count_digits(uint64_t value)
{
    static const uint64_t least[NUMBER_DIGITS_MAX] = {/* of a number with one digit more than the index */
                                                      0,
                                                      10,
                                                      100,
                                                      1000,
                                                      10000,
                                                      100000,
                                                      1000000,
                                                      10000000,
                                                      100000000,
                                                      1000000000,
                                                      10000000000,
                                                      100000000000,
                                                      1000000000000,
                                                      10000000000000,
                                                      100000000000000,
                                                      1000000000000000,
                                                      10000000000000000,
                                                      100000000000000000,
                                                      1000000000000000000,
                                                      10000000000000000000u};
    const unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);
    const unsigned about =
        bits * 1233 >> 12; /* as many decimal digits as so many bits have for certain: log10(2) */
    return about + (value >= least[about]);
}

/* Puts a number right-aligned in at least `width` columns. */
static inline void put_aligned(struct pen *pen, uint64_t value, unsigned width, char fill)
{
    enum { MOST = 32 }; /* a constant, so that it is two instructions and no call */
    const unsigned length = count_digits(value);
    pen_need(pen, MOST + NUMBER_DIGITS_MAX);
    memset(pen->at, fill, MOST);
    pen->at = number_write(pen->at + (width > length && width <= MOST ? width - length : 0), value);
}

/* Returns eight hexadecimal digits, the first in the lowest byte. */
static inline uint64_t hex_eight(uint64_t value)
{
    enum { BEFORE_LETTERS = 39 }; /* so many characters lie between '9' and 'a' */
    const uint64_t ones = 0x0101010101010101;
    value = (value << 16 | value) & 0x0000ffff0000ffff; /* each digit gets a byte of its own */
    value = (value << 8 | value) & 0x00ff00ff00ff00ff;
    value = (value | value << 4) & 0x0f0f0f0f0f0f0f0f;
    const uint64_t letters = (value + 6 * ones) >> 4 & ones; /* 1 where the digit is more than 9 */
    return __builtin_bswap64(value + '0' * ones + BEFORE_LETTERS * letters);
}

static void put_hex(struct pen *pen, uint64_t value)
{
    enum { EIGHT = 8 };
    unsigned length = value ? (67u - (unsigned)__builtin_clzll(value)) / 4 : 1;
    uint64_t digits = hex_eight(value & UINT32_MAX);
    pen_need(pen, 2 * EIGHT);
    if (length > EIGHT) {
        const uint64_t first = hex_eight(value >> 32) >> 8 * (2 * EIGHT - length);
        memcpy(pen->at, &first, sizeof first);
        pen->at += length - EIGHT;
        length = EIGHT;
    }
    digits >>= 8 * (EIGHT - length);
    memcpy(pen->at, &digits, sizeof digits);
    pen->at += length;
}

/* Puts nanoseconds as microseconds with three decimals. */
static void put_time(struct pen *pen, uint64_t nanoseconds, unsigned width)
{
    const unsigned rest = nanoseconds % 1000;
    put_aligned(pen, nanoseconds / 1000, width > 4 ? width - 4 : 0, ' ');
    pen_need(pen, 4);
    *pen->at++ = '.';
    *pen->at++ = (char)('0' + rest / 100);
    *pen->at++ = (char)('0' + rest / 10 % 10);
    *pen->at++ = (char)('0' + rest % 10);
}

static void put_object(struct pen *pen, const struct recording_model *model, int16_t type, uint64_t number,
                       uint64_t id)
{
    put_char(pen, model->objects[type].letter);
    if (number != OBJECT_UNNUMBERED) {
        put_number(pen, number);
    } else {
        put_char(pen, '@');
        put_hex(pen, id);
    }
}

/* Puts bytes that a program recorded, control characters as \xNN. */
static void put_recorded(struct pen *pen, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)bytes[i];
        pen_need(pen, 4);
        if (c >= ' ' && c != 127) {
            *pen->at++ = (char)c;
        } else {
            *pen->at++ = '\\';
            *pen->at++ = 'x';
            *pen->at++ = "0123456789abcdef"[c >> 4];
            *pen->at++ = "0123456789abcdef"[c & 15];
        }
    }
}

/* Puts a number as %.9g would; those with few digits are put faster. */
static void put_real(struct pen *pen, double value)
{
    const double thousandths = value * 1000;
    pen_need(pen, 40);
    if (value >= 0 && value < 1e9 && value == (double)(uint32_t)value) {
        put_number(pen, (uint32_t)value);
    } else if (value > 0 && value < 1e6 && thousandths == (double)(uint32_t)thousandths) {
        const uint32_t rest = (uint32_t)thousandths % 1000;
        put_number(pen, (uint32_t)thousandths / 1000);
        *pen->at++ = '.';
        *pen->at++ = (char)('0' + rest / 100);
        if (rest % 100)
            *pen->at++ = (char)('0' + rest / 10 % 10);
        if (rest % 10)
            *pen->at++ = (char)('0' + rest % 10);
    } else {
        pen->at += snprintf(pen->at, 40, "%.9g", value);
    }
}

static void put_value(struct pen *pen, const struct recording_event *event, unsigned index)
{
    const struct recording_argument *argument = &event->tracepoint->arguments[index];
    const uint64_t word = event->words[index];
    const char *name = argument->enumeration ? recording_enumerator(argument->enumeration, word) : NULL;
    if (name) {
        put_name(pen, name);
        return;
    }
    switch (argument->kind) {
    case RECORDING_SIGNED:
        if ((int64_t)word < 0)
            put_char(pen, '-');
        put_number(pen, (int64_t)word < 0 ? -word : word);
        break;
    case RECORDING_POINTER:
        PUT_TEXT(pen, "0x");
        put_hex(pen, word);
        break;
    case RECORDING_STRING: {
        const struct recording_text text = recording_string(event, index);
        if (text.is_null)
            PUT_TEXT(pen, "(null)");
        put_recorded(pen, text.bytes, text.length);
        if (text.is_cut)
            PUT_TEXT(pen, "..");
        break;
    }
    case RECORDING_REAL: {
        double value;
        memcpy(&value, &word, sizeof value);
        put_real(pen, value);
        break;
    }
    case RECORDING_BOOL:
        if (word)
            PUT_TEXT(pen, "true");
        else
            PUT_TEXT(pen, "false");
        break;
    default: put_number(pen, word);
    }
}

/* ---- a line ---- */

/* The letter and id of the owner; the letter alone is known when SPDK's tracepoint says so. */
static void put_owner(struct pen *pen, const struct recording *recording, const struct recording_event *event,
                      const struct recording_owner *owner, bool is_known)
{
    const struct recording_model *model = recording_model(recording);
    char letter = event->tracepoint->owner >= 0 ? model->owners[event->tracepoint->owner].letter : 0;
    if (is_known && owner->letter)
        letter = owner->letter;
    if (!letter && !event->owner)
        return;
    put_char(pen, letter ? letter : '?');
    put_aligned(pen, event->owner, 2, '0');
}

static void put_thread(const struct event_printer *printer, struct pen *pen,
                       const struct recording_event *event)
{
    put_aligned(pen, event->thread, printer->number_width, ' ');
    PUT_TEXT(pen, ": ");
}

/* Begins a cell, which is a name and a value, each padded. Returns the column of the value. */
static inline unsigned begin_cell(struct pen *pen, const char *name, size_t length)
{
    const unsigned begin = pen_column(pen);
    put_known(pen, name, length);
    put_char(pen, ':');
    put_to_near(pen, begin + CELL_NAME);
    return pen_column(pen);
}

static inline void end_cell(struct pen *pen, unsigned value_begin)
{
    put_to_near(pen, value_begin + CELL_VALUE);
    put_char(pen, ' ');
}

static void print_lost(const struct event_printer *printer, struct pen *pen,
                       const struct recording_event *event)
{
    put_thread(printer, pen, event);
    PUT_TEXT(pen, "*** ");
    put_number(pen, event->lost);
    if (recording_is_spdk(printer->recording))
        PUT_TEXT(pen, " entries");
    else
        PUT_TEXT(pen, " events");
    PUT_TEXT(pen, " overwritten before this ***\n");
    pen_flush(pen);
    pen->column = 0;
}

/* A piece for a terminal: what does not fit into the line stands in the next. */
static void put_piece(const struct event_printer *printer, struct pen *pen, unsigned indent,
                      const struct text *piece)
{
    if (!piece->length)
        return;
    if (pen_column(pen) + piece->length > printer->width && pen_column(pen) > indent) {
        while (pen->at > pen->line && pen->at[-1] == ' ')
            pen->at--;
        put_char(pen, '\n');
        pen_flush(pen);
        pen->column = 0;
        put_fill(pen, indent);
    }
    pen_flush(pen);
    text_append(pen->out, piece->bytes, piece->length);
    pen->column += (unsigned)piece->length;
    put_char(pen, ' ');
}

static void put_ids(struct pen *pen, const struct recording_model *model, const struct object_step *step)
{
    if (step->own->type >= 0)
        put_object(pen, model, step->own->type, step->own->number, step->own->id);
    for (unsigned i = 0; i < step->related_count; i++) {
        if (step->own->type >= 0 || i)
            put_char(pen, ' ');
        put_char(pen, '(');
        put_object(pen, model, step->related[i].type, step->related[i].number, step->related[i].id);
        put_char(pen, ')');
    }
}

/* Whether it is known how long ago the object began. */
static bool has_age(const struct object_step *step)
{
    return step->own->type >= 0 && !step->begins && step->own->number != OBJECT_UNNUMBERED;
}

static void put_age(struct pen *pen, const struct recording *recording, const struct object_step *step)
{
    const uint64_t born = recording_time(recording, step->own->begun);
    put_time(pen, pen->now > born ? pen->now - born : 0, 0);
}

/* Puts the cells of an event in columns, without a limit of width. */
static void put_columns(const struct event_printer *printer, struct pen *pen,
                        const struct recording_event *event, const struct object_step *step)
{
    const struct recording_tracepoint *tracepoint = event->tracepoint;
    const unsigned size_begin = pen_column(pen);
    if (event->size) {
        PUT_TEXT(pen, "size: ");
        put_aligned(pen, event->size, 6, ' ');
        put_char(pen, ' ');
    }
    put_to(pen, size_begin + 13);
    if (step->own->type >= 0 || step->related_count) {
        PUT_TEXT(pen, "id:    ");
        const unsigned value = pen_column(pen);
        put_ids(pen, recording_model(printer->recording), step);
        end_cell(pen, value);
    }
    if (has_age(step)) {
        PUT_TEXT(pen, "time:  ");
        const unsigned value = pen_column(pen);
        put_age(pen, printer->recording, step);
        end_cell(pen, value);
    }
    for (unsigned i = 0; i < tracepoint->argument_count; i++) {
        const unsigned value =
            begin_cell(pen, tracepoint->arguments[i].name, tracepoint->arguments[i].name_length);
        put_value(pen, event, i);
        if (i + 1 < tracepoint->argument_count || event->thread_name[0])
            end_cell(pen, value);
    }
    if (event->thread_name[0]) {
        PUT_TEXT(pen, "thread:");
        put_thread_name(pen, event->thread_name);
    }
}

/* Puts the cells of an event one after the other, in as many lines as that takes. */
static void put_pieces(const struct event_printer *printer, struct pen *pen,
                       const struct recording_event *event, const struct object_step *step)
{
    const struct recording_tracepoint *tracepoint = event->tracepoint;
    enum { ROOM = 48, LITTLE = 16 }; /* in a narrow column every piece would take a line */
    const unsigned now = pen_column(pen), indent = printer->width > now + ROOM ? now : LITTLE;
    enum { SIZE, ID, AGE, ARGUMENTS };
    const unsigned thread = (unsigned)ARGUMENTS + tracepoint->argument_count;
    struct text text = {0};
    for (unsigned i = SIZE; i <= thread; i++) {
        struct pen piece;
        piece.out = &text;
        piece.at = piece.line;
        piece.column = 0;
        piece.now = pen->now;
        text_clear(&text);
        if (i == SIZE && event->size) {
            PUT_TEXT(&piece, "size:");
            put_number(&piece, event->size);
        } else if (i == ID && (step->own->type >= 0 || step->related_count)) {
            PUT_TEXT(&piece, "id:");
            put_ids(&piece, recording_model(printer->recording), step);
        } else if (i == AGE && has_age(step)) {
            PUT_TEXT(&piece, "time:");
            put_age(&piece, printer->recording, step);
        } else if (i == thread && event->thread_name[0]) {
            PUT_TEXT(&piece, "thread:");
            put_thread_name(&piece, event->thread_name);
        } else if (i >= ARGUMENTS && i < thread) {
            put_name(&piece, tracepoint->arguments[i - ARGUMENTS].name);
            put_char(&piece, ':');
            put_value(&piece, event, i - ARGUMENTS);
        }
        pen_flush(&piece);
        put_piece(printer, pen, indent, &text);
    }
    text_free(&text);
}

static unsigned at_most(size_t value, unsigned most)
{
    return value < most ? (unsigned)value : most;
}

void event_print(struct event_printer *printer, struct text *out, const struct recording_event *event,
                 const struct object_step *step)
{
    const struct recording *recording = printer->recording;
    const struct recording_tracepoint *tracepoint = event->tracepoint;
    struct pen pen;
    struct recording_owner owner;
    pen.out = out;
    pen.at = pen.line;
    pen.column = 0;
    if (event->lost)
        print_lost(printer, &pen, event);
    put_thread(printer, &pen, event);
    const uint64_t time = pen.now = recording_time(recording, event->stamp);
    put_time(&pen, time > printer->origin ? time - printer->origin : 0, 10);
    put_char(&pen, ' ');
    if (printer->with_step) {
        PUT_TEXT(&pen, "(+");
        put_time(&pen, printer->begun && time > printer->before ? time - printer->before : 0, 9);
        PUT_TEXT(&pen, ") ");
        printer->before = time;
        printer->begun = true;
    }
    if (printer->with_counter) {
        put_char(&pen, '(');
        const uint64_t start = recording_start_stamp(recording);
        put_aligned(&pen, event->stamp > start ? event->stamp - start : 0, 9, ' ');
        PUT_TEXT(&pen, ") ");
    }
    /* On a terminal these two leave room for the rest. */
    enum { OWNER_MAX = 28 };
    const unsigned owner_most = at_most(printer->width / 4, OWNER_MAX),
                   owner_width = at_most(printer->owner_width, printer->width ? owner_most : UINT_MAX),
                   name_width = at_most(printer->name_width, printer->width ? printer->width / 3 : UINT_MAX);
    const unsigned owner_begin = pen_column(&pen);
    const bool is_known = recording_owner(recording, event, &owner);
    put_owner(&pen, recording, event, &owner, is_known);
    if (is_known && owner.description_length) {
        put_char(&pen, ' ');
        const unsigned used = pen_column(&pen) - owner_begin;
        const size_t most = !printer->width ? SIZE_MAX : owner_width > used ? owner_width - used : 0;
        put_bytes(&pen, owner.description, owner.description_length < most ? owner.description_length : most);
    }
    put_to(&pen, owner_begin + owner_width);
    put_char(&pen, ' ');
    const unsigned name_begin = pen_column(&pen);
    put_known(&pen, tracepoint->name, tracepoint->name_length);
    put_to(&pen, name_begin + name_width);
    put_char(&pen, ' ');
    if (printer->width)
        put_pieces(printer, &pen, event, step);
    else
        put_columns(printer, &pen, event, step);
    while (pen.at > pen.line && pen.at[-1] == ' ')
        pen.at--;
    if (pen.at == pen.line) /* the spaces at its end are in `out` already */
        while (out->length && out->bytes[out->length - 1] == ' ')
            out->length--;
    put_char(&pen, '\n');
    pen_flush(&pen);
}

/* ---- widths ---- */

void event_printer_init(struct event_printer *printer, const struct recording *recording)
{
    const struct recording_model *model = recording_model(recording);
    enum { OWNER_COLUMNS = 72, NAME_BYTES_MAX = 40, SPDK_NAME = 24 };
    *printer = (struct event_printer){
        .recording = recording,
        .origin = recording_start(recording),
        .number_width = 2,
        .owner_width = 3,
        .name_width = recording_is_spdk(recording) ? SPDK_NAME : 13,
    };
    struct recording_thread thread;
    for (size_t i = 0; recording_thread(recording, i, &thread); i++) {
        const unsigned number = count_digits(thread.id);
        printer->number_width = number > printer->number_width ? number : printer->number_width;
    }
    struct recording_owner owner;
    for (size_t i = 0; recording_owner_at(recording, i, &owner); i++) {
        const size_t id = 1 + (count_digits(owner.id) < 2 ? 2 : count_digits(owner.id));
        const unsigned width =
            at_most(owner.description_length ? id + 1 + owner.description_length : id, OWNER_COLUMNS);
        printer->owner_width = width > printer->owner_width ? width : printer->owner_width;
    }
    for (size_t i = 0; i < model->tracepoint_room; i++)
        if (model->tracepoints[i]) {
            const unsigned width = at_most(strlen(model->tracepoints[i]->name), NAME_BYTES_MAX);
            printer->name_width = width > printer->name_width ? width : printer->name_width;
        }
}

/* ---- pieces for others ---- */

void event_print_object(struct text *out, const struct recording_model *model, int16_t type, uint64_t number,
                        uint64_t id)
{
    if (number != OBJECT_UNNUMBERED)
        text_printf(out, "%c%" PRIu64, model->objects[type].letter, number);
    else
        text_printf(out, "%c@%" PRIx64, model->objects[type].letter, id);
}

void event_print_owner(struct text *out, const struct recording *recording,
                       const struct recording_event *event)
{
    struct pen pen;
    struct recording_owner owner;
    pen.out = out;
    pen.at = pen.line;
    pen.column = 0;
    const bool is_known = recording_owner(recording, event, &owner);
    put_owner(&pen, recording, event, &owner, is_known);
    pen_flush(&pen);
}
