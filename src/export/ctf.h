/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two files of the Common Trace Format share. The metadata describes exactly what ctf.c writes. */
#ifndef SPOOR_EXPORT_CTF_H
#define SPOOR_EXPORT_CTF_H

#include "base/text.h"
#include "reader/reader.h"

#define CTF_MAGIC 0xc1fc1fc1u

struct ctf_packet { /* the head of a packet in a stream */
    uint32_t magic, stream_id;
    uint64_t instance;   /* number of the stream, which is that of the ring */
    uint64_t begin, end; /* ns */
    uint64_t content_bits, packet_bits, number;
    uint64_t discarded; /* events of this ring that are missing up to the end of the packet */
};

/* Writes the whole description, in the language of CTF 1.8. */
void ctf_metadata(struct text *out, const struct recording *recording);

#endif
