/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of blocks, and what of them is whole. */
#include <string.h>

#include "reader/spoor.h"

bool spoor_block_has_header(const struct layout_block *block, uint64_t sequence, uint32_t ring)
{
    return block->sequence == sequence && block->ring == ring && block->first >= LAYOUT_BLOCK_HEADER_BYTES &&
           block->first <= LAYOUT_BLOCK_BYTES && block->first % 8 == 0;
}

uint64_t spoor_block_records(const struct layout_block *block, uint32_t *end)
{
    const uint64_t base = block->sequence * LAYOUT_BLOCK_WORDS;
    uint64_t count = 0;
    uint32_t at = block->first;
    while (at < LAYOUT_BLOCK_BYTES) {
        uint64_t start;
        memcpy(&start, (const uint8_t *)block + at, sizeof start);
        const uint32_t bytes = layout_record_bytes(start);
        if (layout_record_mark(start) != (uint32_t)(base + at / 8) || bytes < 8 || bytes % 8 ||
            bytes > LAYOUT_BLOCK_BYTES - at)
            break;
        count += layout_record_id(start) != LAYOUT_ID_PADDING;
        at += bytes;
    }
    *end = at;
    return count;
}

bool spoor_block_cut(struct layout_block *block, uint64_t committed)
{
    const uint64_t begin = block->sequence * LAYOUT_BLOCK_WORDS;
    if (committed >= begin + LAYOUT_BLOCK_WORDS)
        return true;
    if (committed <= begin)
        return false;
    const uint32_t end = (uint32_t)(committed - begin) * 8;
    memset((uint8_t *)block + end, 0, LAYOUT_BLOCK_BYTES - end);
    return true;
}

bool spoor_block_read(const struct recording *recording, uint64_t offset, uint32_t ring, uint64_t sequence,
                      uint64_t committed, struct layout_block *block)
{
    uint32_t end = LAYOUT_BLOCK_BYTES;
    if (!recording_read_all(recording, block, sizeof *block, offset) ||
        !spoor_block_has_header(block, sequence, ring))
        return false;
    if (committed >= (sequence + 1) * LAYOUT_BLOCK_WORDS)
        return true;
    if (!recording->live) /* a file that is a copy cannot be read again later */
        return spoor_block_cut(block, committed);
    spoor_block_records(block, &end); /* a record that has its mark in this copy is whole in the next one */
    if (!recording_read_all(recording, block, sizeof *block, offset) ||
        !spoor_block_has_header(block, sequence, ring))
        return false;
    if (end < LAYOUT_BLOCK_BYTES)
        memset((uint8_t *)block + end, 0, LAYOUT_BLOCK_BYTES - end);
    return true;
}
