/* SPDX-License-Identifier: BSD-3-Clause */
#include "session/settings.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "bpf/features.h"
#include "lang/ast.h"
#include "probe/kind.h"

enum setting_kind {
    SETTING_NUMBER, /* least … most */
    SETTING_SIZE,   /* bytes, with a K, M or G behind them if they are a text */
    SETTING_BOOL,
    SETTING_WORD, /* the index of one of `words` */
    SETTING_TEXT,
    SETTING_NOTHING, /* accepted for scripts that set it, without an effect: a bool */
};

static const char *const missing_words[] = {"error", "warn", "ignore", NULL};
static const char *const mode_words[] = {"bpftrace", "perf", "raw", "build_id",
                                         NULL}; /* in the order of enum stack_mode */
static const char *const histogram_words[] = {"bpftrace", "bcc", NULL};
static const char *const order_words[] = {"value", "key", NULL};
static const char *const json_enum_words[] = {"number", "name", NULL};
static const char *const json_stack_words[] = {"frames", "text", NULL};
static const char *const unstable_words[] = {"enable", "warn", "error",
                                             NULL}; /* in the order of enum unstable_policy */
static const char *const cache_words[] = {"PER_PID", "PER_PROGRAM", "NONE", "1", "0", NULL};

#define AT(field) offsetof(struct settings, field)
static const struct setting_line {
    const char *key;
    enum setting_kind kind;
    size_t offset; /* of the member of struct settings; SIZE_MAX: the value is checked and not kept */
    uint32_t least, most, fallback;
    const char *const *words;
    const char *text;        /* the default of a TEXT */
    const char *alternative; /* a word that a NUMBER may be as well; then the default */
} lines[] = {
    {"max_strlen", SETTING_NUMBER, AT(max_strlen), 1, 16384, 1024, NULL, NULL, NULL},
    {"max_map_keys", SETTING_NUMBER, AT(max_map_keys), 1, 16 << 20, 4096, NULL, NULL, NULL},
    {"max_cat_bytes", SETTING_NUMBER, AT(max_cat_bytes), 1, 1 << 30, 10240, NULL, NULL, NULL},
    {"max_probes", SETTING_NUMBER, AT(max_probes), 1, 1 << 30, 1 << 19, NULL, NULL, NULL},
    {"max_bpf_progs", SETTING_NUMBER, AT(max_bpf_progs), 1, 1 << 20, 1024, NULL, NULL, NULL},
    {"log_size", SETTING_NUMBER, AT(log_size), 0, 1 << 28, 1000000, NULL, NULL, NULL},
    {"perf_rb_pages", SETTING_NUMBER, AT(ring_pages), 1, 1 << 18, 0, NULL, NULL, "auto"},
    {"on_stack_limit", SETTING_NUMBER, AT(on_stack_limit), 0, 512, 64, NULL, NULL, NULL},
    {"missing_probes", SETTING_WORD, AT(missing_probes), 0, 0, MISSING_ERROR, missing_words, NULL, NULL},
    {"stack_mode", SETTING_WORD, AT(stack_mode), 0, 0, STACK_BPFTRACE, mode_words, NULL, NULL},
    {"histogram", SETTING_WORD, AT(histogram), 0, 0, 0, histogram_words, NULL, NULL},
    {"map_order", SETTING_WORD, AT(map_order), 0, 0, 0, order_words, NULL, NULL},
    {"json_enums", SETTING_WORD, AT(json_enums), 0, 0, 0, json_enum_words, NULL, NULL},
    {"json_stacks", SETTING_WORD, AT(json_stacks), 0, 0, 0, json_stack_words, NULL, NULL},
    {"print_maps_on_exit", SETTING_BOOL, AT(print_maps_on_exit), 0, 0, true, NULL, NULL, NULL},
    {"cpp_demangle", SETTING_BOOL, AT(cpp_demangle), 0, 0, true, NULL, NULL, NULL},
    {"show_debug_info", SETTING_BOOL, AT(show_debug_info), 0, 0, true, NULL, NULL, NULL},
    {"license", SETTING_TEXT, AT(license), 0, 0, 0, NULL, "GPL", NULL},
    {"str_trunc_trailer", SETTING_TEXT, AT(str_trunc_trailer), 0, 0, 0, NULL, "..", NULL},
    {"max_memory", SETTING_SIZE, AT(max_memory), 0, 0, 0, NULL, NULL, NULL},
    {"max_cpu", SETTING_NUMBER, AT(max_cpu), 1, 100000, 0, NULL, NULL, NULL},
    {"metric_prefix", SETTING_TEXT, AT(metric_prefix), 0, 0, 0, NULL, "", NULL},
    {"labels", SETTING_TEXT, AT(labels), 0, 0, 0, NULL, "", NULL},
    {"metrics", SETTING_TEXT, AT(metrics), 0, 0, 0, NULL, "", NULL},
    /* Symbols are looked up once, when they are printed, and kept. */
    {"cache_user_symbols", SETTING_WORD, SIZE_MAX, 0, 0, 0, cache_words, NULL, NULL},
    {"lazy_symbolication", SETTING_NOTHING, SIZE_MAX, 0, 0, 0, NULL, NULL, NULL},
    {"use_blazesym", SETTING_NOTHING, SIZE_MAX, 0, 0, 0, NULL, NULL, NULL},
    /* These are stable in spoor and enabled, unless the user sets something else. */
    {"unstable_tseries", SETTING_WORD, AT(unstable_tseries), 0, 0, UNSTABLE_ENABLE, unstable_words, NULL,
     NULL},
    {"unstable_typeinfo", SETTING_WORD, AT(unstable_typeinfo), 0, 0, UNSTABLE_ENABLE, unstable_words, NULL,
     NULL},
    {"unstable_dw_ustack", SETTING_WORD, AT(unstable_dw_ustack), 0, 0, UNSTABLE_ENABLE, unstable_words, NULL,
     NULL},
    /* bpftrace has called these stable for some releases. */
    {"unstable_macro", SETTING_WORD, SIZE_MAX, 0, 0, 0, unstable_words, NULL, NULL},
    {"unstable_map_decl", SETTING_WORD, SIZE_MAX, 0, 0, 0, unstable_words, NULL, NULL},
    {"unstable_import", SETTING_WORD, SIZE_MAX, 0, 0, 0, unstable_words, NULL, NULL},
    {"unstable_addr", SETTING_WORD, SIZE_MAX, 0, 0, 0, unstable_words, NULL, NULL},
};
#undef AT
enum { LINES = sizeof lines / sizeof lines[0] };
_Static_assert(LINES <= 64, "settings.given has a bit for each line");

