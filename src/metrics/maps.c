/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/maps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vector.h"
#include "bpf/host.h"
#include "metrics/help.h"
#include "metrics/names.h"
#include "metrics/native.h"
#include "print/map.h"
#include "print/series.h"
#include "print/snapshot.h"

/* The words of a value, those from the first to the last that is not 0: histograms have many rows, of which few are used. */
struct words {
    uint32_t first, count;
    uint64_t *at;
};

struct series {        /* what is known of one key, beside what the map has now */
    struct words kept; /* of values from before the map was emptied */
    uint64_t last;    /* the count when it was read last, which falls only if the key was deleted meanwhile */
    uint64_t time;    /* when it was seen in the map last: monotonic clock, ns */
    uint64_t reading; /* the number of the reading that saw it last, */
    size_t found;     /* and where in that reading's words its value is */
    double created;   /* seconds since 1970 */
    bool is_dead;     /* it has vanished */
    bool is_kept;     /* the map was emptied, and the key has not come again */
    bool is_twin;     /* another one with the same labels is written with this one's numbers added */
    struct series *twins; /* such others; twins of one series are a list, */
    struct series *first; /* and this is the one with which it begins; NULL: there are no twins */
    struct words joined;  /* of a count that has twins: its value when it was written last */
    char values[];        /* of the labels */
};

struct map_family {
    struct metric_maps *maps;
    size_t index; /* of the map in the image */
    const struct type *key, *value;
    struct metric_family family;
    struct metric_row *rows;
    struct text name, help, label_names;
    const char **labels;
    size_t words; /* of a value */
    struct table series;
    size_t dead;
    uint64_t left_out; /* keys for which there was no room at the last reading */
};

struct metric_maps {
    struct session *session;
    struct map_family *families;
    size_t count, room;
    size_t series, series_max; /* living ones, of all families */
    uint64_t reading;
};

/* ---- kinds ---- */

/* Returns false for a type that is no number. */
static bool choose_kind(const struct type *type, struct metric_family *family)
{
    family->kind = METRIC_GAUGE;
    if (!type_is_aggregation(type))
        return type_is_number(type);
    const struct aggregation *kind = type->aggregation;
    switch (kind->shape) {
    case AGGREGATION_STATS:
    case AGGREGATION_NUMBER:
        if (kind->is_average || kind->merge == MERGE_ADD)
            family->kind = kind->is_average || !kind->is_unsigned ? METRIC_SUMMARY : METRIC_COUNTER;
        family->has_count = kind->is_average;
        return true;
    case AGGREGATION_ROWS: family->kind = METRIC_HISTOGRAM; return kind->bounds && !kind->is_line;
    case AGGREGATION_SERIES: return true;
    default: return false;
    }
}

static double row_end(bool has_end, int64_t end, double otherwise)
{
    return has_end ? (double)end : otherwise;
}

static int make_rows(struct map_family *of)
{
    struct metric_family *family = &of->family;
    family->row_count = type_rows(of->value);
    family->rows = of->rows = calloc(family->row_count, sizeof *of->rows);
    family->first = UINT32_MAX;
    for (uint32_t i = 0; of->rows && i < family->row_count; i++) {
        const struct histogram_bounds bounds = of->value->aggregation->bounds(of->value, i);
        of->rows[i] = (struct metric_row){row_end(bounds.has_low, bounds.low, -INFINITY),
                                          row_end(bounds.has_high, bounds.high, INFINITY)};
    }
    if (of->rows)
        family->schema = metric_native_schema(of->rows, family->row_count);
    return of->rows ? 0 : -ENOMEM;
}

/* ---- making families ---- */

static void describe(struct map_family *of, const struct image_map *map)
{
    const struct span first = session_map_use(of->maps->session, of->index);
    struct text comment = {0};
    if (first.source)
        metric_help(&comment, first.source->text, first.source->length, first.begin);
    if (!comment.length)
        text_printf(&comment, "The map %s of the script", map->name);
    metric_add_value(&of->help, text_string(&comment), comment.length);
    of->help.failed |= comment.failed;
    text_free(&comment);
}

