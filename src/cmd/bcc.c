/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns specifications and expressions of BCC's tools into the script language; see bcc.h. This file does not know
 * what exists on the system: the session reports what is wrong in the script. */
#include "cmd/bcc.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/terminal.h"
#include "base/vector.h"
#include "cmd/command.h"

int bcc_fail(const char *spec, const char *format, ...)
{
    struct text text = {0};
    va_list arguments;
    va_start(arguments, format);
    terminal_vprint(&text, format, arguments);
    va_end(arguments);
    if (spec)
        command_print(stderr, "ERROR: '%s': %s\n", spec, text_string(&text));
    else
        command_print(stderr, "ERROR: %s\n", text_string(&text));
    text_free(&text);
    return 1;
}

/* ---- specifications ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

int bcc_parse_spec(struct arena *arena, const char *text, size_t length, struct bcc_spec *spec)
{
    const char *whole = arena_copy(arena, text, length);
    const char *parts[4] = {0};
    unsigned count = 0;
    char *rest = arena_strdup(arena, whole);
    *spec = (struct bcc_spec){.text = whole, .type = 'p', .library = ""};
    for (char *part; (part = strsep(&rest, ":"));) {
        if (count == 4)
            return bcc_fail(whole, "a probe has at most four parts, as in u:LIBRARY:PROVIDER:PROBE");
        parts[count++] = part;
    }
    if (count > 2 && *parts[0]) {
        spec->type = *parts[0];
        if (parts[0][1] || !strchr("prtu", spec->type))
            return bcc_fail(whole, "the type of a probe is p, r, t or u, not '%s'", parts[0]);
    }
    if (count == 4 && spec->type != 'u')
        return bcc_fail(whole, "only USDT probes have four parts: u:LIBRARY:PROVIDER:PROBE");
    const char *last = parts[count - 1];
    if (!*last || (spec->type == 't' && !*parts[1]))
        return bcc_fail(whole, "what is to be traced? [p|r|t|u]:LIBRARY:FUNCTION");
    spec->library = spec->type == 't' ? "" : count > 1 ? parts[count - 2 - (count == 4)] : "";
    spec->name = spec->type == 't' ? arena_printf(arena, "%s:%s", parts[1], last)
                 : count == 4      ? arena_printf(arena, "%s:%s", parts[2], last)
                                   : last;
    spec->function = spec->type == 'u' ? spec->name : arena_copy(arena, last, strcspn(last, "+"));
    if (spec->type == 'u' && !*spec->library)
        return bcc_fail(whole, "a USDT probe is in a program or library: u:LIBRARY:PROBE");
    return 0;
}

static size_t trim(const char **text, size_t length)
{
    while (length && isspace((unsigned char)**text))
        (*text)++, length--;
    while (length && isspace((unsigned char)(*text)[length - 1]))
        length--;
    return length;
}

static int parse_parameter(struct arena *arena, const char *text, size_t length, struct bcc_spec *spec)
{
    struct bcc_parameter *parameter = &spec->parameters[spec->parameter_count];
    size_t name = length;
    while (name && is_word(text[name - 1]))
        name--;
    parameter->name = arena_copy(arena, text + name, length - name);
    char *type = arena_copy(arena, text, name);
    char *user = strstr(type, "__user");
    if (user) {
        parameter->is_user = true;
        memset(user, ' ', strlen("__user"));
    }
    const char *begin = type;
    length = trim(&begin, strlen(type));
    parameter->type = arena_copy(arena, begin, length);
    if (!*parameter->name || !*parameter->type)
        return bcc_fail(spec->text, "a parameter is a type and a name, not '%s'",
                        *parameter->name ? parameter->name : type);
    spec->parameter_count++;
    return 0;
}

int bcc_parse_signature(struct arena *arena, const char *text, size_t length, struct bcc_spec *spec)
{
    length = trim(&text, length);
    if (!length || (length == 4 && !memcmp(text, "void", 4)))
        return 0;
    while (true) {
        size_t used = bcc_until(text, length, ",");
        const char *part = text;
        if (spec->parameter_count == BCC_PARAMETERS)
            return bcc_fail(spec->text, "at most %d parameters", BCC_PARAMETERS);
        size_t part_length = trim(&part, used);
        if (parse_parameter(arena, part, part_length, spec))
            return 1;
        if (used == length)
            return 0;
        text += used + 1;
        length -= used + 1;
    }
}

void bcc_attach_point(struct text *out, const struct bcc_spec *spec, bool is_return)
{
    bool is_kernel = !*spec->library;
    is_return |= spec->type == 'r';
    if (spec->type == 't') {
        text_printf(out, "tracepoint:%s", spec->name);
        return;
    }
    text_add(out, spec->type == 'u' ? "usdt"
                  : is_kernel       ? (is_return ? "kretprobe" : "kprobe")
                                    : (is_return ? "uretprobe" : "uprobe"));
    if (!is_kernel && strpbrk(spec->library, " ,{}()\"'\\=")) {
        text_add(out, ":\"");
        bcc_quoted(out, spec->library, false);
        text_char(out, '"');
    } else if (!is_kernel)
        text_printf(out, ":%s", spec->library);
    text_printf(out, ":%s", spec->name);
}

void bcc_interval(struct text *out, uint64_t nanoseconds)
{
    const bool are_seconds = nanoseconds % NSEC_PER_SEC == 0,
               are_milliseconds = nanoseconds % NSEC_PER_MSEC == 0;
    const uint64_t unit = are_seconds ? NSEC_PER_SEC : are_milliseconds ? NSEC_PER_MSEC : NSEC_PER_USEC;
    text_printf(out, "interval:%s:%llu",
                are_seconds        ? "s"
                : are_milliseconds ? "ms"
                                   : "us",
                (unsigned long long)(nanoseconds / unit));
}

void bcc_quoted(struct text *out, const char *text, bool percent)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            text_char(out, '\\');
        if (*text == '%' && percent)
            text_char(out, '%');
        if (*text == '\n')
            text_add(out, "\\n");
        else
            text_char(out, *text);
    }
}

/* ---- types ---- */

