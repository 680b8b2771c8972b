/* SPDX-License-Identifier: BSD-3-Clause */
/* USDT probes for C11 and C++11, gcc and clang: no library, nothing to link, free while nobody listens. Every
 * USDT tool sees them (spoor, bpftrace, BCC, perf, gdb, systemtap).
 *
 * Anywhere, in one line, with 0 to 12 values:
 *
 *     SPOOR_PROBE(blockd, queue-depth, queue->id, queue->depth);
 *
 * Or declared once, in a header, with the types and names of the arguments, which a tracer then knows:
 *
 *     SPOOR_PROBE_DECLARE(blockd, request_done,
 *                         (uint64_t, id), (int32_t, status), (const char *, export_name));
 *     …
 *     SPOOR_FIRE(blockd, request_done, request->id, status, describe(request));
 *
 *     spoor -e 'usdt:./blockd:request_done /args.status/ { @[str(args.export_name)] = count(); }'
 *
 *                     SPOOR_PROBE                        SPOOR_FIRE
 *   nobody listens    one nop; the values are computed   one load and a branch; the arguments
 *                                                        are not evaluated
 *   somebody does     a breakpoint                       a call, and the fastest place for a probe
 *                                                        that the running kernel has
 *   its stack         the function that has the probe    the same, under spoor_stub_PROVIDER_NAME
 *
 * Values are integers of up to 64 bits, enumerations, bool and pointers (text is a pointer). Names are words
 * of letters, digits and underscores, in SPOOR_PROBE also with hyphens (perf reads none of the probes of a
 * program that has such a name); they must not be names of macros.
 *
 * With SPOOR_NO_PROBES defined before the header is included, every probe compiles to nothing: no code, no
 * data, no argument evaluated. The same happens on machines other than x86-64 and aarch64. */
#ifndef SPOOR_PROBE_H
#define SPOOR_PROBE_H

#if !defined(__linux__) || !(defined(__x86_64__) || defined(__aarch64__)) || !defined(__LP64__)
#ifndef SPOOR_NO_PROBES
#define SPOOR_NO_PROBES 1
#endif
#endif

/* SPOOR_PROBE(provider, name, value…): a probe right here. A value that lies in a register or in memory, or
 * is constant, stays where it is. Bit-fields must be cast to an integer. What a pointer among the values
 * points to is in memory before the probe. Each expansion is a site of its own. */
#define SPOOR_PROBE(...) SPOOR_PROBE_WITH_SEMAPHORE("0", __VA_ARGS__)

/* SPOOR_PROBE_WITH_SEMAPHORE(semaphore, provider, name, value…): as SPOOR_PROBE, and tracers add 1 to the unsigned
 * short whose symbol the text names (section .probes, visible in this file) as long as they listen. For programs
 * that already have such semaphores; new programs declare their probes. */
#define SPOOR_PROBE_WITH_SEMAPHORE(semaphore, ...) SPOOR_USDT_PROBE(semaphore, __VA_ARGS__)

/* SPOOR_PROBE_DECLARE(provider, name, (type, argument)…); at file scope, once, usually in a header: declares a
 * probe and its arguments. The argument's name must be able to follow the type (`const char *`, `uint64_t`, `enum
 * state`; arrays and functions through a typedef), and a struct that a pointer leads to must be known by name. All
 * files of a program that fire the probe share one semaphore. */
#define SPOOR_PROBE_DECLARE(...) SPOOR_USDT_DECLARE(__VA_ARGS__)

/* SPOOR_FIRE(provider, name, value…); fires a declared probe if a tracer listens. Otherwise the values are not
 * evaluated: they must not have effects that the program needs. Their number is checked, and they are converted to
 * the declared types as a function's arguments are. */
#define SPOOR_FIRE(...) SPOOR_USDT_FIRE(__VA_ARGS__)

/* SPOOR_LISTENED(provider, name): whether a tracer listens to the declared probe. For a caller that must prepare
 * something costly. It can change at any moment. */
#define SPOOR_LISTENED(provider, name) SPOOR_USDT_LISTENED(provider, name)

/* ---- lists: everything from here on is implementation, and may change ----
 *
 * A list is provider, name, and up to twelve more, so no list is ever empty: ISO C has no empty `...`. */