static int name_labels(struct map_family *of, const struct metric_naming *naming, const struct image_map *map)
{
    struct metric_family *family = &of->family;
    family->label_count = metric_name_labels(naming, map, &of->label_names);
    family->labels = of->labels = calloc(family->label_count + 1, sizeof *of->labels);
    if (!of->labels || of->label_names.failed)
        return -ENOMEM;
    const char *name = text_string(&of->label_names);
    for (size_t i = 0; i < family->label_count; i++, name += strlen(name) + 1)
        of->labels[i] = name;
    return 0;
}

static size_t words_of(const struct map_family *of)
{
    switch (of->family.kind) {
    case METRIC_HISTOGRAM: return of->family.row_count;
    case METRIC_SUMMARY: return of->family.has_count ? 2 : 1;
    default: return 1;
    }
}

/* Those that the script names; without that all but the numbers that it keeps for itself. */
static bool is_wanted(const struct map_family *of, const struct image_map *map)
{
    const struct session *session = of->maps->session;
    const char *named = session_settings(session)->metrics, *word;
    size_t length;
    for (size_t i = 0; (length = metric_named(named, i, &word)); i++)
        if (length == strlen(map->name) && !memcmp(word, map->name, length))
            return true;
    return !*named && (type_is_aggregation(of->value) || !session_map_is_notebook(session, of->index));
}

static int make_family(struct metric_maps *maps, const struct metric_naming *naming, size_t index)
{
    const struct image_map *map = &session_image(maps->session)->maps[index];
    struct map_family *of = &maps->families[maps->count];
    *of = (struct map_family){.maps = maps, .index = index, .value = map->value};
    if (map->name[0] != '@' || !map->value || !choose_kind(map->value, &of->family) || !is_wanted(of, map))
        return 0;
    maps->count++;
    of->key = map->key && map->key->kind != TYPE_NONE ? map->key : NULL;
    int error = metric_name_family(naming, map->name, &of->name);
    if (!error)
        error = name_labels(of, naming, map);
    if (!error && of->family.kind == METRIC_HISTOGRAM)
        error = make_rows(of);
    describe(of, map);
    of->words = words_of(of);
    of->family.name = text_string(&of->name);
    of->family.help = text_string(&of->help);
    of->family.unit = metric_unit(of->family.name);
    return error ? error : of->help.failed ? -ENOMEM : 0;
}

int metric_maps_make(struct session *session, const char *script, size_t series_max, struct table *taken,
                     struct metric_maps **result)
{
    const struct settings *settings = session_settings(session);
    const struct metric_naming naming = {script, settings->metric_prefix, settings->labels, taken};
    const size_t count = session_image(session)->map_count;
    struct metric_maps *maps = *result = calloc(1, sizeof *maps);
    int error = maps ? 0 : -ENOMEM;
    if (maps) {
        *maps = (struct metric_maps){.session = session, .series_max = series_max};
        maps->families = calloc(count + 1, sizeof *maps->families);
        error = maps->families ? 0 : -ENOMEM;
    }
    for (size_t i = 0; !error && i < count; i++)
        error = make_family(maps, &naming, i);
    return error;
}

bool metric_maps_has(const struct metric_maps *maps, const char *name, size_t length)
{
    for (size_t i = 0; i < maps->count; i++) {
        const char *family = session_image(maps->session)->maps[maps->families[i].index].name;
        if (strlen(family) == length && !memcmp(family, name, length))
            return true;
    }
    return false;
}

static void free_words(struct words *words)
{
    free(words->at);
    *words = (struct words){0};
}

static void free_one(struct series *series)
{
    free_words(&series->kept);
    free_words(&series->joined);
    free(series);
}

static void free_series(struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free_one(table->entries[i].value);
    table_free(table);
}

void metric_maps_free(struct metric_maps *maps)
{
    for (size_t i = 0; maps && i < maps->count; i++) {
        struct map_family *of = &maps->families[i];
        free_series(&of->series);
        text_free(&of->name);
        text_free(&of->help);
        text_free(&of->label_names);
        free(of->labels);
        free(of->rows);
    }
    if (maps)
        free(maps->families);
    free(maps);
}

/* ---- labels ---- */

/* Stacks have a line for each frame: in a label they are one line, with semicolons between the frames. */
static void join_lines(struct text *text)
{
    size_t to = 0;
    bool at_begin = true;
    for (size_t from = 0; from < text->length; from++) {
        const char c = text->bytes[from];
        if (at_begin && (c == ' ' || c == '\t' || c == '\n'))
            continue;
        at_begin = c == '\n';
        text->bytes[to++] = at_begin ? ';' : c;
    }
    text_truncate(text, to && text->bytes[to - 1] == ';' ? to - 1 : to);
}