static const struct {
    const char *c, *script;
} types[] = {
    {"u8", "uint8"},         {"u16", "uint16"},      {"u32", "uint32"},      {"u64", "uint64"},
    {"s8", "int8"},          {"s16", "int16"},       {"s32", "int32"},       {"s64", "int64"},
    {"__u8", "uint8"},       {"__u16", "uint16"},    {"__u32", "uint32"},    {"__u64", "uint64"},
    {"__s8", "int8"},        {"__s16", "int16"},     {"__s32", "int32"},     {"__s64", "int64"},
    {"uint8_t", "uint8"},    {"uint16_t", "uint16"}, {"uint32_t", "uint32"}, {"uint64_t", "uint64"},
    {"int8_t", "int8"},      {"int16_t", "int16"},   {"int32_t", "int32"},   {"int64_t", "int64"},
    {"size_t", "uint64"},    {"ssize_t", "int64"},   {"off_t", "int64"},     {"loff_t", "int64"},
    {"pid_t", "int32"},      {"uid_t", "uint32"},    {"gid_t", "uint32"},    {"mode_t", "uint32"},
    {"uintptr_t", "uint64"}, {"intptr_t", "int64"},  {"bool", "bool"},       {"_Bool", "bool"},
};

/* Writes a type without const and volatile, with one space between words. */
static void plain_type(struct text *plain, const char *type, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t word = 0;
        while (i + word < length && is_word(type[i + word]))
            word++;
        if (!word) {
            if (!isspace((unsigned char)type[i]))
                text_char(plain, type[i]);
            i++;
            continue;
        }
        bool is_qualifier = (word == 5 && !memcmp(type + i, "const", 5)) ||
                            (word == 8 && !memcmp(type + i, "volatile", 8)) ||
                            (word == 6 && !memcmp(type + i, "__user", 6));
        if (!is_qualifier) {
            if (plain->length)
                text_char(plain, ' ');
            text_append(plain, type + i, word);
        }
        i += word;
    }
}

bool bcc_is_string_type(const char *type, size_t length)
{
    struct text plain = {0};
    plain_type(&plain, type, length);
    bool is_string = !strcmp(text_string(&plain), "char*");
    text_free(&plain);
    return is_string;
}

void bcc_cast(struct text *out, const char *type, size_t length)
{
    struct text plain = {0};
    plain_type(&plain, type, length);
    const char *name = text_string(&plain);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(name, types[i].c))
            name = types[i].script;
    if (*name && strcmp(name, "void*") != 0)
        text_printf(out, "(%s)", name);
    text_free(&plain);
}

/* ---- expressions ---- */

/* Returns the end of a literal in quotes that begins at `text`, or `length` if it is not closed. */
static size_t literal_end(const char *text, size_t length)
{
    for (size_t i = 1; i < length; i++) {
        if (text[i] == '\\')
            i++;
        else if (text[i] == *text)
            return i + 1;
    }
    return length;
}

size_t bcc_until(const char *text, size_t length, const char *separators)
{
    int depth = 0;
    for (size_t i = 0; i < length; i++) {
        if (!depth && strchr(separators, text[i]) && text[i])
            return i;
        if (text[i] == '"' || text[i] == '\'')
            i += literal_end(text + i, length - i) - 1;
        else if (strchr("([", text[i]))
            depth++;
        else if (strchr(")]", text[i]) && depth)
            depth--;
    }
    return length;
}