#define SPOOR_USDT_JOIN(a, b) SPOOR_USDT_JOIN_(a, b)
#define SPOOR_USDT_JOIN_(a, b) a##b
#define SPOOR_USDT_COUNT(...) SPOOR_USDT_COUNT_(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, end)
#define SPOOR_USDT_COUNT_(v, w, a, b, c, d, e, f, g, h, i, j, k, l, count, ...) count

#define SPOOR_USDT_COMMA() ,
#define SPOOR_USDT_SPACE() " "
#define SPOOR_USDT_NOTHING()

/* macro(1, first) separator() macro(2, second) … */
#define SPOOR_USDT_EACH(macro, separator, ...)                                                               \
    SPOOR_USDT_JOIN(SPOOR_USDT_EACH_, SPOOR_USDT_COUNT(__VA_ARGS__))(macro, separator, __VA_ARGS__)
#define SPOOR_USDT_EACH_0(m, s, v, w)
#define SPOOR_USDT_EACH_1(m, s, v, w, a) m(1, a)
#define SPOOR_USDT_EACH_2(m, s, v, w, a, b) SPOOR_USDT_EACH_1(m, s, v, w, a) s() m(2, b)
#define SPOOR_USDT_EACH_3(m, s, v, w, a, b, c) SPOOR_USDT_EACH_2(m, s, v, w, a, b) s() m(3, c)
#define SPOOR_USDT_EACH_4(m, s, v, w, a, b, c, d) SPOOR_USDT_EACH_3(m, s, v, w, a, b, c) s() m(4, d)
#define SPOOR_USDT_EACH_5(m, s, v, w, a, b, c, d, e) SPOOR_USDT_EACH_4(m, s, v, w, a, b, c, d) s() m(5, e)
#define SPOOR_USDT_EACH_6(m, s, v, w, a, b, c, d, e, f)                                                      \
    SPOOR_USDT_EACH_5(m, s, v, w, a, b, c, d, e) s() m(6, f)
#define SPOOR_USDT_EACH_7(m, s, v, w, a, b, c, d, e, f, g)                                                   \
    SPOOR_USDT_EACH_6(m, s, v, w, a, b, c, d, e, f) s() m(7, g)
#define SPOOR_USDT_EACH_8(m, s, v, w, a, b, c, d, e, f, g, h)                                                \
    SPOOR_USDT_EACH_7(m, s, v, w, a, b, c, d, e, f, g) s() m(8, h)
#define SPOOR_USDT_EACH_9(m, s, v, w, a, b, c, d, e, f, g, h, i)                                             \
    SPOOR_USDT_EACH_8(m, s, v, w, a, b, c, d, e, f, g, h) s() m(9, i)
#define SPOOR_USDT_EACH_10(m, s, v, w, a, b, c, d, e, f, g, h, i, j)                                         \
    SPOOR_USDT_EACH_9(m, s, v, w, a, b, c, d, e, f, g, h, i) s() m(10, j)
#define SPOOR_USDT_EACH_11(m, s, v, w, a, b, c, d, e, f, g, h, i, j, k)                                      \
    SPOOR_USDT_EACH_10(m, s, v, w, a, b, c, d, e, f, g, h, i, j) s() m(11, k)
#define SPOOR_USDT_EACH_12(m, s, v, w, a, b, c, d, e, f, g, h, i, j, k, l)                                   \
    SPOOR_USDT_EACH_11(m, s, v, w, a, b, c, d, e, f, g, h, i, j, k) s() m(12, l)

/* `none` for a list without values, else `some`. */
#define SPOOR_USDT_NONE_OR(none, some, ...)                                                                  \
    SPOOR_USDT_JOIN(SPOOR_USDT_NONE_OR_, SPOOR_USDT_COUNT(__VA_ARGS__))(none, some)
#define SPOOR_USDT_NONE_OR_0(none, some) none()
#define SPOOR_USDT_NONE_OR_1(none, some) some()
#define SPOOR_USDT_NONE_OR_2(none, some) some()
#define SPOOR_USDT_NONE_OR_3(none, some) some()
#define SPOOR_USDT_NONE_OR_4(none, some) some()
#define SPOOR_USDT_NONE_OR_5(none, some) some()
#define SPOOR_USDT_NONE_OR_6(none, some) some()
#define SPOOR_USDT_NONE_OR_7(none, some) some()
#define SPOOR_USDT_NONE_OR_8(none, some) some()
#define SPOOR_USDT_NONE_OR_9(none, some) some()
#define SPOOR_USDT_NONE_OR_10(none, some) some()
#define SPOOR_USDT_NONE_OR_11(none, some) some()
#define SPOOR_USDT_NONE_OR_12(none, some) some()

