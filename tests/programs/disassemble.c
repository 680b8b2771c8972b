/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that are only a probe, whose assembly disassemble.sh examines. */
#include <spoor/probe.h>

#include <stdint.h>

SPOOR_PROBE_DECLARE(off, none);
SPOOR_PROBE_DECLARE(off, three, (uint64_t, a), (uint32_t, b), (const char *, c));

const char *describe(uint64_t what);
void inline_none(void);
void inline_registers(uint64_t a, uint32_t b, const char *c);
void inline_memory(const uint64_t *a);
void inline_text(void);
void declared_none(void);
void declared_three(uint64_t a, uint32_t b);

void inline_none(void)
{
    SPOOR_PROBE(off, inline_none);
}

void inline_registers(uint64_t a, uint32_t b, const char *c)
{
    SPOOR_PROBE(off, inline_registers, a, b, c, 5, -7);
}

void inline_memory(const uint64_t *a)
{
    SPOOR_PROBE(off, inline_memory, *a);
}

void inline_text(void)
{
    SPOOR_PROBE(off, inline_text, "text");
}

void declared_none(void)
{
    SPOOR_FIRE(off, none);
}

void declared_three(uint64_t a, uint32_t b)
{
    SPOOR_FIRE(off, three, a, b, describe(a));
}