static bool equals(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && !memcmp(text, word, length);
}

/* Words that mean the same in all specifications. $pid is a thread in BCC's trace, as in the kernel. */
static const struct {
    const char *bcc, *script;
} common_words[] = {
    {"$pid", "tid"}, {"$tgid", "pid"},    {"$uid", "uid"},      {"$gid", "gid"},
    {"$cpu", "cpu"}, {"$comm", "comm"},   {"$task", "curtask"}, {"$PID", "pid"},
    {"$TID", "tid"}, {"$ktime", "nsecs"}, {"NULL", "0"},        {"$random", "rand"},
};

/* Writes argument n, from 1 on, as BCC counts. */
static int write_argument(struct text *out, const struct bcc_spec *spec, unsigned n, bool is_user)
{
    static const char *const registers[] = {"di", "si", "dx", "r10", "r8", "r9"};
    if (spec->type == 'r')
        return bcc_fail(spec->text, "arg%u is not there any more when a function returns", n);
    if (spec->type == 't')
        return bcc_fail(spec->text, "a tracepoint has fields, not arg%u: args->NAME; spoor list -v '%s'", n,
                        spec->name);
    if (is_user)
        text_add(out, "uptr(");
    if (!*spec->library && spec->type == 'p' && !strncmp(spec->name, "__x64_sys_", 10)) {
        if (n > sizeof registers / sizeof *registers)
            return bcc_fail(spec->text, "a system call has at most six arguments");
        text_printf(out, "((struct pt_regs *)arg0)->%s", registers[n - 1]);
    } else
        text_printf(out, "arg%u", n - 1);
    if (is_user)
        text_char(out, ')');
    return 0;
}

static int write_parameter(struct text *out, const struct bcc_spec *spec, unsigned n)
{
    const struct bcc_parameter *parameter = &spec->parameters[n];
    size_t length = strlen(parameter->type);
    text_char(out, '(');
    if (!bcc_is_string_type(parameter->type, length))
        bcc_cast(out, parameter->type, length);
    int status = write_argument(out, spec, n + 1, parameter->is_user);
    text_char(out, ')');
    return status;
}

/* Writes STRCMP("text", pointer), which is whether they are equal. *rest moves behind the word. */
static int write_strcmp(struct text *out, const struct bcc_spec *spec, const struct bcc_words *words,
                        const char **rest, const char *end)
{
    const char *text = *rest, *sides[2];
    size_t lengths[2], used = 0;
    while (text < end && isspace((unsigned char)*text))
        text++;
    if (text < end && *text == '(') {
        text++;
        used = bcc_until(text, (size_t)(end - text), ",)");
    }
    if (!used || text[used] != ',')
        return bcc_fail(spec->text, "STRCMP takes two arguments: STRCMP(\"text\", pointer)");
    sides[0] = text;
    lengths[0] = trim(&sides[0], used);
    text += used + 1;
    used = bcc_until(text, (size_t)(end - text), ",)");
    sides[1] = text;
    lengths[1] = trim(&sides[1], used);
    if (text + used >= end || text[used] != ')' || !lengths[0] || !lengths[1])
        return bcc_fail(spec->text, "STRCMP takes two arguments: STRCMP(\"text\", pointer)");
    *rest = text + used + 1;
    text_char(out, '(');
    for (unsigned i = 0; i < 2; i++) {
        bool is_literal = *sides[i] == '"';
        text_add(out, is_literal ? "" : "str(");
        if (bcc_expression(out, spec, words, sides[i], lengths[i]))
            return 1;
        text_add(out, is_literal ? "" : ")");
        text_add(out, i ? ")" : " == ");
    }
    return 0;
}