#define SPOOR_USDT_ITSELF(i, value) value
#define SPOOR_USDT_TYPE_OF(type, argument) type
#define SPOOR_USDT_NAME_OF(type, argument) argument
#define SPOOR_USDT_DEFINE(type, argument) type argument
#define SPOOR_USDT_PARAMETER(i, pair) SPOOR_USDT_DEFINE pair
#define SPOOR_USDT_VOID() void

#ifdef __cplusplus
#define SPOOR_USDT_ASSERT static_assert
#else
#define SPOOR_USDT_ASSERT _Static_assert
#endif

#ifdef SPOOR_NO_PROBES

#define SPOOR_USDT_UNUSED(i, value) (void)(value);
#define SPOOR_USDT_PROBE(semaphore, ...)                                                                     \
    do {                                                                                                     \
        if (0) {                                                                                             \
            SPOOR_USDT_EACH(SPOOR_USDT_UNUSED, SPOOR_USDT_NOTHING, __VA_ARGS__)                              \
        }                                                                                                    \
    } while (0)
#define SPOOR_USDT_DECLARE(provider, ...) SPOOR_USDT_DECLARE_(provider, __VA_ARGS__, end)
#define SPOOR_USDT_DECLARE_(provider, name, ...) SPOOR_USDT_ASSERT(1, "declared " #provider ":" #name)
#define SPOOR_USDT_LISTENED(provider, name) 0
#define SPOOR_USDT_FIRE(...) SPOOR_USDT_PROBE("0", __VA_ARGS__)

#else

/* ---- what a value is ---- */

/* SIGN: -1 signed, 1 unsigned or pointer, 0 cannot be a value. SIZE: in bytes. IS_POINTER: 0 or 1. All are
 * constants. */
#ifdef __cplusplus
extern "C++" {
template <typename T, bool is_enumeration> struct spoor_usdt_value {
    enum { sign = T(-1) < T(1) ? -1 : 1, is_pointer = 0 };
};
template <typename T> struct spoor_usdt_value<T, true> {
    enum { sign = spoor_usdt_value<__underlying_type(T), false>::sign, is_pointer = 0 };
};
template <typename T> struct spoor_usdt_value<T *, false> {
    enum { sign = 1, is_pointer = 1 };
};
template <int sign_> struct spoor_usdt_fixed {
    enum { sign = sign_, is_pointer = 0 };
};
template <> struct spoor_usdt_value<bool, false> : spoor_usdt_fixed<1> {
};
template <> struct spoor_usdt_value<decltype(nullptr), false> : spoor_usdt_fixed<1> {
};
template <> struct spoor_usdt_value<float, false> : spoor_usdt_fixed<0> {
};
template <> struct spoor_usdt_value<double, false> : spoor_usdt_fixed<0> {
};
template <> struct spoor_usdt_value<long double, false> : spoor_usdt_fixed<0> {
};
template <typename T> T spoor_usdt_decay(T); /* arrays to pointers, without const and volatile */
}
#define SPOOR_USDT_TYPE(x) __typeof__(spoor_usdt_decay(x))
#define SPOOR_USDT_OF(x) spoor_usdt_value<SPOOR_USDT_TYPE(x), __is_enum(SPOOR_USDT_TYPE(x))>
#define SPOOR_USDT_SIGN(x) ((int)SPOOR_USDT_OF(x)::sign)
#define SPOOR_USDT_SIZE(x) ((int)sizeof(SPOOR_USDT_TYPE(x)))
#define SPOOR_USDT_IS_POINTER(x) ((int)SPOOR_USDT_OF(x)::is_pointer)
#else
/* The right side of a comma is a plain value: arrays have become pointers, integers keep their width. */
#define SPOOR_USDT_SIZE(x) ((int)sizeof(__typeof__(((void)0, (x)))))
#define SPOOR_USDT_SIGN(x)                                                                                   \
    _Generic((x), char                                                                                       \
             : (char)-1 < (char)1 ? -1 : 1, signed char                                                      \
             : -1, short                                                                                     \
             : -1, int                                                                                       \
             : -1, long                                                                                      \
             : -1, long long                                                                                 \
             : -1, float : 0, double : 0, long double : 0, default : 1)