static void add_value(struct text *out, const struct printer *like, const struct type *type,
                      const void *bytes)
{
    struct text value = {0};
    struct printer printer = *like;
    printer.out = &value;
    printer.json = printer.is_terminal = printer.bcc_histograms = false;
    printer.scratch = (struct text){0};
    print_text(&printer, type, bytes);
    if (type->kind == TYPE_KSTACK || type->kind == TYPE_USTACK)
        join_lines(&value);
    metric_add_value(out, text_string(&value), value.length);
    out->failed |= value.failed || printer.scratch.failed;
    text_free(&value);
    printer_free(&printer);
}

static void write_values(const struct map_family *of, const void *key, struct text *out)
{
    const struct printer *printer = session_printer(of->maps->session);
    if (of->key && of->key->kind == TYPE_TUPLE)
        for (uint32_t i = 0; i < of->key->count; i++)
            add_value(out, printer, of->key->fields[i].type,
                      (const uint8_t *)key + of->key->fields[i].offset);
    else if (of->key)
        add_value(out, printer, of->key, key);
}

/* ---- series ---- */

static double now_seconds(void)
{
    return (double)clock_ns(CLOCK_REALTIME) / NSEC_PER_SEC;
}

static void revive(struct series *series)
{
    free_words(&series->kept);
    free_words(&series->joined);
    series->last = 0;
    series->created = now_seconds();
    series->is_dead = series->is_kept = false;
}

static struct series *new_series(struct map_family *of, const void *key, size_t length)
{
    struct text values = {0};
    write_values(of, key, &values);
    struct series *series = values.failed ? NULL : calloc(1, sizeof *series + values.length + 1);
    if (series) {
        memcpy(series->values, text_string(&values), values.length);
        series->created = now_seconds();
        if (table_set(&of->series, key, length, series)) {
            free(series);
            series = NULL;
        }
    }
    text_free(&values);
    return series;
}

/* Returns the series of a key; NULL, with *error or without: there is no room for it. */
static struct series *find_series(struct map_family *of, const void *key, int *error)
{
    static const char none = 0;
    const size_t length = of->key ? type_storage(of->key) : 0;
    key = of->key ? key : &none;
    struct series *series = table_get(&of->series, key, length);
    if (series && !series->is_dead)
        return series;
    if (of->maps->series >= of->maps->series_max) {
        of->left_out++;
        return NULL;
    }
    if (series) {
        revive(series);
        of->dead--;
    } else if (!(series = new_series(of, key, length))) {
        *error = -ENOMEM;
        return NULL;
    }
    of->maps->series++;
    return series;
}

static void bury(struct map_family *of, struct series *series)
{
    series->is_dead = true;
    of->dead++;
    of->maps->series--;
}

/* Gives back the memory of series that have vanished, once they are many. Without memory for a new table they stay. */
static void forget_dead(struct map_family *of)
{
    enum { DEAD_MIN = 64 };
    struct table living = {0};
    if (of->dead < DEAD_MIN || of->dead < of->series.count / 2)
        return;
    for (size_t i = 0; i < of->series.count; i++) {
        const struct table_entry *entry = &of->series.entries[i];
        if (!((struct series *)entry->value)->is_dead &&
            table_set(&living, entry->key, entry->length, entry->value)) {
            table_free(&living);
            return;
        }
    }
    for (size_t i = 0; i < of->series.count; i++) {
        struct series *series = of->series.entries[i].value;
        if (series->is_dead)
            free_one(series);
    }
    table_free(&of->series);
    of->series = living;
    of->dead = 0;
}

/* ---- values ---- */

/* Returns how many values were counted, which never becomes less. */
static uint64_t count_of(const struct map_family *of, const uint64_t *words)
{
    uint64_t count = 0;
    switch (of->family.kind) {
    case METRIC_COUNTER: return words[0];
    case METRIC_SUMMARY: return of->family.has_count ? words[1] : 0;
    case METRIC_HISTOGRAM:
        for (size_t i = 0; i < of->words; i++)
            count += words[i];
        return count;
    default: return 0;
    }
}

