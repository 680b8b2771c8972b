/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the rings of a recording are: the directory of version 3, and what stood for it in version 2. Nothing in the
 * file is trusted: what comes out of here does not overlap, so that a small file cannot make a reader read long. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "reader/spoor.h"

bool spoor_ring_bytes_valid(uint64_t bytes)
{
    return bytes >= 2 * LAYOUT_BLOCK_BYTES && !(bytes & (bytes - 1)) &&
           bytes / LAYOUT_BLOCK_BYTES <= SPOOR_BLOCKS_MAX;
}

static uint64_t stride(uint64_t bytes)
{
    return LAYOUT_PAGE + bytes + LAYOUT_PAGE;
}

static bool make_room(struct spoor_directory *directory, size_t count)
{
    if (count <= directory->room)
        return true;
    struct layout_place *grown = realloc(directory->places, count * sizeof *grown);
    if (!grown)
        return false;
    directory->places = grown;
    directory->room = count;
    return true;
}

static int read_states(const struct recording *recording, const struct layout_header *header,
                       struct spoor_directory *directory)
{
    uint8_t states[LAYOUT_V2_MAX_RINGS];
    if (!make_room(directory, header->ring_limit))
        return -ENOMEM;
    if (!recording_read_all(recording, states, header->ring_limit, header->control_offset + LAYOUT_V2_STATES))
        return -EIO;
    directory->count = header->ring_limit;
    for (uint64_t i = 0; i < header->ring_limit; i++)
        directory->places[i] = (struct layout_place){header->rings_offset + i * header->v2_ring_stride,
                                                     (uint32_t)header->ring_bytes, states[i]};
    return 0;
}

static int read_places(const struct recording *recording, const struct layout_header *header,
                       struct spoor_directory *directory)
{
    uint64_t count;
    if (!recording_read_all(recording, &count, sizeof count,
                            header->control_offset + offsetof(struct layout_control, rings)))
        return -EIO;
    if (count > header->ring_limit)
        count = header->ring_limit;
    if (!make_room(directory, count))
        return -ENOMEM;
    const size_t got = recording_read(recording, directory->places, count * sizeof *directory->places,
                                      header->directory_offset);
    directory->count = got / sizeof *directory->places;
    return 0;
}

static bool is_possible(const struct layout_header *header, const struct layout_place *place)
{
    return place->offset % LAYOUT_PAGE == 0 && place->offset >= header->rings_offset &&
           place->offset <= INT64_MAX - stride(place->bytes) && place->bytes <= header->ring_bytes &&
           spoor_ring_bytes_valid(place->bytes);
}

static int by_offset(const void *one, const void *other)
{
    const struct layout_place *const *a = one, *const *b = other;
    return (*a)->offset < (*b)->offset ? -1 : (*a)->offset > (*b)->offset;
}

/* Passes over impossible entries, as over those that are being made. Returns 0, -EINVAL if rings overlap, or
 * -ENOMEM. */
static int check(const struct layout_header *header, struct spoor_directory *directory)
{
    const struct layout_place **used = malloc((directory->count + 1) * sizeof *used);
    size_t count = 0;
    int error = 0;
    if (!used)
        return -ENOMEM;
    for (size_t i = 0; i < directory->count; i++) {
        struct layout_place *place = &directory->places[i];
        if (!spoor_place_is_used(place))
            continue;
        if (is_possible(header, place))
            used[count++] = place;
        else
            place->state = LAYOUT_RING_MAKING;
    }
    qsort(used, count, sizeof(*used), by_offset);
    for (size_t i = 1; i < count && !error; i++)
        if (used[i]->offset - used[i - 1]->offset < stride(used[i - 1]->bytes))
            error = -EINVAL;
    free(used);
    return error;
}

int spoor_directory_read(const struct recording *recording, const struct layout_header *header,
                         struct spoor_directory *directory)
{
    if (header->version == SPOOR_VERSION_STATES)
        return read_states(recording, header, directory);
    const int error = read_places(recording, header, directory);
    return error ? error : check(header, directory);
}

void spoor_directory_free(struct spoor_directory *directory)
{
    free(directory->places);
    *directory = (struct spoor_directory){0};
}
