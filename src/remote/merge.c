/* SPDX-License-Identifier: BSD-3-Clause */
/* See merge.h. What waits is a list for each host, in order of time, and one of maps: the oldest of all goes out first. */
#include "remote/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/terminal.h"
#include "print/json.h"
#include "reader/json_read.h"
#include "remote/round.h"
#include "remote/signature.h"

enum {
    LINE_BYTES_MAX = 1 << 20,       /* of what no newline ends */
    END_BYTES_MAX = 256 << 20,      /* of what is of the end, from one host */
    END_MAPS_MAX = 4096,            /* how many of them */
    SIGNATURE_BYTES_MAX = 16 << 20, /* of names and types that one host is the first to send */
    WAITING_MAPS_MAX = 1024,        /* how many maps of one host may wait before no more is read from it */
};

struct item {
    struct item *next, *previous;
    uint64_t time;    /* of the event: boot clock of this machine, ns */
    uint64_t arrived; /* monotonic clock, ms */
    size_t host;      /* of a line: which host printed it */
    struct text line;
    size_t bytes;               /* what it adds to merge->bytes */
    struct remote_round *round; /* of a map; of a line NULL */
    bool has[];                 /* of a map: which hosts have sent theirs */
};

struct list {
    struct item *first, *last;
};

struct stream {
    uint64_t mark; /* everything older than this time has arrived */
    bool is_over;
    struct list waiting;
    struct text line; /* the beginning of a line whose end has not arrived */
    uint64_t time;
    bool is_end;      /* that line was printed at the end of the trace */
    struct item *end; /* its last line or map of the end */
    size_t end_bytes, end_maps;
    size_t waiting_maps;
    size_t signature_bytes;
};

struct merge {
    const struct merge_options *options;
    struct list rounds, at_end; /* maps of the running trace; lines and maps of its end */
    size_t bytes;               /* memory of everything that waits */
    uint64_t begun;             /* when the trace began */
    struct map_signatures signatures;
    bool warned_of_types;
    struct printer printer;
    struct text out;
    struct stream streams[];
};

struct merge *merge_new(const struct merge_options *options)
{
    struct merge *merge = calloc(1, sizeof *merge + options->host_count * sizeof *merge->streams);
    if (!merge)
        return NULL;
    merge->options = options;
    merge->printer = (struct printer){.out = &merge->out,
                                      .json = options->json,
                                      .is_terminal = options->is_terminal,
                                      .bcc_histograms = options->bcc_histograms,
                                      .json_stack_text = true};
    return merge;
}

/* ---- observers ---- */

/* Moves a time that a host has sent, which may be wrong, into the time of the trace. */
static uint64_t moment_of(const struct merge *merge, uint64_t time)
{
    const uint64_t now = clock_ns(CLOCK_BOOTTIME);
    return time < merge->begun ? merge->begun : time > now ? now : time;
}

static void notify_printed(const struct merge *merge, uint64_t time, const char *bytes, size_t length)
{
    const struct session_observer *observer = merge->options->observer;
    for (; observer; observer = observer->next)
        if (observer->printed)
            observer->printed(observer->state, moment_of(merge, time), bytes, length);
}

static void notify_passed(const struct merge *merge, bool is_end)
{
    const struct session_observer *observer = merge->options->observer;
    for (; observer; observer = observer->next)
        if (observer->passed)
            observer->passed(observer->state, NULL, clock_ns(CLOCK_BOOTTIME), is_end);
}

void merge_begin(struct merge *merge)
{
    merge->begun = clock_ns(CLOCK_BOOTTIME);
    notify_passed(merge, false);
}

/* ---- the list ---- */

static void insert_behind(struct list *list, struct item *before, struct item *item)
{
    item->previous = before;
    item->next = before ? before->next : list->first;
    *(before ? &before->next : &list->first) = item;
    *(item->next ? &item->next->previous : &list->last) = item;
}

static void take_out(struct list *list, struct item *item)
{
    *(item->previous ? &item->previous->next : &list->first) = item->next;
    *(item->next ? &item->next->previous : &list->last) = item->previous;
    item->next = item->previous = NULL;
}

/* Most come in order: the place is sought from the end. */
static void insert_by_time(struct list *list, struct item *item)
{
    struct item *before = list->last;
    while (before && before->time > item->time)
        before = before->previous;
    insert_behind(list, before, item);
}