static double number_of(const struct type *type, uint64_t bits)
{
    return type->is_signed ? (double)(int64_t)bits : (double)bits;
}

/* Returns whether there is a number, which there is not in a min() or max() that nothing was added to. */
static bool gauge_of(const struct map_family *of, const void *value, double *number)
{
    const struct type *type = of->value;
    uint64_t words[2];
    if (type_has_shape(type, AGGREGATION_SERIES)) {
        const struct map_series *series = value;
        if (series->count)
            *number = number_of(type, series->points[series->count - 1].value);
        return series->count;
    }
    if (!type_is_aggregation(type)) {
        *number = number_of(type, value_integer(type, value));
        return true;
    }
    memcpy(words, value, sizeof words);
    *number = number_of(type, aggregation_integer(type, value));
    return words[1];
}

/* ---- words ---- */

static void trim(const uint64_t *words, size_t count, uint32_t *first, uint32_t *used)
{
    size_t begin = 0, end = count;
    while (begin < end && !words[begin])
        begin++;
    while (end > begin && !words[end - 1])
        end--;
    *first = (uint32_t)begin;
    *used = (uint32_t)(end - begin);
}

/* Adds the words of a value from its `first` one on to others. Returns 0, or -ENOMEM with everything as it was. */
static int add_part(struct words *to, uint32_t first, const uint64_t *words, uint32_t used)
{
    if (!used)
        return 0;
    const uint32_t begin = to->count && to->first < first ? to->first : first;
    const uint32_t end =
        to->count && to->first + to->count > first + used ? to->first + to->count : first + used;
    if (begin != to->first || end - begin != to->count) {
        uint64_t *at = calloc(end - begin, sizeof *at);
        if (!at)
            return -ENOMEM;
        for (uint32_t i = 0; i < to->count; i++)
            at[to->first - begin + i] = to->at[i];
        free(to->at);
        *to = (struct words){begin, end - begin, at};
    }
    for (uint32_t i = 0; i < used; i++)
        to->at[first - begin + i] += words[i];
    return 0;
}

static int add_words(struct words *to, const uint64_t *words, size_t count)
{
    uint32_t first, used;
    trim(words, count, &first, &used);
    return add_part(to, first, words + first, used);
}

/* Moves what a key had counted before it was deleted to what is kept. */
static int keep_joined(struct series *series, struct words *kept)
{
    const int error = add_part(kept, series->joined.first, series->joined.at, series->joined.count);
    if (!error)
        free_words(&series->joined);
    return error;
}

/* The rows of a family that have ever counted something are its buckets, the same ones for all its series. */
static void widen(struct map_family *of, const uint64_t *words)
{
    struct metric_family *family = &of->family;
    uint32_t first, used;
    trim(words, of->words, &first, &used);
    if (!used || family->kind != METRIC_HISTOGRAM)
        return;
    const uint32_t last = first + used - 1;
    family->last = family->first > family->last || last > family->last ? last : family->last;
    family->first = first < family->first ? first : family->first;
}

/* ---- reading ---- */

/* What was read of one map: of each value its first word that is not 0, how many there are up to the last, and these. */
struct reading {
    struct map_family *of;
    bool is_emptied; /* the map is going to be emptied: values are kept */
    uint64_t *found;
    size_t count, room;
    uint64_t time;
    int error;
};

static bool push(struct reading *reading, uint64_t word)
{
    if (!vector_make_room(reading->found, reading->count, reading->room)) {
        reading->error = -ENOMEM;
        return false;
    }
    reading->found[reading->count++] = word;
    return true;
}

static void push_words(struct reading *reading, struct series *series, const uint64_t *words)
{
    uint32_t first, used;
    trim(words, reading->of->words, &first, &used);
    series->found = reading->count;
    bool has_room = push(reading, first) && push(reading, used);
    for (uint32_t i = 0; has_room && i < used; i++)
        has_room = push(reading, words[first + i]);
}

static void take_number(struct reading *reading, struct series *series, double number)
{
    uint64_t word;
    memcpy(&word, &number, sizeof word);
    push_words(reading, series, &word);
}