static const struct {
    const char *old, *now;
} renamed[] = {
    {"strlen", "max_strlen"},
    {"map_keys_max", "max_map_keys"},
    {"cat_bytes_max", "max_cat_bytes"},
    {"no_cpp_demangle", "cpp_demangle"},
};

static const char *const environment_only[] = {"btf",   "kernel_build", "kernel_source", "vmlinux",
                                               "color", "debug_output", "max_ast_nodes"};

/* ---- values ---- */

static bool as_number(const struct setting_line *line, const char *value, uint32_t *number)
{
    if (line->alternative && !strcmp(value, line->alternative)) {
        *number = line->fallback;
        return true;
    }
    uint64_t wide;
    if (literal_parse(value, strlen(value), 0, &wide) != LITERAL_FITS)
        return false;
    *number = wide > UINT32_MAX ? UINT32_MAX : (uint32_t)wide;
    return true;
}

static bool as_bool(const char *value, bool *result)
{
    static const char *const words[] = {"false", "true", "0", "1", "off", "on", "no", "yes"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strcasecmp(value, words[i])) {
            *result = i % 2;
            return true;
        }
    return false;
}

static void add_words(struct text *out, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        text_printf(out, "%s%s", i ? ", " : "", words[i]);
}

/* Stores a value in its member. shown: the key as it was written. */
static bool set(struct settings *settings, const struct setting_line *line, const char *value,
                const char *shown, struct span span, struct diagnostics *diagnostics)
{
    char *to = line->offset == SIZE_MAX ? NULL : (char *)settings + line->offset;
    uint32_t number = 0;
    bool is_on = false;
    switch (line->kind) {
    case SETTING_NUMBER:
        if (!as_number(line, value, &number)) {
            diagnose_error(diagnostics, span, "%s: expecting a number, got %s", shown, value);
            return false;
        }
        if (line->alternative && !strcmp(value, line->alternative))
            break;
        if (number < line->least || number > line->most) {
            diagnose_error(diagnostics, span, "%s: expecting a number from %u to %u, got %s", shown,
                           line->least, line->most, value);
            return false;
        }
        break;
    case SETTING_SIZE:
        if (size_parse(value, (uint64_t *)to))
            return true;
        diagnose_error(diagnostics, span, "%s: expecting a number of bytes, got %s", shown, value);
        diagnose_hint(diagnostics, "it may be a text that ends in K, M or G, such as \"64M\"");
        return false;
    case SETTING_NOTHING:
    case SETTING_BOOL:
        if (!as_bool(value, &is_on)) {
            diagnose_error(diagnostics, span, "%s: expecting a boolean, got %s", shown, value);
            diagnose_hint(diagnostics, "true, 1, on and yes; false, 0, off and no");
            return false;
        }
        if (to)
            *(bool *)to = is_on;
        return true;
    case SETTING_WORD:
        while (line->words[number] && strcmp(line->words[number], value) != 0)
            number++;
        if (!line->words[number]) {
            struct text all = {0};
            add_words(&all, line->words);
            diagnose_error(diagnostics, span, "%s: not a valid value: %s", shown, value);
            diagnose_hint(diagnostics, "valid values are %s", text_string(&all));
            text_free(&all);
            return false;
        }
        break;
    case SETTING_TEXT: *(const char **)to = value; return true;
    }
    if (to)
        *(uint32_t *)to = number;
    return true;
}

