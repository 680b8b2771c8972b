/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers that belong to a compiler and not to a system, so that no compiler is needed; the macros that a compiler
 * predefines; which headers are the kernel's. */
#include <string.h>

#include "lang/c/state.h"

static const struct {
    const char *name, *text;
} headers[] = {
    {"stdbool.h", "#define bool _Bool\n"
                  "#define __bool_true_false_are_defined 1\n"},
    {"stddef.h", "typedef __SIZE_TYPE__ size_t;\n"
                 "typedef __PTRDIFF_TYPE__ ptrdiff_t;\n"
                 "typedef __WCHAR_TYPE__ wchar_t;\n"
                 "#define NULL 0\n"},
    {"stdarg.h", "typedef __builtin_va_list __gnuc_va_list;\n"
                 "typedef __builtin_va_list va_list;\n"},
    {"stdalign.h", "#define alignas _Alignas\n"},
    {"stdint.h",
     "typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;\n"
     "typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;\n"
     "typedef unsigned long uint64_t;\n"
     "typedef signed char int_least8_t; typedef short int_least16_t; typedef int int_least32_t;\n"
     "typedef long int_least64_t; typedef unsigned char uint_least8_t;\n"
     "typedef unsigned short uint_least16_t; typedef unsigned int uint_least32_t;\n"
     "typedef unsigned long uint_least64_t;\n"
     "typedef signed char int_fast8_t; typedef long int_fast16_t, int_fast32_t, int_fast64_t;\n"
     "typedef unsigned char uint_fast8_t; typedef unsigned long uint_fast16_t, uint_fast32_t;\n"
     "typedef unsigned long uint_fast64_t;\n"
     "typedef long intptr_t, intmax_t; typedef unsigned long uintptr_t, uintmax_t;\n"
     "#define INT8_MIN (-128)\n#define INT16_MIN (-32767-1)\n#define INT32_MIN (-2147483647-1)\n"
     "#define INT64_MIN (-9223372036854775807-1)\n"
     "#define INT8_MAX 127\n#define INT16_MAX 32767\n#define INT32_MAX 2147483647\n"
     "#define INT64_MAX 9223372036854775807\n"
     "#define UINT8_MAX 255\n#define UINT16_MAX 65535\n#define UINT32_MAX 4294967295U\n"
     "#define UINT64_MAX 18446744073709551615UL\n"
     "#define INTPTR_MIN INT64_MIN\n#define INTPTR_MAX INT64_MAX\n#define UINTPTR_MAX UINT64_MAX\n"
     "#define INTMAX_MIN INT64_MIN\n#define INTMAX_MAX INT64_MAX\n#define UINTMAX_MAX UINT64_MAX\n"
     "#define PTRDIFF_MIN INT64_MIN\n#define PTRDIFF_MAX INT64_MAX\n#define SIZE_MAX UINT64_MAX\n"
     "#define INT8_C(c) c\n#define INT16_C(c) c\n#define INT32_C(c) c\n#define INT64_C(c) c##L\n"
     "#define UINT8_C(c) c\n#define UINT16_C(c) c\n#define UINT32_C(c) c##U\n#define UINT64_C(c) c##UL\n"},
    {"limits.h",
     "#define CHAR_BIT 8\n#define SCHAR_MIN (-128)\n#define SCHAR_MAX 127\n#define UCHAR_MAX 255\n"
#ifdef __CHAR_UNSIGNED__
     "#define CHAR_MIN 0\n#define CHAR_MAX 255\n"
#else
     "#define CHAR_MIN (-128)\n#define CHAR_MAX 127\n"
#endif
     "#define SHRT_MIN (-32768)\n#define SHRT_MAX 32767\n#define USHRT_MAX 65535\n"
     "#define INT_MIN (-2147483647-1)\n#define INT_MAX 2147483647\n#define UINT_MAX 4294967295U\n"
     "#define LONG_MIN (-9223372036854775807L-1)\n#define LONG_MAX 9223372036854775807L\n"
     "#define ULONG_MAX 18446744073709551615UL\n"
     "#define LLONG_MIN LONG_MIN\n#define LLONG_MAX LONG_MAX\n#define ULLONG_MAX ULONG_MAX\n"
     "#define MB_LEN_MAX 16\n#define SSIZE_MAX LONG_MAX\n#define NAME_MAX 255\n#define PATH_MAX 4096\n"
     "#define PIPE_BUF 4096\n#define IOV_MAX 1024\n#define NGROUPS_MAX 65536\n#define ARG_MAX 131072\n"
     "#define XATTR_NAME_MAX 255\n#define XATTR_SIZE_MAX 65536\n#define XATTR_LIST_MAX 65536\n"
     "#define HOST_NAME_MAX 64\n#define LOGIN_NAME_MAX 256\n#define PTHREAD_KEYS_MAX 1024\n"},
};