#define SPOOR_USDT_IS_POINTER(x) (__builtin_classify_type(((void)0, (x))) == 5)
#endif

/* ---- notes ---- */

/* The constraint that says where a value may stay. Given the choice, clang stores everything to memory first; on
 * aarch64, tools cannot read what gcc writes for an offset without a register. */
#if defined(__x86_64__) && !defined(__clang__)
#define SPOOR_USDT_ANYWHERE "nor"
#else
#define SPOOR_USDT_ANYWHERE "nr"
#endif

/* clang wants a width for each register operand; the note has it. */
#if defined(__aarch64__) && defined(__clang__)
#define SPOOR_USDT_QUIET_BEGIN                                                                               \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wasm-operand-widths\"")
#define SPOOR_USDT_QUIET_END _Pragma("clang diagnostic pop")
#else
#define SPOOR_USDT_QUIET_BEGIN
#define SPOOR_USDT_QUIET_END
#endif

/* One note about the nop at label 990: address, base, semaphore, names, and what the owner adds. In a group of
 * sections the note belongs to the group (the flag ?), so that the linker drops a function's notes along with it. */
#define SPOOR_USDT_NOTE(section, owner, type, semaphore, names, payload)                                     \
    ".pushsection " section ",\"?\",\"note\"\n\t.balign 4\n\t.4byte 992f-991f, 994f-993f, " type "\n"        \
    "991:\t.asciz \"" owner "\"\n992:\t.balign 4\n"                                                          \
    "993:\t.8byte 990b\n\t.8byte _.stapsdt.base\n\t.8byte " semaphore "\n" names payload                     \
    "994:\t.balign 4\n.popsection\n"
#define SPOOR_USDT_NAMES(...) SPOOR_USDT_NAMES_(__VA_ARGS__, end)
#define SPOOR_USDT_NAMES_(provider, name, ...) "\t.asciz \"" #provider "\"\n\t.asciz \"" #name "\"\n"
/* Lets a reader notice that the program was moved after the notes were written. */
#define SPOOR_USDT_BASE                                                                                      \
    ".ifndef _.stapsdt.base\n.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"          \
    "\t.weak _.stapsdt.base\n\t.hidden _.stapsdt.base\n_.stapsdt.base:\t.space 1\n"                          \
    "\t.size _.stapsdt.base, 1\n.popsection\n.endif\n"

/* On x86-64, registers are written by their 64-bit names, whatever the value's size, which comes before them: gdb
 * does not know the compilers' names of some parts (r10b). */
#if defined(__x86_64__)
#define SPOOR_USDT_LOCATION(i, value) "%c[s" #i "]@%q[v" #i "]"
#else
#define SPOOR_USDT_LOCATION(i, value) "%c[s" #i "]@%[v" #i "]"
#endif
#define SPOOR_USDT_STAPSDT(semaphore, ...)                                                                   \
    SPOOR_USDT_NOTE(                                                                                         \
        ".note.stapsdt", "stapsdt", "3", semaphore, SPOOR_USDT_NAMES(__VA_ARGS__),                           \
        "\t.asciz \"" SPOOR_USDT_EACH(SPOOR_USDT_LOCATION, SPOOR_USDT_SPACE, __VA_ARGS__) "\"\n")

/* ---- inline form ---- */

#define SPOOR_USDT_CHECK(i, x)                                                                               \
    SPOOR_USDT_ASSERT(                                                                                       \
        SPOOR_USDT_SIGN(x) != 0 && SPOOR_USDT_SIZE(x) <= 8,                                                  \
        "a probe's value is an integer of up to 64 bits, an enumeration, a bool or a pointer");