/* hosts: 0 for a line. */
static struct item *item_new(size_t hosts, uint64_t time)
{
    struct item *item = calloc(1, sizeof *item + hosts * sizeof *item->has);
    if (!item)
        return NULL;
    item->time = time;
    item->arrived = clock_ms(CLOCK_MONOTONIC);
    return item;
}

static void item_free(struct item *item)
{
    round_free(item->round);
    text_free(&item->line);
    free(item);
}

static void list_free(struct list *list)
{
    for (struct item *item = list->first, *next; item; item = next) {
        next = item->next;
        item_free(item);
    }
}

/* ---- lines ---- */

/* In JSON each line says from which host it is. One that is no object is told as what it is. */
static void write_json_line(struct text *out, const char *host, const struct text *line)
{
    const char *bytes = text_string(line);
    const size_t length = line->length && bytes[line->length - 1] == '\n' ? line->length - 1 : line->length;
    text_add(out, "{\"host\": ");
    json_string(out, host);
    if (json_read_object(bytes, length, NULL, 0) && bytes[0] == '{') {
        const size_t skipped = 1 + strspn(bytes + 1, " \t");
        text_add(out, bytes[skipped] == '}' ? "" : ", ");
        json_escape_again(out, bytes + skipped, length - skipped);
    } else {
        text_add(out, ", \"type\": \"text\", \"data\": \"");
        json_escape(out, bytes, length);
        text_add(out, "\"}");
    }
    text_char(out, '\n');
}

static void write_text_line(struct text *out, const char *host, const struct text *line)
{
    if (host)
        text_printf(out, "%s: ", host);
    text_append(out, text_string(line), line->length);
    if (host && line->length && line->bytes[line->length - 1] != '\n')
        text_char(out, '\n');
}

static void write_line(struct merge *merge, const struct item *item)
{
    const struct merge_options *options = merge->options;
    const char *host = options->hosts[item->host];
    struct text *out = &merge->out;
    const size_t before = out->length;
    if (options->json)
        write_json_line(out, host, &item->line);
    else
        write_text_line(out, options->host_count > 1 ? host : NULL, &item->line);
    if (!out->failed)
        notify_printed(merge, item->time, text_string(out) + before, out->length - before);
}

/* Whether an item of the end stands above another one that is new there: lines of several hosts above one map are in the
 * order in which they came, and maps that are printed when all is over come last. */
static bool stands_above(const struct item *item, const struct item *other)
{
    return !item->round || (other->round && round_is_last(other->round) && !round_is_last(item->round));
}

/* Behind what the host has printed last. */
static void insert_at_end(struct merge *merge, size_t host, struct item *item)
{
    struct item *before = merge->streams[host].end;
    for (struct item *next; (next = before ? before->next : merge->at_end.first) && stands_above(next, item);)
        before = next;
    insert_behind(&merge->at_end, before, item);
    merge->streams[host].end = item;
}

/* The line of the stream becomes an item. */
static int end_line(struct merge *merge, size_t host)
{
    struct stream *stream = &merge->streams[host];
    struct item *item = item_new(0, stream->time);
    if (!item || stream->line.failed) {
        free(item);
        text_free(&stream->line);
        return -ENOMEM;
    }
    item->host = host;
    item->line = stream->line;
    stream->line = (struct text){0};
    if (stream->is_end) {
        insert_at_end(merge, host, item);
        return (stream->end_bytes += sizeof *item + item->line.room) > END_BYTES_MAX ? -EBADMSG : 0;
    }
    item->bytes = sizeof *item + item->line.room;
    merge->bytes += item->bytes;
    insert_by_time(&stream->waiting, item);
    return 0;
}

int merge_lines(struct merge *merge, size_t host, uint64_t time, bool is_end, const char *bytes,
                size_t length)
{
    struct stream *stream = &merge->streams[host];
    int error = 0;
    while (length && !error) {
        const char *end = memchr(bytes, '\n', length);
        const size_t part = end ? (size_t)(end - bytes) + 1 : length;
        stream->time = time;
        stream->is_end = is_end;
        text_append(&stream->line, bytes, part);
        if (end || merge->options->host_count == 1 || stream->line.length >= LINE_BYTES_MAX ||
            stream->line.failed)
            error = end_line(merge, host);
        bytes += part;
        length -= part;
    }
    return error;
}