/* Constants that scripts use of headers which only the kernel's source has, and which have never changed. */
#define ADDRESS_FAMILIES                                                                                     \
    "#ifndef AF_INET\n#define AF_UNSPEC 0\n#define AF_UNIX 1\n#define AF_INET 2\n#define AF_INET6 10\n"      \
    "#define AF_NETLINK 16\n#define AF_PACKET 17\n#define AF_VSOCK 40\n#endif\n"
static const struct {
    const char *name, *text;
} supplements[] = {
    {"linux/sched.h", "#ifndef TASK_RUNNING\n#define TASK_RUNNING 0\n#define TASK_INTERRUPTIBLE 1\n"
                      "#define TASK_UNINTERRUPTIBLE 2\n#define __TASK_STOPPED 4\n#define __TASK_TRACED 8\n"
                      "#define EXIT_DEAD 16\n#define EXIT_ZOMBIE 32\n#define PF_EXITING 4\n"
                      "#define PF_KTHREAD 0x200000\n#endif\n"},
    {"linux/socket.h", ADDRESS_FAMILIES},
    {"linux/net.h", ADDRESS_FAMILIES},
    {"net/sock.h", ADDRESS_FAMILIES},
    {"net/inet_sock.h", ADDRESS_FAMILIES},
};

const char *c_header_supplement(const char *name)
{
    for (size_t i = 0; i < sizeof supplements / sizeof *supplements; i++)
        if (!strcmp(supplements[i].name, name))
            return supplements[i].text;
    return NULL;
}

const char *c_embedded_header(const char *name)
{
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        if (!strcmp(headers[i].name, name))
            return headers[i].text;
    return NULL;
}

