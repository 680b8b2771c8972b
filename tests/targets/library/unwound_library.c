/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that the target `unwound` opens, and that calls it back. */
#ifndef __clang__
#pragma GCC optimize("O2", "omit-frame-pointer", "no-optimize-sibling-calls")
#endif

void unwound_library_call(void (*function)(int), int number);

volatile int unwound_library_sink;

void unwound_library_call(void (*function)(int), int number)
{
    function(number);
    unwound_library_sink = number;
}