static bool settings_given(const struct settings *settings, const char *key)
{
    for (size_t i = 0; i < LINES; i++)
        if (!strcmp(lines[i].key, key))
            return settings->given & 1ull << i;
    return false;
}

void settings_defaults(struct settings *settings)
{
    for (size_t i = 0; i < LINES; i++) {
        if (lines[i].offset == SIZE_MAX || settings->given & 1ull << i)
            continue;
        char *to = (char *)settings + lines[i].offset;
        if (lines[i].kind == SETTING_TEXT)
            *(const char **)to = lines[i].text;
        else if (lines[i].kind == SETTING_BOOL)
            *(bool *)to = lines[i].fallback;
        else if (lines[i].kind == SETTING_SIZE)
            *(uint64_t *)to = lines[i].fallback;
        else
            *(uint32_t *)to = lines[i].fallback;
    }
}

/* Two strings and some numbers fit into 512 bytes. */
enum { SHORT_STRING = 240 };

void settings_shorten_keys(struct settings *settings, const struct features *features)
{
    if (!features->long_keys && settings->max_strlen > SHORT_STRING &&
        !settings_given(settings, "max_strlen"))
        settings->max_strlen = SHORT_STRING;
}

/* ---- the environment ---- */

static bool environment_set(struct settings *settings, size_t number, const char *prefix,
                            struct diagnostics *diagnostics)
{
    char name[64];
    size_t length = (size_t)snprintf(name, sizeof name, "%s", prefix);
    for (const char *key = lines[number].key; *key && length + 1 < sizeof name; key++)
        name[length++] = *key >= 'a' && *key <= 'z' ? (char)(*key - 'a' + 'A') : *key;
    name[length] = 0;
    const char *value = getenv(name);
    if (!value)
        return false;
    set(settings, &lines[number], value, name, (struct span){0}, diagnostics);
    settings->given |= 1ull << number;
    return true;
}

bool settings_from_environment(struct settings *settings, struct diagnostics *diagnostics)
{
    size_t errors = diagnostics->errors;
    settings_defaults(settings);
    for (size_t i = 0; i < LINES; i++)
        if (!environment_set(settings, i, "SPOOR_", diagnostics))
            environment_set(settings, i, "BPFTRACE_", diagnostics);
    return diagnostics->errors == errors;
}

/* ---- the script ---- */

/* A key is taken with and without its prefix, in any case. */
static const char *bare_key(const char *key)
{
    static const char *const prefixes[] = {"bpftrace_", "spoor_"};
    for (size_t i = 0; i < 2; i++)
        if (!strncasecmp(key, prefixes[i], strlen(prefixes[i])))
            return key + strlen(prefixes[i]);
    return key;
}

static void unknown_key(const struct setting *setting, const char *key, struct diagnostics *diagnostics)
{
    for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++)
        if (!strcasecmp(key, renamed[i].old)) {
            diagnose_error(diagnostics, setting->span, "%s: key has been renamed to %s", setting->key,
                           renamed[i].now);
            return;
        }
    for (size_t i = 0; i < sizeof environment_only / sizeof environment_only[0]; i++)
        if (!strcasecmp(key, environment_only[i])) {
            diagnose_error(diagnostics, setting->span, "%s: can only be set as an environment variable",
                           setting->key);
            return;
        }
    diagnose_error(diagnostics, setting->span, "%s: not a known configuration option", setting->key);
    struct nearest nearest = {.name = key};
    for (size_t i = 0; i < LINES; i++)
        nearest_offer(&nearest, lines[i].key);
    if (nearest.best)
        diagnose_nearest(diagnostics, &nearest, "");
}

void settings_from_script(struct settings *settings, const struct script *script,
                          struct diagnostics *diagnostics)
{
    for (const struct setting *setting = script->settings; setting; setting = setting->next) {
        const char *key = bare_key(setting->key);
        size_t number = 0;
        while (number < LINES && strcasecmp(lines[number].key, key) != 0)
            number++;
        if (number == LINES) {
            unknown_key(setting, key, diagnostics);
            continue;
        }
        /* What the environment set stays, but a wrong value in the script is reported all the same. */
        struct settings unused = {0};
        bool is_given = settings->given & 1ull << number;
        set(is_given ? &unused : settings, &lines[number], setting->value, setting->key, setting->span,
            diagnostics);
    }
}

