/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps on their way from a host. Types, keys and values travel as they are in storage (type/type.h), so that those of several
 * hosts can be made one by the rules of their aggregations. What is a name for a number - a stack, a symbol, a user, a probe -
 * travels as its text, because the number means something else on every host: here it is a TYPE_PROBE_NAME, an index of
 * the texts that came with the map. So is an aggregation whose values are such names (topk(ksym)), as a whole.
 *
 * Whoever receives a map trusts nothing: sizes are bounded and fit, names are those of maps, indexes are those of texts. */
#ifndef SPOOR_REMOTE_PORTABLE_H
#define SPOOR_REMOTE_PORTABLE_H

#include "base/cursor.h"
#include "lang/registry.h"
#include "print/map.h"

/* ---- on the host ---- */

/* How the script wants a map to be printed, by its settings and by print_log2_hist(): members of struct printer. */
struct portable_style {
    bool json_enum_names, bcc_histograms, orders_by_key;
    const char *histogram_title, *trunc_trailer; /* NULL: as always */
};

struct portable_print {
    uint64_t time;
    /* The trace has ended; and no probe of its end prints it: it is among those that are printed when all is over. */
    bool is_end, is_last;
    uint64_t top, divisor;
    uint64_t emptied; /* when it was emptied since it was printed before; 0: it was not */
};

/* Appends the map, as the printer prints it, which knows names for numbers. When memory runs out, out->failed is set. */
void portable_put(struct text *out, const struct printer *printer, const struct map_snapshot *map,
                  const struct portable_print *print);

/* ---- where all come together ---- */

struct portable_map {
    struct portable_print print;
    struct portable_style style; /* with texts as they came */
    const char *name;
    const void *types; /* the types as they came: maps of equal bytes have equal types */
    size_t types_size;
    const struct type *key; /* NULL: it has none */
    const struct type *value;
    /* Bytes of an element's key and value, one after the other: of keyed histograms the key has the row behind it. */
    size_t key_bytes, value_bytes, count;
    const uint8_t *elements; /* in the message, unaligned */
    const char *const *texts;
    size_t text_count;
};

/* Takes a map. The texts stay in the message, types are made in the arena. builtins: who knows the aggregations. False: it is
 * none. */
bool portable_take(struct arena *arena, const struct builtin_table *builtins, struct cursor *message,
                   struct portable_map *map);

/* Makes the types of a map that was taken anew, in another arena. Returns false if they are none. */
bool portable_make_types(struct arena *arena, const struct builtin_table *builtins, struct portable_map *map);

/* Visits each index of a text in a value. has_lines: the text may have several lines. */
typedef void portable_visitor(void *state, uint64_t *index, bool has_lines);
void portable_each_text(const struct type *type, uint8_t *value, portable_visitor *visit, void *state);

/* Whether an element has a row or an interval of its key only: those of keyed histograms. */
bool portable_has_row(const struct type *key, const struct type *value);

#endif
