/* SPDX-License-Identifier: BSD-3-Clause */
/* What a function is written in, guessed from how its name is written: debug information knows, but to read it for the
 * colour of a frame would take longer than the measurement. */
#include <string.h>

#include "profile/profile.h"

const char *const profile_language_names[LANGUAGES] = {
    [LANGUAGE_UNKNOWN] = "unknown",
    [LANGUAGE_PROCESS] = "process",
    [LANGUAGE_CONTAINER] = "container",
    [LANGUAGE_C] = "C",
    [LANGUAGE_CPP] = "C++",
    [LANGUAGE_RUST] = "Rust",
    [LANGUAGE_GO] = "Go",
    [LANGUAGE_PYTHON] = "Python",
    [LANGUAGE_JAVASCRIPT] = "JavaScript",
    [LANGUAGE_JAVA] = "Java",
    [LANGUAGE_GENERATED] = "generated",
    [LANGUAGE_KERNEL] = "kernel",
    [LANGUAGE_MODULE] = "kernel module",
};

static bool begins_with(const char *name, const char *with)
{
    return !strncmp(name, with, strlen(with));
}

/* Of names that programs give to code that they generate: /tmp/perf-PID.map. */
static enum profile_language generated(const char *name)
{
    static const struct {
        const char *beginning;
        enum profile_language language;
    } beginnings[] = {
        {"py::", LANGUAGE_PYTHON},             /* CPython, -X perf */
        {"JS:", LANGUAGE_JAVASCRIPT},          /* V8 */
        {"LazyCompile:", LANGUAGE_JAVASCRIPT}, /* V8, older */
        {"Function:", LANGUAGE_JAVASCRIPT},
        {"Script:", LANGUAGE_JAVASCRIPT},
        {"BytecodeHandler:", LANGUAGE_JAVASCRIPT},
        {"Builtin:", LANGUAGE_JAVASCRIPT},
        {"L", LANGUAGE_JAVA}, /* Lpackage/Class;::method */
    };
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (begins_with(name, beginnings[i].beginning) &&
            (beginnings[i].language != LANGUAGE_JAVA || strstr(name, ";::")))
            return beginnings[i].language;
    return LANGUAGE_GENERATED;
}

/* Go's names are PACKAGE.NAME: "runtime.mallocgc", "net/http.(*conn).serve". Those that gcc makes have a dot, too:
 * "parse.part.0", "copy.constprop.1", "f.cold". */
static bool is_go(const char *name)
{
    static const char *const suffixes[] = {".part.",     ".constprop.", ".cold",      ".isra.",
                                           ".lto_priv.", ".llvm.",      ".localalias"};
    const char *dot = strchr(name, '.');
    if (!dot || dot == name || !dot[1] || strchr(name, ' '))
        return false;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (strstr(name, suffixes[i]))
            return false;
    return dot[1] < '0' || dot[1] > '9';
}

enum profile_language profile_language_of(const char *name, const char *module, bool is_kernel)
{
    if (is_kernel)
        return module && *module ? LANGUAGE_MODULE : LANGUAGE_KERNEL;
    if (module && begins_with(module, "/tmp/perf-"))
        return generated(name);
    const char *path = strstr(name, "::");
    if (path && (strchr(name, '(') || begins_with(name, "std::__")))
        return LANGUAGE_CPP;
    if (path)
        return LANGUAGE_RUST;
    if (strchr(name, '('))
        return LANGUAGE_CPP; /* C++ functions have their parameters behind them, those of C have none */
    return is_go(name) ? LANGUAGE_GO : LANGUAGE_C;
}