/* ---- maps ---- */

/* Returns the oldest round of the signature that has no map of the host yet, or NULL. */
static struct item *find_round(const struct list *list, size_t host, const struct map_signature *signature,
                               bool is_last)
{
    struct item *item = list->first;
    while (item && (!item->round || item->has[host] || !round_fits(item->round, signature, is_last)))
        item = item->next;
    return item;
}

/* One map may have other types on hosts with other kernels. */
static void warn_of_types(struct merge *merge, const struct list *list, const struct map_signature *signature,
                          bool is_last)
{
    bool differs = false;
    for (const struct item *item = list->first; item; item = item->next) {
        const struct map_signature *other = item->round ? round_signature(item->round) : signature;
        differs |= other != signature && !strcmp(other->name, signature->name) &&
                   round_is_last(item->round) == is_last;
    }
    if (!differs || merge->warned_of_types)
        return;
    struct text text = {0};
    terminal_print(
        &text,
        "WARNING: %s has not the same type on all hosts, so that it is printed for each type by itself\n",
        signature->name);
    merge->options->warn(merge->options->state, text_string(&text));
    merge->warned_of_types = true;
    text_free(&text);
}

/* Finds the signature of a map, which may be new. Returns 0, -ENOMEM, or -EBADMSG if there are more than any script has. */
static int take_signature(struct merge *merge, size_t host, const struct portable_map *map,
                          const struct map_signature **out)
{
    const struct merge_options *options = merge->options;
    const bool apart = options->per_host || (options->host_count > 1 && !type_is_aggregation(map->value));
    struct stream *stream = &merge->streams[host];
    const size_t before = merge->signatures.arena.total;
    *out = signature_find(&merge->signatures, map);
    if (*out)
        return 0;
    *out = signature_add(&merge->signatures, options->builtins, map, apart);
    if (!*out)
        return -ENOMEM;
    stream->signature_bytes += merge->signatures.arena.total - before;
    return stream->signature_bytes > SIGNATURE_BYTES_MAX ? -EBADMSG : 0;
}

static struct item *begin_round(struct merge *merge, size_t host, const struct portable_map *map,
                                const struct map_signature *signature)
{
    const struct merge_options *options = merge->options;
    const struct portable_print *print = &map->print;
    struct list *list = print->is_end ? &merge->at_end : &merge->rounds;
    struct item *item = item_new(options->host_count, print->time);
    if (!item)
        return NULL;
    item->round = round_new(signature, map, options->hosts, options->host_count);
    if (!item->round) {
        item_free(item);
        return NULL;
    }
    warn_of_types(merge, list, signature, print->is_last);
    if (print->is_end)
        insert_at_end(merge, host, item);
    else
        insert_by_time(list, item);
    return item;
}

/* bytes: of its message. */
static int add_map(struct merge *merge, size_t host, const struct portable_map *map, size_t bytes)
{
    const struct portable_print *print = &map->print;
    struct list *list = print->is_end ? &merge->at_end : &merge->rounds;
    struct stream *stream = &merge->streams[host];
    const struct map_signature *signature;
    if (print->is_end && ((stream->end_bytes += bytes) > END_BYTES_MAX || ++stream->end_maps > END_MAPS_MAX))
        return -EBADMSG;
    const int error = take_signature(merge, host, map, &signature);
    if (error)
        return error;
    struct item *item = find_round(list, host, signature, print->is_last);
    if (!item)
        item = begin_round(merge, host, map, signature);
    if (!item)
        return -ENOMEM;
    item->has[host] = true;
    if (print->is_end) {
        stream->end = item;
    } else {
        item->bytes += bytes;
        merge->bytes += bytes;
        stream->waiting_maps++;
        if (print->time > item->time) {
            take_out(list, item);
            item->time = print->time;
            insert_by_time(list, item);
        }
    }
    return round_add(item->round, host, map);
}

static int take_map(struct merge *merge, size_t host, struct cursor message, int64_t behind,
                    struct arena *arena)
{
    struct portable_map map;
    const size_t bytes = cursor_left(&message);
    if (!portable_take(arena, merge->options->builtins, &message, &map))
        return -EBADMSG;
    map.print.time += (uint64_t)behind;
    if (map.print.emptied)
        map.print.emptied = moment_of(merge, map.print.emptied + (uint64_t)behind);
    if (merge->streams[host].line.length) /* what was printed before stands before it */
        end_line(merge, host);
    return add_map(merge, host, &map, bytes);
}

