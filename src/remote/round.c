/* SPDX-License-Identifier: BSD-3-Clause */
/* An element is its key, of histograms with keys the row, then the value. The texts of names are numbered anew, so that equal texts
 * of several hosts have equal numbers. */
#include "remote/round.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "base/terminal.h"
#include "base/vector.h"

enum { INDENTED = 8 };

struct remote_round {
    const struct map_signature *signature;
    struct portable_print print;
    struct portable_style style;
    struct text title, trailer; /* of the style */
    uint8_t *elements;
    size_t count, room;
    struct table indexes; /* by key, and of a series the interval: the index of an element, plus 1 */
    struct table texts;
    uint8_t *space; /* for an element of one host, and two values to be made one */
};

static size_t element_bytes(const struct remote_round *round)
{
    return round->signature->key_bytes + round->signature->value_bytes;
}

bool round_fits(const struct remote_round *round, const struct map_signature *signature, bool is_last)
{
    return round->signature == signature && round->print.is_last == is_last;
}

bool round_is_last(const struct remote_round *round)
{
    return round->print.is_last;
}

const struct map_signature *round_signature(const struct remote_round *round)
{
    return round->signature;
}

/* ---- texts ---- */

/* Returns the number of a text plus 1; 0 if there is no memory. */
static size_t text_number(struct remote_round *round, const char *text)
{
    const size_t length = strlen(text), known = (size_t)(uintptr_t)table_get(&round->texts, text, length);
    const size_t number = round->texts.count + 1;
    if (known)
        return known;
    return table_set(&round->texts, text, length,
                     (void *)(uintptr_t)number) // NOLINT(performance-no-int-to-ptr)
               ? 0
               : number;
}

/* Hosts are the first texts, so that their keys are in this order. */
static bool add_hosts(struct remote_round *round, const char *const *hosts, size_t count)
{
    bool is_made = true;
    for (size_t i = 0; i < count && round->signature->apart; i++)
        is_made &= text_number(round, hosts[i]) == i + 1;
    return is_made;
}

/* The title is printed as it is, and so must not command a terminal. */
static void keep_style(struct remote_round *round, const struct portable_style *style)
{
    const char *title = style->histogram_title, *trailer = style->trunc_trailer;
    round->style = *style;
    if (title)
        terminal_escape(&round->title, title, strlen(title), TERMINAL_NAME);
    if (trailer)
        text_add(&round->trailer, trailer);
    round->style.histogram_title = title ? text_string(&round->title) : NULL;
    round->style.trunc_trailer = trailer ? text_string(&round->trailer) : NULL;
}

struct remote_round *round_new(const struct map_signature *signature, const struct portable_map *map,
                               const char *const *hosts, size_t count)
{
    struct remote_round *round = calloc(1, sizeof *round);
    if (!round)
        return NULL;
    round->signature = signature;
    round->print = map->print;
    keep_style(round, &map->style);
    round->print.emptied = 0;
    round->space = calloc(1, 2 * element_bytes(round) + 3 * signature->value_bytes + 3 * sizeof(uint64_t));
    if (round->space && !round->title.failed && !round->trailer.failed && add_hosts(round, hosts, count))
        return round;
    round_free(round);
    return NULL;
}

static const char *text_of(void *owner, uint64_t index)
{
    const struct remote_round *round = owner;
    return index < round->texts.count ? round->texts.entries[index].key : NULL;
}

struct translation {
    struct remote_round *round;
    const struct portable_map *map;
    int error;
};

/* Lines of a text are indented, as those of stacks are, so that none of them can be taken for one that spoor prints. */
static size_t lines_number(struct remote_round *round, const char *text)
{
    struct text lines = {0};
    for (const char *at = text; *at;) {
        const size_t length = strcspn(at, "\n") + (at[strcspn(at, "\n")] != 0);
        if (at != text && *at != ' ' && *at != '\t' && *at != '\n')
            text_fill(&lines, ' ', INDENTED);
        text_append(&lines, at, length);
        at += length;
    }
    const size_t number = lines.failed ? 0 : text_number(round, text_string(&lines));
    text_free(&lines);
    return number;
}

static void translate(void *state, uint64_t *index, bool has_lines)
{
    struct translation *translation = state;
    const struct portable_map *map = translation->map;
    if (*index >= map->text_count) {
        translation->error = -EBADMSG;
        return;
    }
    const char *text = map->texts[*index];
    const size_t number =
        has_lines ? lines_number(translation->round, text) : text_number(translation->round, text);
    if (!number)
        translation->error = -ENOMEM;
    *index = number - 1;
}

/* ---- elements ---- */

static void merge_value(const struct remote_round *round, uint8_t *into, const uint8_t *value, uint8_t *space)
{
    const size_t size = round->signature->value_bytes;
    memcpy(space, into, size);
    memcpy(space + size, value, size);
    if (round->signature->has_row) {
        const uint64_t sum = aggregation_sum_row((const uint64_t *)(const void *)space, 2);
        memcpy(into, &sum, sizeof sum);
    } else if (type_is_per_cpu(round->signature->value)) {
        aggregation_sum(round->signature->value, space, 2, space + 2 * size);
        memcpy(into, space + 2 * size, size);
    } else {
        memcpy(into, value, size);
    }
}