/* ---- config.key ---- */

struct reading {
    struct diagnostics *diagnostics;
    const struct settings *settings;
};

static void become(struct node *node, const struct setting_line *line, const struct settings *settings)
{
    const char *from = (const char *)settings + line->offset;
    const char *text = line->kind == SETTING_TEXT   ? *(const char *const *)from
                       : line->kind == SETTING_WORD ? line->words[*(const uint32_t *)from]
                                                    : NULL;
    if (text) {
        node->kind = NODE_STRING;
        node->string.text = text;
        node->string.length = strlen(text);
        return;
    }
    node->kind = line->kind == SETTING_BOOL ? NODE_BOOL : NODE_INTEGER;
    memset(&node->integer, 0, sizeof node->integer);
    node->integer.value = line->kind == SETTING_BOOL ? *(const bool *)from : *(const uint32_t *)from;
}

/* config or config(), and what they stand for. */
static bool is_config(const struct node *node)
{
    const char *name = node->kind == NODE_NAME                                  ? node->name.name
                       : node->kind == NODE_CALL && !node->call.arguments.count ? node->call.name
                                                                                : "";
    return !strcmp(name, "config") || !strcmp(name, "__builtin_config");
}

static bool read_setting(struct node *node, void *state)
{
    struct reading *reading = state;
    if (node->kind != NODE_FIELD || !node->field.name || !is_config(node->field.object))
        return true;
    struct nearest nearest = {.name = node->field.name};
    for (size_t i = 0; i < LINES; i++) {
        if (lines[i].offset == SIZE_MAX)
            continue; /* it is accepted and has no value */
        nearest_offer(&nearest, lines[i].key);
        if (strcmp(lines[i].key, node->field.name) != 0)
            continue;
        become(node, &lines[i], reading->settings);
        return false;
    }
    diagnose_error(reading->diagnostics, node->span, "%s: not a known configuration option",
                   node->field.name);
    if (nearest.best)
        diagnose_nearest(reading->diagnostics, &nearest, "");
    return false;
}

void settings_read(struct diagnostics *diagnostics, const struct settings *settings, struct script *script)
{
    struct reading reading = {diagnostics, settings};
    for (struct action_block *block = script->blocks; block; block = block->next) {
        node_walk(block->predicate, read_setting, &reading);
        node_walk(block->body, read_setting, &reading);
    }
    for (struct subprogram *subprogram = script->subprograms; subprogram; subprogram = subprogram->next)
        node_walk(subprogram->body, read_setting, &reading);
}

/* ---- what is called unstable ---- */

struct unstable {
    struct diagnostics *diagnostics;
    const struct settings *settings;
    unsigned warned; /* a bit for each feature that was warned of */
};

static bool is_use(const struct node *node, const char *feature)
{
    switch (node->kind) {
    case NODE_TYPEINFO: return !strcmp(feature, "typeinfo");
    case NODE_CALL: return !strcmp(feature, node->call.name);
    case NODE_NAME: return node->name.name && !strcmp(feature, node->name.name);
    default: return false;
    }
}

static bool check_use(struct node *node, void *state)
{
    struct unstable *unstable = state;
    const struct settings *settings = unstable->settings;
    const struct {
        const char *name;
        uint32_t policy;
    } features[] = {{"tseries", settings->unstable_tseries},
                    {"typeinfo", settings->unstable_typeinfo},
                    {"dw_ustack", settings->unstable_dw_ustack}};
    for (unsigned i = 0; i < sizeof features / sizeof features[0]; i++) {
        const char *name = features[i].name;
        if (features[i].policy == UNSTABLE_ENABLE || !is_use(node, name))
            continue;
        if (features[i].policy == UNSTABLE_ERROR)
            diagnose_error(unstable->diagnostics, node->span,
                           "%s feature is not enabled by default. To enable this unstable feature, set the "
                           "config flag to enable. unstable_%s=enable",
                           name, name);
        else if (!(unstable->warned & 1u << i))
            diagnose_warning(unstable->diagnostics, (struct span){0},
                             "Script is using an unstable feature: %s. To prevent this warning you must "
                             "explicitly enable it in the config e.g. unstable_%s=enable",
                             name, name);
        unstable->warned |= 1u << i;
    }
    return true;
}

void settings_check_unstable(struct diagnostics *diagnostics, const struct settings *settings,
                             struct script *script)
{
    struct unstable unstable = {diagnostics, settings, 0};
    for (struct action_block *block = script->blocks; block; block = block->next) {
        node_walk(block->predicate, check_use, &unstable);
        node_walk(block->body, check_use, &unstable);
    }
    for (struct subprogram *subprogram = script->subprograms; subprogram; subprogram = subprogram->next)
        node_walk(subprogram->body, check_use, &unstable);
}