const char c_predefined[] =
    "#define __STDC__ 1\n#define __STDC_VERSION__ 201112L\n#define __STDC_HOSTED__ 1\n"
    "#define __GNUC__ 12\n#define __GNUC_MINOR__ 2\n#define __GNUC_PATCHLEVEL__ 0\n#define "
    "__GNUC_STDC_INLINE__ 1\n"
    "#define _GNU_SOURCE 1\n#define __OPTIMIZE__ 1\n"
    "#define __linux__ 1\n#define __linux 1\n#define __gnu_linux__ 1\n#define __unix__ 1\n#define __unix 1\n"
    "#define __ELF__ 1\n#define __LP64__ 1\n#define _LP64 1\n#define __CHAR_BIT__ 8\n"
    "#define __SIZEOF_SHORT__ 2\n#define __SIZEOF_INT__ 4\n#define __SIZEOF_LONG__ 8\n#define "
    "__SIZEOF_LONG_LONG__ 8\n"
    "#define __SIZEOF_POINTER__ 8\n#define __SIZEOF_SIZE_T__ 8\n#define __SIZEOF_PTRDIFF_T__ 8\n"
    "#define __SIZEOF_WCHAR_T__ 4\n#define __SIZEOF_WINT_T__ 4\n#define __SIZEOF_FLOAT__ 4\n#define "
    "__SIZEOF_DOUBLE__ 8\n"
    "#define __SIZEOF_LONG_DOUBLE__ 16\n#define __SIZEOF_INT128__ 16\n#define __BIGGEST_ALIGNMENT__ 16\n"
    "#define __ORDER_LITTLE_ENDIAN__ 1234\n#define __ORDER_BIG_ENDIAN__ 4321\n#define __ORDER_PDP_ENDIAN__ "
    "3412\n"
    "#define __BYTE_ORDER__ __ORDER_LITTLE_ENDIAN__\n#define __FLOAT_WORD_ORDER__ __ORDER_LITTLE_ENDIAN__\n"
    "#define __SCHAR_MAX__ 0x7f\n#define __SHRT_MAX__ 0x7fff\n#define __INT_MAX__ 0x7fffffff\n"
    "#define __LONG_MAX__ 0x7fffffffffffffffL\n#define __LONG_LONG_MAX__ 0x7fffffffffffffffLL\n"
    "#define __SIZE_MAX__ 0xffffffffffffffffUL\n#define __PTRDIFF_MAX__ 0x7fffffffffffffffL\n"
    "#define __INTPTR_MAX__ 0x7fffffffffffffffL\n#define __UINTPTR_MAX__ 0xffffffffffffffffUL\n"
    "#define __INTMAX_MAX__ 0x7fffffffffffffffL\n#define __UINTMAX_MAX__ 0xffffffffffffffffUL\n"
    "#define __INT8_MAX__ 0x7f\n#define __INT16_MAX__ 0x7fff\n#define __INT32_MAX__ 0x7fffffff\n"
    "#define __INT64_MAX__ 0x7fffffffffffffffL\n#define __UINT8_MAX__ 0xff\n#define __UINT16_MAX__ 0xffff\n"
    "#define __UINT32_MAX__ 0xffffffffU\n#define __UINT64_MAX__ 0xffffffffffffffffUL\n"
    "#define __INT_WIDTH__ 32\n#define __LONG_WIDTH__ 64\n#define __LONG_LONG_WIDTH__ 64\n#define "
    "__SHRT_WIDTH__ 16\n"
    "#define __SIZE_TYPE__ long unsigned int\n#define __PTRDIFF_TYPE__ long int\n#define __WINT_TYPE__ "
    "unsigned int\n"
    "#define __INTMAX_TYPE__ long int\n#define __UINTMAX_TYPE__ long unsigned int\n"
    "#define __INTPTR_TYPE__ long int\n#define __UINTPTR_TYPE__ long unsigned int\n"
    "#define __CHAR16_TYPE__ short unsigned int\n#define __CHAR32_TYPE__ unsigned int\n"
    "#define __SIG_ATOMIC_TYPE__ int\n"
    "#define __INT8_TYPE__ signed char\n#define __INT16_TYPE__ short int\n#define __INT32_TYPE__ int\n"
    "#define __INT64_TYPE__ long int\n#define __UINT8_TYPE__ unsigned char\n"
    "#define __UINT16_TYPE__ short unsigned int\n#define __UINT32_TYPE__ unsigned int\n"
    "#define __UINT64_TYPE__ long unsigned int\n"
    "#define __USER_LABEL_PREFIX__\n#define __VERSION__ \"12.2.0\"\n"
#ifdef __x86_64__
    "#define __x86_64__ 1\n#define __x86_64 1\n#define __amd64__ 1\n#define __amd64 1\n#define __k8__ 1\n"
    "#define __SSE__ 1\n#define __SSE2__ 1\n#define __SIZEOF_FLOAT80__ 16\n#define __SIZEOF_FLOAT128__ 16\n"
    "#define __WCHAR_TYPE__ int\n"
#else
    "#define __aarch64__ 1\n#define __AARCH64EL__ 1\n#define __ARM_64BIT_STATE 1\n#define __ARM_ARCH 8\n"
    "#define __CHAR_UNSIGNED__ 1\n#define __WCHAR_TYPE__ unsigned int\n"
#endif
    ;

bool c_is_kernel_header(const char *name)
{
    static const char *const folders[] = {
        "linux", "asm",    "asm-generic", "uapi",  "net",       "trace",       "scsi",   "crypto",
        "drm",   "rdma",   "sound",       "video", "generated", "xen",         "acpi",   "vdso",
        "block", "kernel", "misc",        "keys",  "target",    "clocksource", "memory", "soc",
        "media", "mtd",    "kunit",       "fs",    "mm",        "drivers",
    };
    const char *slash = strchr(name, '/');
    for (size_t i = 0; slash && i < sizeof folders / sizeof *folders; i++)
        if (strlen(folders[i]) == (size_t)(slash - name) && !memcmp(folders[i], name, (size_t)(slash - name)))
            return true;
    return false;
}