/* The element: key and value as the round has them. It is in round->space, with room behind it. */
static int add_element(struct remote_round *round, const uint8_t *element)
{
    const size_t size = element_bytes(round);
    const bool is_series = type_has_shape(round->signature->value, AGGREGATION_SERIES);
    const size_t identity = round->signature->key_bytes +
                            (is_series ? sizeof(uint64_t) : 0); /* a series begins with the interval */
    const size_t known = (size_t)(uintptr_t)table_get(&round->indexes, element, identity);
    if (known) {
        uint8_t *into = round->elements + (known - 1) * size + round->signature->key_bytes;
        merge_value(round, into, element + round->signature->key_bytes, round->space + 2 * size);
        return 0;
    }
    /* The printer may look at a struct as if it were padded, so there is room for one more. */
    if (round->count + 1 >= round->room) {
        uint8_t *grown = vector_grow(round->elements, &round->room, SIZE_MAX, size);
        if (!grown)
            return -ENOMEM;
        round->elements = grown;
    }
    memcpy(round->elements + round->count * size, element, size);
    round->count++;
    return table_set(&round->indexes, element, identity,
                     (void *)(uintptr_t)round->count); // NOLINT(performance-no-int-to-ptr)
}

/* Adds the rows that are not 0 of a histogram without a key. */
static int spread_rows(struct remote_round *round, uint64_t host, const uint8_t *rows)
{
    int error = 0;
    for (uint64_t row = 0; row < type_rows(round->signature->value) && !error; row++) {
        uint64_t element[] = {host, row, 0};
        memcpy(&element[2], rows + row * sizeof *element, sizeof *element);
        if (!element[2])
            continue;
        memcpy(round->space, element, sizeof element);
        error = add_element(round, round->space);
    }
    return error;
}

int round_add(struct remote_round *round, size_t host, const struct portable_map *map)
{
    struct translation translation = {round, map, 0};
    const uint64_t number = host;
    const size_t before = round->signature->apart ? sizeof number : 0,
                 bytes = map->key_bytes + map->value_bytes;
    if (map->print.emptied > round->print.emptied)
        round->print.emptied = map->print.emptied;
    for (size_t i = 0; i < map->count && !translation.error; i++) {
        const uint8_t *from = map->elements + i * bytes;
        if (round->signature->spreads) {
            translation.error = spread_rows(round, number, from);
            continue;
        }
        memcpy(round->space, &number, before);
        memcpy(round->space + before, from, bytes);
        if (map->key)
            portable_each_text(map->key, round->space + before, translate, &translation);
        portable_each_text(map->value, round->space + before + map->key_bytes, translate, &translation);
        if (!translation.error)
            translation.error = add_element(round, round->space);
    }
    return translation.error;
}

/* ---- printing ---- */

/* Calls the watchers here and not through the printer, because for them a map of another signature has another name. */
static void notify_watchers(const struct remote_round *round, struct printer *printer,
                            const struct map_snapshot *map, const struct map_watcher *watchers)
{
    const struct portable_print *print = &round->print;
    struct map_snapshot titled = *map;
    titled.name = round->signature->title;
    for (const struct map_watcher *watcher = watchers; watcher; watcher = watcher->next) {
        if (print->emptied && watcher->emptied)
            watcher->emptied(watcher->state, titled.name, print->emptied);
        if (watcher->printed)
            watcher->printed(watcher->state, printer, &titled, (size_t)print->top, print->divisor);
    }
}

int round_print(const struct remote_round *round, const struct printer *printer,
                const struct map_watcher *watchers)
{
    const struct map_signature *signature = round->signature;
    const struct print_names names = {.owner = (void *)round, .name = text_of};
    struct map_entry *entries = calloc(round->count + 1, sizeof *entries);
    const struct map_snapshot map = {signature->name, signature->key, signature->value, entries,
                                     round->count};
    if (!entries)
        return -ENOMEM;
    for (size_t i = 0; i < round->count; i++) {
        const uint8_t *at = round->elements + i * element_bytes(round);
        entries[i] = (struct map_entry){at, at + signature->key_bytes};
    }
    struct printer styled = *printer;
    styled.scratch = (struct text){0};
    styled.names = &names;
    styled.json_enum_names = round->style.json_enum_names;
    styled.bcc_histograms |= round->style.bcc_histograms;
    styled.orders_by_key = round->style.orders_by_key;
    styled.histogram_title = round->style.histogram_title;
    styled.trunc_trailer = round->style.trunc_trailer;
    notify_watchers(round, &styled, &map, watchers);
    const int error = print_map(&styled, &map, (size_t)round->print.top, round->print.divisor);
    printer_free(&styled);
    free(entries);
    return error;
}

void round_free(struct remote_round *round)
{
    if (!round)
        return;
    table_free(&round->indexes);
    table_free(&round->texts);
    text_free(&round->title);
    text_free(&round->trailer);
    free(round->elements);
    free(round->space);
    free(round);
}
