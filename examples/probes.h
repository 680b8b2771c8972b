/* SPDX-License-Identifier: BSD-3-Clause */
/* USDT probes in a few lines, for the examples: one nop, and a note in .note.stapsdt that says where it is,
 * what it is called, and where its arguments are. Any tracer that reads such notes can use them; nothing
 * happens, and nothing is called, until one does. At most three arguments, integers or pointers, each passed
 * as 8 bytes. */
#ifndef SPOOR_EXAMPLES_PROBES_H
#define SPOOR_EXAMPLES_PROBES_H

#define PROBE_NOTE(provider, name, arguments)                                                                \
    "990: nop\n"                                                                                             \
    ".pushsection .note.stapsdt, \"\", \"note\"\n"                                                           \
    ".balign 4\n"                                                                                            \
    ".4byte 992f - 991f, 994f - 993f, 3\n"                                                                   \
    "991: .asciz \"stapsdt\"\n"                                                                              \
    "992: .balign 4\n"                                                                                       \
    "993: .8byte 990b\n"                                                                                     \
    ".8byte _.stapsdt.base\n"                                                                                \
    ".8byte 0\n"                                                                                             \
    ".asciz \"" #provider "\"\n"                                                                             \
    ".asciz \"" #name "\"\n"                                                                                 \
    ".asciz \"" arguments "\"\n"                                                                             \
    "994: .balign 4\n"                                                                                       \
    ".popsection\n"                                                                                          \
    ".ifndef _.stapsdt.base\n" /* lets a reader correct addresses after prelinking */                        \
    ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"                              \
    ".weak _.stapsdt.base\n"                                                                                 \
    ".hidden _.stapsdt.base\n"                                                                               \
    "_.stapsdt.base: .space 1\n"                                                                             \
    ".size _.stapsdt.base, 1\n"                                                                              \
    ".popsection\n"                                                                                          \
    ".endif\n"

#define PROBE1(provider, name, first)                                                                        \
    __asm__ volatile(PROBE_NOTE(provider, name, "-8@%0")::"nor"((long)(first)) : "memory")
#define PROBE2(provider, name, first, second)                                                                \
    __asm__ volatile(PROBE_NOTE(provider, name, "-8@%0 -8@%1")::"nor"((long)(first)), "nor"((long)(second))  \
                     : "memory")
#define PROBE3(provider, name, first, second, third)                                                         \
    __asm__ volatile(PROBE_NOTE(provider, name, "-8@%0 -8@%1 -8@%2")::"nor"((long)(first)),                  \
                     "nor"((long)(second)), "nor"((long)(third))                                             \
                     : "memory")

#endif