static void take_count(struct reading *reading, struct series *series, const uint64_t *words)
{
    struct map_family *of = reading->of;
    const uint64_t count = count_of(of, words);
    widen(of, words);
    if (count < series->last && !series->first)
        revive(series);
    else if (count < series->last && keep_joined(series, &series->kept))
        reading->error = -ENOMEM;
    series->last = reading->is_emptied ? 0 : count;
    series->is_kept = reading->is_emptied;
    if (!reading->is_emptied) {
        push_words(reading, series, words);
        return;
    }
    if (add_words(&series->kept, words, of->words))
        reading->error = -ENOMEM;
    free_words(&series->joined);
}

static void take_entry(void *state, const struct map_snapshot *map, const struct map_entry *entry)
{
    struct reading *reading = state;
    struct map_family *of = reading->of;
    double number = 0;
    (void)map;
    const bool is_gauge = of->family.kind == METRIC_GAUGE;
    if (reading->error || (is_gauge && !gauge_of(of, entry->value, &number)))
        return;
    struct series *series = find_series(of, entry->key, &reading->error);
    if (!series)
        return;
    series->reading = of->maps->reading;
    series->time = reading->time;
    if (is_gauge)
        take_number(reading, series, number);
    else
        take_count(reading, series, entry->value);
}

static int read_guarded(void *state)
{
    struct reading *reading = state;
    struct session *session = reading->of->maps->session;
    return snapshot_each(session_host(session), session_image(session), reading->of->index, 0, take_entry,
                         reading);
}

static int read_map(struct reading *reading)
{
    struct metric_maps *maps = reading->of->maps;
    maps->reading++;
    reading->of->left_out = 0;
    const int error = session_guarded(maps->session, read_guarded, reading);
    return error ? error : reading->error;
}

/* ---- writing ---- */

/* Gauges that have the same labels: the largest, of min() the least. */
static void choose_gauge(const struct map_family *of, const uint64_t *found, bool is_first, uint64_t *word)
{
    const bool is_least = type_is_aggregation(of->value) && of->value->aggregation->merge == MERGE_MIN;
    double number = 0, chosen;
    if (found[1])
        memcpy(&number, found + 2, sizeof number);
    memcpy(&chosen, word, sizeof chosen);
    if (is_first || (is_least ? number < chosen : number > chosen))
        memcpy(word, &number, sizeof number);
}

static void add_series(const struct reading *reading, const struct series *series, bool is_first,
                       uint64_t *words)
{
    const struct map_family *of = reading->of;
    const struct words *kept = &series->kept;
    const uint64_t *found = series->reading == of->maps->reading ? reading->found + series->found : NULL;
    if (found && of->family.kind == METRIC_GAUGE)
        choose_gauge(of, found, is_first, words);
    else
        for (uint32_t i = 0; found && i < found[1]; i++)
            words[found[0] + i] += found[2 + i];
    for (uint32_t i = 0; i < kept->count; i++)
        words[kept->first + i] += kept->at[i];
}

static void write_series(const struct reading *reading, const struct series *series, uint64_t *words,
                         struct metric_writer *writer)
{
    const struct map_family *of = reading->of;
    struct metric_point point = {.values = series->values, .created = series->created, .counts = words};
    memset(words, 0, of->words * sizeof *words);
    add_series(reading, series, true, words);
    for (const struct series *twin = series->twins; twin; twin = twin->twins) {
        add_series(reading, twin, false, words);
        point.created = twin->created < point.created ? twin->created : point.created;
    }
    switch (of->family.kind) {
    case METRIC_COUNTER: point.value = (double)words[0]; break;
    case METRIC_GAUGE: memcpy(&point.value, words, sizeof point.value); break;
    case METRIC_SUMMARY:
        point.value = number_of(of->value, words[0]);
        point.count = of->family.has_count ? words[1] : 0;
        break;
    case METRIC_HISTOGRAM: break;
    }
    metric_point(writer, &point);
}

/* Whether a series that was not in the map is still there. */
static bool is_remembered(const struct series *series, uint64_t time)
{
    return series->is_kept && time - series->time < METRIC_STALE_S * (uint64_t)NSEC_PER_SEC;
}

/* What a series with twins had counted when its key was deleted goes on in a twin: their sum never becomes less. */
static int leave_to_twins(const struct map_family *of)
{
    int error = 0;
    for (size_t i = 0; i < of->series.count && !error; i++) {
        struct series *series = of->series.entries[i].value, *heir = series->first;
        if (!series->is_dead || !heir)
            continue;
        while (heir && heir->is_dead)
            heir = heir->twins;
        if (heir)
            error = add_part(&heir->kept, series->kept.first, series->kept.at, series->kept.count);
        if (heir && !error)
            error = keep_joined(series, &heir->kept);
        series->first = NULL;
        free_words(&series->kept);
    }
    return error;
}