int merge_map(struct merge *merge, size_t host, struct cursor message, int64_t behind)
{
    struct arena arena = {0};
    jmp_buf out_of_memory;
    if (arena_guard(&arena, out_of_memory)) {
        arena_free(&arena);
        return -ENOMEM;
    }
    const int error = take_map(merge, host, message, behind, &arena);
    arena_free(&arena);
    return error;
}

/* ---- what goes out ---- */

static void flush(struct merge *merge)
{
    if (merge->out.failed)
        merge->options->warn(merge->options->state,
                             "WARNING: there is not enough memory: output is missing\n");
    if (merge->out.length)
        merge->options->print(merge->options->state, merge->out.bytes, merge->out.length);
    text_free(&merge->out);
}

static int print_round(struct merge *merge, const struct item *item)
{
    merge->printer.moment = round_is_last(item->round) ? 0 : moment_of(merge, item->time);
    return round_print(item->round, &merge->printer, merge->options->watcher);
}

static void write_item(struct merge *merge, struct list *list, struct item *item)
{
    enum { FLUSH_BYTES = 64 << 10 };
    if (!item->round)
        write_line(merge, item);
    else if (print_round(merge, item))
        merge->out.failed = true;
    for (size_t i = 0; item->round && list == &merge->rounds && i < merge->options->host_count; i++)
        merge->streams[i].waiting_maps -= item->has[i];
    take_out(list, item);
    merge->bytes -= item->bytes;
    item_free(item);
    if (merge->out.length >= FLUSH_BYTES || merge->out.failed)
        flush(merge);
}

/* The list with the oldest of what waits; NULL: nothing does. */
static struct list *oldest(struct merge *merge)
{
    struct list *found = merge->rounds.first ? &merge->rounds : NULL;
    for (size_t i = 0; i < merge->options->host_count; i++) {
        struct list *list = &merge->streams[i].waiting;
        if (list->first && (!found || list->first->time < found->first->time))
            found = list;
    }
    return found;
}

static bool is_due(const struct merge *merge, const struct item *item, uint64_t now)
{
    if (now - item->arrived >= MERGE_HOLD_MS)
        return true;
    for (size_t i = 0; i < merge->options->host_count; i++) {
        const struct stream *stream = &merge->streams[i];
        if (!stream->is_over && (item->round ? !item->has[i] : stream->mark < item->time))
            return false;
    }
    return true;
}

void merge_mark(struct merge *merge, size_t host, uint64_t time)
{
    if (time > merge->streams[host].mark)
        merge->streams[host].mark = time;
}

void merge_over(struct merge *merge, size_t host)
{
    if (merge->streams[host].line.length)
        end_line(merge, host);
    merge->streams[host].is_over = true;
}

void merge_go_on(struct merge *merge)
{
    const uint64_t now = clock_ms(CLOCK_MONOTONIC);
    struct list *list;
    while ((list = oldest(merge)) && is_due(merge, list->first, now))
        write_item(merge, list, list->first);
    flush(merge);
}

bool merge_is_full(const struct merge *merge, size_t host)
{
    return merge->bytes > MERGE_BYTES_MAX || merge->streams[host].waiting_maps > WAITING_MAPS_MAX;
}

void merge_finish(struct merge *merge)
{
    struct list *list;
    while ((list = oldest(merge)))
        write_item(merge, list, list->first);
    notify_passed(merge, true);
    bool is_last = merge->options->json;
    for (struct item *item; (item = merge->at_end.first);) {
        if (!is_last && item->round && round_is_last(item->round)) {
            text_add(&merge->out, "\n\n"); /* as spoor does */
            is_last = true;
        }
        write_item(merge, &merge->at_end, item);
    }
    flush(merge);
}

void merge_free(struct merge *merge)
{
    list_free(&merge->rounds);
    list_free(&merge->at_end);
    for (size_t i = 0; i < merge->options->host_count; i++) {
        list_free(&merge->streams[i].waiting);
        text_free(&merge->streams[i].line);
    }
    arena_free(&merge->signatures.arena);
    text_free(&merge->out);
    printer_free(&merge->printer);
    free(merge);
}