/* Writes one word of an expression. *rest moves behind it. */
static int write_word(struct text *out, const struct bcc_spec *spec, const struct bcc_words *words,
                      const char *word, size_t length, const char **rest, const char *end)
{
    static const char user[] = "@user";
    if (equals(word, length, "STRCMP"))
        return write_strcmp(out, spec, words, rest, end);
    for (unsigned i = 0; i < spec->parameter_count; i++)
        if (equals(word, length, spec->parameters[i].name))
            return write_parameter(out, spec, i);
    const char *digits = word + 3;
    uint64_t n;
    if (length > 3 && length < 6 && !memcmp(word, "arg", 3) && number_take(&digits, word + length, 10, &n) &&
        digits == word + length) {
        bool is_user = (size_t)(end - *rest) >= strlen(user) && !memcmp(*rest, user, strlen(user));
        if (!n)
            return bcc_fail(spec->text, "arguments are counted from 1: arg1 is the first");
        *rest += is_user ? strlen(user) : 0;
        return write_argument(out, spec, (unsigned)n, is_user);
    }
    if (equals(word, length, "retval") || equals(word, length, "$retval")) {
        text_add(out, "(int64)retval");
        return spec->type == 'r' ? 0
                                 : bcc_fail(spec->text, "retval is there when a function returns: r:%s:%s",
                                            spec->library, spec->function);
    }
    if (*word == '$' && words && words->write(words->state, out, word, length, rest))
        return 0;
    for (size_t i = 0; i < sizeof common_words / sizeof *common_words; i++)
        if (equals(word, length, common_words[i].bcc)) {
            text_add(out, common_words[i].script);
            return 0;
        }
    if (*word == '$')
        return bcc_fail(spec->text, "what is '%.*s'? $pid $tgid $uid $gid $cpu $comm $task are known",
                        (int)length, word);
    text_append(out, word, length);
    return 0;
}

/* Writes a cast to a C type that has another name in the script language: "(size_t)". Returns its length, or 0 if
 * there is none. */
static size_t write_cast(struct text *out, const char *text, size_t length)
{
    size_t end = 1;
    while (end < length && (is_word(text[end]) || text[end] == ' ' || text[end] == '*'))
        end++;
    if (end == length || text[end] != ')')
        return 0;
    if (bcc_is_string_type(text + 1, end - 1))
        return end + 1; /* str() takes any pointer */
    struct text plain = {0};
    plain_type(&plain, text + 1, end - 1);
    size_t used = 0;
    for (size_t i = 0; i < sizeof types / sizeof *types && !used; i++)
        if (!strcmp(text_string(&plain), types[i].c)) {
            text_printf(out, "(%s)", types[i].script);
            used = end + 1;
        }
    text_free(&plain);
    return used;
}

int bcc_expression(struct text *out, const struct bcc_spec *spec, const struct bcc_words *words,
                   const char *text, size_t length)
{
    length = trim(&text, length);
    const char *end = text + length;
    bool is_member = false;
    if (!length)
        return bcc_fail(spec->text, "an expression is missing");
    while (text < end) {
        size_t left = (size_t)(end - text), used = 0;
        if (*text == '"' || *text == '\'') {
            used = literal_end(text, left);
            if (used == 1 || text[used - 1] != *text)
                return bcc_fail(spec->text, "a closing %c is missing", *text);
            text_append(out, text, used);
        } else if (isdigit((unsigned char)*text)) {
            while (used < left && is_word(text[used]))
                used++;
            text_append(out, text, used);
        } else if (is_word(*text) || *text == '$') {
            const char *word = text;
            do
                used++;
            while (used < left && is_word(text[used]));
            if (is_member)
                text_append(out, word, used);
            else {
                const char *rest = text + used;
                if (write_word(out, spec, words, word, used, &rest, end))
                    return 1;
                used = (size_t)(rest - text);
            }
        } else if (*text == '(' && (used = write_cast(out, text, left))) {
            /* the cast has been written */
        } else if (strchr("{};#\n`@", *text)) {
            return bcc_fail(spec->text, "'%c' does not belong into an expression", *text);
        } else {
            used = left > 1 && text[0] == '-' && text[1] == '>' ? 2 : 1;
            text_append(out, text, used);
        }
        if (!isspace((unsigned char)*text))
            is_member = *text == '.' || (used == 2 && text[0] == '-' && text[1] == '>');
        text += used;
    }
    return 0;
}

/* ---- running ---- */

static struct script_part *parts;
static size_t part_count, part_room;

void bcc_begin(const struct text *script, const char *word)
{
    if (vector_make_room(parts, part_count, part_room)) /* without it messages show the script */
        parts[part_count++] = (struct script_part){script->length, word};
}

int bcc_run(struct options *options, const struct text *script, bool shows)
{
    options->parts = parts;
    options->part_count = part_count;
    if (shows) {
        command_write(stdout, text_string(script));
        return 0;
    }
    options->session.is_quiet = true;
    options->session.keep_maps_quiet = true;
    return command_run(options, "script", script);
}

static int count_probe(void *state, const char *name, const char *details)
{
    (void)name, (void)details;
    ++*(int *)state;
    return 0;
}

int bcc_count_probes(struct options *options, const struct text *script)
{
    int count = 0;
    options->parts = parts;
    options->part_count = part_count;
    return command_probes(options, "script", script, count_probe, &count) ? -1 : count;
}