#define SPOOR_USDT_OR_POINTER(i, x) || SPOOR_USDT_IS_POINTER(x)
#define SPOOR_USDT_OPERAND(i, x)                                                                             \
    [s##i] "i"(SPOOR_USDT_SIGN(x) * SPOOR_USDT_SIZE(x)), [v##i] SPOOR_USDT_ANYWHERE(x)

/* Only one of the two asm statements is compiled: the one with a pointer tells the compiler that memory is read. */
#define SPOOR_USDT_PROBE(semaphore, ...)                                                                     \
    do {                                                                                                     \
        SPOOR_USDT_EACH(SPOOR_USDT_CHECK, SPOOR_USDT_NOTHING, __VA_ARGS__)                                   \
        SPOOR_USDT_QUIET_BEGIN                                                                               \
        if (0 SPOOR_USDT_EACH(SPOOR_USDT_OR_POINTER, SPOOR_USDT_NOTHING, __VA_ARGS__))                       \
            SPOOR_USDT_SITE(SPOOR_USDT_MEMORY, semaphore, __VA_ARGS__);                                      \
        else                                                                                                 \
            SPOOR_USDT_SITE(SPOOR_USDT_NOTHING, semaphore, __VA_ARGS__);                                     \
        SPOOR_USDT_QUIET_END                                                                                 \
    } while (0)
#define SPOOR_USDT_MEMORY() : "memory"
#define SPOOR_USDT_SITE(clobbers, semaphore, ...)                                                            \
    __asm__ __volatile__(                                                                                    \
        "990:\tnop\n" SPOOR_USDT_STAPSDT(semaphore, __VA_ARGS__)                                             \
            SPOOR_USDT_BASE ::SPOOR_USDT_EACH(SPOOR_USDT_OPERAND, SPOOR_USDT_COMMA, __VA_ARGS__) clobbers())

/* ---- declared form ---- */

#define SPOOR_USDT_SEMAPHORE(provider, name) spoor_semaphore_##provider##_##name
#define SPOOR_USDT_SEMAPHORE_(provider, name, ...) SPOOR_USDT_SEMAPHORE(provider, name)
#define SPOOR_USDT_STUB(provider, name) spoor_stub_##provider##_##name

/* The stub that fires is a separate function, which no compiler copies, merges or analyses. */
#if defined(__clang__)
#define SPOOR_USDT_APART __attribute__((noinline, unused, aligned(64)))
#else
#define SPOOR_USDT_APART __attribute__((noipa, unused, aligned(64)))
#endif

/* In the stub, the nop that the notes name is followed by longer nops, at which newer kernels probe without a trap:
 * a tracer whose kernel does so may put its probe there. Such a probe writes to the stack, so first the stack
 * pointer steps over what the compiler may have put below it. Last comes a nop whose operand is the distance to the
 * semaphore, so that no linker takes two stubs for the same. */
#if defined(__x86_64__)
#define SPOOR_USDT_SYMBOL "i" /* constraint for the address of the semaphore */
#define SPOOR_USDT_PADS                                                                                      \
    "\tleaq -128(%%rsp), %%rsp\n"                                                                            \
    "990:\tnop\n"                                                                                            \
    "\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"                                                                 \
    "\t.byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00\n"                                   \
    "\tleaq 128(%%rsp), %%rsp\n"                                                                             \
    "\t.byte 0x0f, 0x1f, 0x80\n\t.long %c[semaphore]-.\n"
#else
#define SPOOR_USDT_SYMBOL "S"
#define SPOOR_USDT_PADS "990:\tnop\n\tadrp xzr, %c[semaphore]\n"
#endif

#define SPOOR_USDT_TEXT(type, argument) "\t.asciz \"" #type "\"\n\t.asciz \"" #argument "\"\n"
#define SPOOR_USDT_TEXTS(i, pair) SPOOR_USDT_TEXT pair
#define SPOOR_USDT_CHECK_PARAMETER(i, pair) SPOOR_USDT_CHECK(i, (SPOOR_USDT_NAME_OF pair))
/* Arguments stay in registers, where nothing that a probe writes can overwrite them. */
#define SPOOR_USDT_IN_REGISTER(i, pair)                                                                      \
    [s##i] "i"(SPOOR_USDT_SIGN((SPOOR_USDT_NAME_OF pair)) * (int)sizeof(SPOOR_USDT_TYPE_OF pair)),           \
        [v##i] "r"(SPOOR_USDT_NAME_OF pair)

#ifdef __cplusplus
#define SPOOR_USDT_C_BEGIN extern "C" {
#define SPOOR_USDT_C_END }
#else
#define SPOOR_USDT_C_BEGIN
#define SPOOR_USDT_C_END
#endif

/* The use of the frame's address makes the compiler build a frame: without one, stacks lack the function. */
#define SPOOR_USDT_DECLARE(...)                                                                              \
    SPOOR_USDT_C_BEGIN                                                                                       \
    __attribute__((weak, visibility("hidden"), section(".probes"))) volatile unsigned short SPOOR_USDT_HEAD( \
        SPOOR_USDT_SEMAPHORE_, __VA_ARGS__);                                                                 \
    SPOOR_USDT_C_END                                                                                         \
    static SPOOR_USDT_APART void SPOOR_USDT_HEAD(SPOOR_USDT_STUB_, __VA_ARGS__)(                             \
        SPOOR_USDT_NONE_OR(SPOOR_USDT_VOID, SPOOR_USDT_NOTHING, __VA_ARGS__)                                 \
            SPOOR_USDT_EACH(SPOOR_USDT_PARAMETER, SPOOR_USDT_COMMA, __VA_ARGS__))                            \
    {                                                                                                        \
        SPOOR_USDT_EACH(SPOOR_USDT_CHECK_PARAMETER, SPOOR_USDT_NOTHING, __VA_ARGS__)                         \
        SPOOR_USDT_QUIET_BEGIN                                                                               \
        __asm__ __volatile__(                                                                                \
            SPOOR_USDT_PADS SPOOR_USDT_STAPSDT("%c[semaphore]", __VA_ARGS__)                                 \
                SPOOR_USDT_NOTE(".note.spoor", "spoor", "1", "%c[semaphore]", SPOOR_USDT_NAMES(__VA_ARGS__), \
                                SPOOR_USDT_EACH(SPOOR_USDT_TEXTS, SPOOR_USDT_NOTHING, __VA_ARGS__))          \
                    SPOOR_USDT_BASE                                                                          \
            : /* no outputs */                                                                               \
            : [frame] "r"(__builtin_frame_address(0)), [semaphore] SPOOR_USDT_SYMBOL(&SPOOR_USDT_HEAD(       \
                                                           SPOOR_USDT_SEMAPHORE_, __VA_ARGS__))              \
                                                           SPOOR_USDT_NONE_OR(SPOOR_USDT_NOTHING,            \
                                                                              SPOOR_USDT_COMMA, __VA_ARGS__) \
                                                               SPOOR_USDT_EACH(SPOOR_USDT_IN_REGISTER,       \
                                                                               SPOOR_USDT_COMMA,             \
                                                                               __VA_ARGS__)                  \
            : "memory");                                                                                     \
        SPOOR_USDT_QUIET_END                                                                                 \
    }                                                                                                        \
    SPOOR_USDT_ASSERT(sizeof(SPOOR_USDT_HEAD(SPOOR_USDT_SEMAPHORE_, __VA_ARGS__)) == 2,                      \
                      "USDT semaphores have 16 bits")

#define SPOOR_USDT_LISTENED(provider, name) __builtin_expect(SPOOR_USDT_SEMAPHORE(provider, name) != 0, 0)
#define SPOOR_USDT_VALUES(...) SPOOR_USDT_EACH(SPOOR_USDT_ITSELF, SPOOR_USDT_COMMA, __VA_ARGS__)
/* The empty asm keeps the call from becoming a jump at the caller's end, which stacks would not show. */
#define SPOOR_USDT_FIRE(...)                                                                                 \
    do {                                                                                                     \
        if (SPOOR_USDT_HEAD(SPOOR_USDT_LISTENED_, __VA_ARGS__)) {                                            \
            SPOOR_USDT_HEAD(SPOOR_USDT_STUB_, __VA_ARGS__)(SPOOR_USDT_VALUES(__VA_ARGS__));                  \
            __asm__ __volatile__("");                                                                        \
        }                                                                                                    \
    } while (0)
#define SPOOR_USDT_HEAD(macro, ...) macro(__VA_ARGS__, end)
#define SPOOR_USDT_LISTENED_(provider, name, ...) SPOOR_USDT_LISTENED(provider, name)
#define SPOOR_USDT_STUB_(provider, name, ...) SPOOR_USDT_STUB(provider, name)

#endif /* SPOOR_NO_PROBES */
#endif
