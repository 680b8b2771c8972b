/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of what a script's maps become: of families, labels and units. */
#ifndef SPOOR_METRICS_NAMES_H
#define SPOOR_METRICS_NAMES_H

#include "base/table.h"
#include "bpf/image.h"
#include "metrics/family.h"

struct metric_naming {
    const char *script; /* the script's name, or a path; NULL: it has none */
    const char *prefix; /* the setting metric_prefix; "": spoor_ and the script's name */
    const char *labels; /* the setting labels; "": none are named */
    struct table *taken;
};

/* Appends the name of a map's family: the prefix, and the map's name without its @. A name that is taken gets a number.
 * Returns 0 or -ENOMEM. */
int metric_name_family(const struct metric_naming *naming, const char *map, struct text *out);
/* Appends the names of the labels of a map's key, each with a NUL behind it. In this order a label has its name from the
 * setting, from the field of the key, or from its number: key0. Returns how many they are. */
size_t metric_name_labels(const struct metric_naming *naming, const struct image_map *map, struct text *out);
/* Stores the map of this number that the setting metrics names ("@us, @bytes"), and returns its length; 0: there is none. */
size_t metric_named(const char *setting, size_t number, const char **map);
/* Returns the unit that a name of a family says with its last word; NULL: it says none. */
const char *metric_unit(const char *family);

#endif