/* Remembers what a series that has twins counts now. */
static int remember_joined(const struct reading *reading, struct series *series)
{
    const struct map_family *of = reading->of;
    free_words(&series->joined);
    if (!series->first || of->family.kind == METRIC_GAUGE || series->reading != of->maps->reading)
        return 0;
    const uint64_t *found = reading->found + series->found;
    return add_part(&series->joined, (uint32_t)found[0], found + 2, (uint32_t)found[1]);
}

/* Keys can differ and have the same labels: stacks of equal names, texts that are no UTF-8. A scraper takes a series once. */
static int join_twins(const struct map_family *of)
{
    struct table firsts = {0};
    int error = 0;
    for (size_t i = 0; i < of->series.count && of->key && !error; i++) {
        struct series *series = of->series.entries[i].value;
        size_t length = 0;
        series->is_twin = false;
        if (series->is_dead)
            continue;
        series->twins = series->first = NULL;
        for (size_t k = 0; k < of->family.label_count; k++)
            length += strlen(series->values + length) + 1;
        struct series *first = table_get(&firsts, series->values, length);
        if (!first) {
            error = table_set(&firsts, series->values, length, series);
            continue;
        }
        series->is_twin = true;
        series->first = first->first = first;
        series->twins = first->twins;
        first->twins = series;
    }
    table_free(&firsts);
    return error;
}

static void bury_absent(struct map_family *of, uint64_t time)
{
    for (size_t i = 0; i < of->series.count; i++) {
        struct series *series = of->series.entries[i].value;
        if (!series->is_dead && series->reading != of->maps->reading && !is_remembered(series, time))
            bury(of, series);
    }
}

static int write_family(struct map_family *of, uint64_t now, struct metric_writer *writer)
{
    struct reading reading = {.of = of, .time = now};
    uint64_t *words = calloc(of->words, sizeof *words);
    int error = words ? read_map(&reading) : -ENOMEM;
    if (!error) {
        bury_absent(of, reading.time);
        error = leave_to_twins(of);
    }
    if (!error)
        error = join_twins(of);
    if (!error) {
        metric_begin(writer, &of->family);
        for (size_t i = 0; i < of->series.count && !error; i++) {
            struct series *series = of->series.entries[i].value;
            if (!series->is_dead && !series->is_twin)
                write_series(&reading, series, words, writer);
            if (!series->is_dead)
                error = remember_joined(&reading, series);
        }
        metric_end(writer);
        forget_dead(of);
    }
    free(words);
    free(reading.found);
    return error;
}

static void write_left_out(const struct metric_maps *maps, struct metric_writer *writer)
{
    static const char *const labels[] = {"metric"};
    static const struct metric_family family = {
        .name = "spoor_trace_left_out_series",
        .help = "Keys of a map that are not among the metrics because there are too many series",
        .kind = METRIC_GAUGE,
        .labels = labels,
        .label_count = 1,
    };
    metric_begin(writer, &family);
    for (size_t i = 0; i < maps->count; i++) {
        const struct map_family *of = &maps->families[i];
        metric_point(writer,
                     &(struct metric_point){.values = of->family.name, .value = (double)of->left_out});
    }
    metric_end(writer);
}

int metric_maps_write(struct metric_maps *maps, uint64_t now, struct metric_writer *writer)
{
    int error = 0;
    for (size_t i = 0; i < maps->count && !error; i++)
        error = write_family(&maps->families[i], now, writer);
    if (!error)
        write_left_out(maps, writer);
    return error ? error : writer->out->failed ? -ENOMEM : 0;
}

int metric_maps_emptied(struct metric_maps *maps, uint64_t now, const char *name)
{
    for (size_t i = 0; i < maps->count; i++) {
        struct map_family *of = &maps->families[i];
        if (session_image(maps->session)->maps[of->index].name != name || of->family.kind == METRIC_GAUGE)
            continue;
        struct reading reading = {.of = of, .time = now, .is_emptied = true};
        return read_map(&reading);
    }
    return 0;
}
