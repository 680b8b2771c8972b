/* SPDX-License-Identifier: BSD-3-Clause */
/* The parser of all commands' arguments. Options and words may come in any order; "--" ends the options, "-" is a word. */
#include "cmd/command_line.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/diagnostic.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cmd/command.h"
#include "base/number.h"

enum { NAME_MAX_SHOWN = 64 };

int command_line_fail(const struct command_line *line, const char *format, ...)
{
    struct text text = {0};
    va_list arguments;
    va_start(arguments, format);
    terminal_vprint(&text, format, arguments);
    va_end(arguments);
    command_print(stderr, "ERROR: %s\n", text_string(&text));
    text_free(&text);
    if (line->name)
        command_print(stderr, "HINT: spoor %s -h lists the %s\n", line->name,
                      line->words ? "commands" : "options");
    else
        command_print(stderr, "HINT: spoor --help lists the options\n");
    return 1;
}

int command_line_append(const char *const **list, const char *item)
{
    size_t count = 0;
    while (*list && (*list)[count])
        count++;
    const char **longer = realloc((void *)*list, (count + 2) * sizeof *longer);
    if (!longer)
        return -ENOMEM;
    longer[count] = item;
    longer[count + 1] = NULL;
    *list = longer;
    return 0;
}

/* ---- which option ---- */

static bool has_name(const struct option_row *row, const char *name, size_t length)
{
    return row->name && !strncmp(row->name, name, length) && !row->name[length];
}

static const struct option_row *row_with_letter(const struct command_line *line, char letter)
{
    for (size_t i = 0; i < line->row_count; i++)
        if (letter && line->rows[i].letter == letter)
            return &line->rows[i];
    return NULL;
}

/* Returns the row of this name, or the only one whose name begins with it. *other: a second one whose name does. */
static const struct option_row *row_with_name(const struct command_line *line, const char *name,
                                              size_t length, const struct option_row **other)
{
    const struct option_row *found = NULL;
    *other = NULL;
    for (size_t i = 0; i < line->row_count; i++) {
        const struct option_row *row = &line->rows[i];
        if (has_name(row, name, length)) {
            *other = NULL;
            return row;
        }
        if (!row->name || !length || strncmp(row->name, name, length) != 0)
            continue;
        if (found)
            *other = row;
        else
            found = row;
    }
    return found;
}

const struct option_row *command_line_row(const struct command_line *line, const char *option)
{
    const struct option_row *other;
    if (!strncmp(option, "--", 2)) {
        const struct option_row *row = row_with_name(line, option + 2, strlen(option + 2), &other);
        return row && has_name(row, option + 2, strlen(option + 2)) ? row : NULL;
    }
    return row_with_letter(line, option[1]);
}

bool command_line_has(const struct command_arguments *arguments, const char *option)
{
    const struct option_row *row = command_line_row(arguments->line, option);
    return row && arguments->given[row - arguments->line->rows];
}

static int report_unknown(const struct command_line *line, const char *option)
{
    char word[NAME_MAX_SHOWN];
    const char *name = option + strspn(option, "-");
    snprintf(word, sizeof word, "%.*s", (int)strcspn(name, "="), name);
    struct nearest nearest = {.name = word};
    for (size_t i = 0; i < line->row_count; i++)
        if (line->rows[i].name && line->rows[i].kind != OPTION_REFUSED)
            nearest_offer(&nearest, line->rows[i].name);
    if (!nearest.best || strncmp(option, "--", 2) != 0)
        return command_line_fail(line, "unknown option '%s'", option);
    command_print(stderr, "ERROR: unknown option '%s'\nHINT: did you mean --%s?\n", option, nearest.best);
    return 1;
}

int command_line_unknown_word(const struct command_line *line, const char *word)
{
    struct nearest nearest = {.name = word};
    for (size_t i = 0; line->words[i]; i++)
        nearest_offer(&nearest, line->words[i]->name);
    if (!nearest.best)
        return command_line_fail(line, "there is no command '%s'", word);
    command_print(stderr, "ERROR: there is no command '%s'\nHINT: did you mean 'spoor %s %s'?\n", word,
                  line->name, nearest.best);
    return 1;
}

/* ---- its argument ---- */

/* Writes "ast, types or bpf" for "ast|types|bpf". */
static void write_words(struct text *text, const char *words, char separator)
{
    while (*words) {
        size_t length = strcspn(words, (char[]){separator, 0});
        text_append(text, words, length);
        words += length;
        if (!*words)
            break;
        words++;
        text_add(text, strchr(words, separator) ? ", " : " or ");
    }
}

/* Reports what an option takes, and what it was given. Returns 1. */
static int report_wrong(const struct option_value *value)
{
    const struct option_row *row = value->row;
    struct text takes = {0};
    if (row->takes)
        text_add(&takes, row->takes);
    else
        switch (row->kind) {
        case OPTION_NUMBER:
            text_printf(&takes, row->max ? "a number from %llu to %llu" : "a number",
                        (unsigned long long)row->min, (unsigned long long)row->max);
            break;
        case OPTION_SIZE: text_add(&takes, "a number of bytes, which may end in K, M or G"); break;
        case OPTION_DURATION: text_add(&takes, "a time, such as 10s or 5m"); break;
        case OPTION_MOMENT:
            text_add(&takes, "microseconds since the beginning, or a time with a unit (1.5ms, 2s)");
            break;
        case OPTION_CHOICE: write_words(&takes, row->argument, '|'); break;
        default: text_add(&takes, row->argument); break;
        }
    command_line_fail(value->line, "%s takes %s, not '%s'", value->option, text_string(&takes), value->text);
    text_free(&takes);
    return 1;
}

/* Finds which of the words "kernel|vm" a text is. False: none. */
static bool find_choice(const char *words, const char *text, uint64_t *number)
{
    size_t length = strlen(text);
    for (*number = 0;; ++*number) {
        size_t used = strcspn(words, "|");
        if (used == length && !memcmp(words, text, length))
            return true;
        if (!words[used])
            return false;
        words += used + 1;
    }
}

static bool read_argument(struct option_value *value)
{
    const struct option_row *row = value->row;
    switch (row->kind) {
    case OPTION_NUMBER:
        return number_parse(value->text, &value->number) && value->number >= row->min &&
               (!row->max || value->number <= row->max);
    case OPTION_SIZE: return size_parse(value->text, &value->number);
    case OPTION_DURATION:
        return time_parse(value->text, NSEC_PER_SEC, &value->number) && value->number &&
               value->number >= row->min && (!row->max || value->number <= row->max);
    case OPTION_MOMENT: return time_parse(value->text, NSEC_PER_USEC, &value->number);
    case OPTION_CHOICE: return find_choice(row->argument, value->text, &value->number);
    default: return true;
    }
}

static void store_number(void *at, size_t size, uint64_t number)
{
    switch (size) {
    case sizeof(uint8_t): *(uint8_t *)at = (uint8_t)number; break;
    case sizeof(uint32_t): *(uint32_t *)at = (uint32_t)number; break;
    default: *(uint64_t *)at = number; break;
    }
}

static int store(void *target, const struct option_value *value)
{
    void *at = (char *)target + value->row->offset;
    switch (value->row->kind) {
    case OPTION_FLAG: *(bool *)at = true; return 0;
    case OPTION_COUNT: ++*(unsigned *)at; return 0;
    case OPTION_TEXT: *(const char **)at = value->text; return 0;
    case OPTION_LIST:
        return command_line_append(at, value->text)
                   ? command_line_fail(value->line, "no memory for '%s'", value->text)
                   : 0;
    default: store_number(at, value->row->size, value->number); return 0;
    }
}

/* Warns of a duration below a millisecond, whose unit was probably forgotten, or mistaken. */
static void warn_of_short(const struct option_value *value)
{
    if (value->row->kind == OPTION_DURATION && value->number < NSEC_PER_MSEC)
        command_print(stderr, "WARNING: %s %s is less than a millisecond: was that meant?\n", value->option,
                      value->text);
}

static int apply(void *target, struct option_value *value)
{
    const struct option_row *row = value->row;
    if (row->kind == OPTION_REFUSED) {
        command_print(stderr, "ERROR: %s is not offered: %s\n", value->option, row->takes);
        return 1;
    }
    if (!read_argument(value))
        return report_wrong(value);
    warn_of_short(value);
    int status = row->size ? store(target, value) : 0;
    if (!status && row->set)
        status = row->set(target, value);
    return status == OPTION_WRONG ? report_wrong(value) : status;
}

/* ---- one argument after another ---- */

struct reader {
    const struct command_line *line;
    char **argv;
    int argc, next;
    void *target;
    struct command_arguments *arguments;
    bool behind; /* words that come now count as such */
};
enum { READ_HELP = 2 };

/* Reads one option. attached: what follows the option in the same word, or NULL. */
static int read_option(struct reader *reader, const struct option_row *row, const char *option,
                       const char *attached)
{
    struct option_value value = {.line = reader->line, .row = row, .option = option, .text = attached};
    if (row->kind == OPTION_HELP)
        return READ_HELP;
    if (!row->argument && attached && row->kind != OPTION_REFUSED)
        return command_line_fail(reader->line, "option '%s' takes no argument, found '%s'", option, attached);
    if (row->argument && !attached) {
        if (reader->next == reader->argc)
            return command_line_fail(reader->line, "option '%s' needs an argument: %s", option,
                                     row->argument);
        value.text = reader->argv[reader->next++];
    }
    reader->arguments->given[row - reader->line->rows] = true;
    const int status = apply(reader->target, &value);
    if (!status && reader->line->taken)
        reader->line->taken(reader->target, &value);
    return status;
}

/* A word goes to the place of an argument that has been read. */
static void add_word(struct reader *reader, char *word)
{
    struct command_arguments *arguments = reader->arguments;
    arguments->words[arguments->count++] = word;
    arguments->behind += reader->behind;
}

static bool keeps_unknown(const struct reader *reader)
{
    const struct command_line *line = reader->line;
    return line->keeps_unknown && reader->arguments->count &&
           line->keeps_unknown(reader->target, reader->arguments->words[0]);
}

/* Reads --name or --name=value. */
static int read_long(struct reader *reader, char *word)
{
    const struct option_row *other;
    const size_t length = strcspn(word + 2, "=");
    const struct option_row *row = row_with_name(reader->line, word + 2, length, &other);
    char option[NAME_MAX_SHOWN];
    if (!row && keeps_unknown(reader)) {
        reader->behind = true;
        add_word(reader, word);
        return 0;
    }
    if (!row)
        return report_unknown(reader->line, word);
    if (other)
        return command_line_fail(reader->line, "option '%s' may be --%s or --%s", word, row->name,
                                 other->name);
    snprintf(option, sizeof option, "--%s", row->name);
    return read_option(reader, row, option, word[2 + length] ? word + 2 + length + 1 : NULL);
}

/* Reads options in one word: -v, -vq, -p12, -vp 12. */
static int read_short(struct reader *reader, const char *word)
{
    int status = 0;
    for (const char *at = word + 1; *at && !status; at++) {
        const char option[] = {'-', *at, 0};
        const struct option_row *row = row_with_letter(reader->line, *at);
        if (!row)
            return report_unknown(reader->line, at == word + 1 && !at[1] ? option : word);
        const bool takes_rest = row->argument && at[1];
        status = read_option(reader, row, option, takes_rest ? at + 1 : NULL);
        if (takes_rest)
            break;
    }
    return status;
}

static int read_all(struct reader *reader)
{
    bool are_words = false; /* all arguments that follow are words */
    int status = 0;
    while (!status && reader->next < reader->argc) {
        char *word = reader->argv[reader->next++];
        if (are_words || word[0] != '-' || !word[1]) {
            add_word(reader, word);
        } else if (!strcmp(word, "--")) {
            are_words = reader->behind = true;
        } else {
            status = word[1] == '-' ? read_long(reader, word) : read_short(reader, word);
        }
    }
    return status;
}

/* ---- what goes together ---- */

/* Whether one of several options was given: "-T -t". */
static bool has_any(const struct command_arguments *arguments, const char *options)
{
    for (const char *at = options; *at;) {
        char option[NAME_MAX_SHOWN];
        size_t length = strcspn(at, " ");
        snprintf(option, sizeof option, "%.*s", (int)length, at);
        if (command_line_has(arguments, option))
            return true;
        at += length + (at[length] == ' ');
    }
    return false;
}

static int check_rule(const struct command_arguments *arguments, const struct option_rule *rule)
{
    const bool needs = rule->relation == OPTION_NEEDS;
    if (!command_line_has(arguments, rule->option) || has_any(arguments, rule->others) == needs)
        return 0;
    struct text others = {0};
    write_words(&others, rule->others, ' ');
    const char *names = text_string(&others);
    if (rule->why)
        command_line_fail(arguments->line, "%s %s: %s %s", rule->option, rule->why,
                          needs ? "give" : "not with", names);
    else if (needs)
        command_line_fail(arguments->line, "%s needs %s", rule->option, names);
    else
        command_line_fail(arguments->line, "%s and %s: only one of them", rule->option, names);
    text_free(&others);
    return 1;
}

/* Checks options that go with only one word of the command. */
static int check_words(const struct command_arguments *arguments)
{
    const struct command_line *line = arguments->line;
    const char *word = arguments->count ? arguments->words[0] : line->words ? line->words[0]->name : "";
    for (size_t i = 0; i < line->row_count; i++) {
        const struct option_row *row = &line->rows[i];
        const char letter[] = {row->letter, 0};
        if (arguments->given[i] && row->word && strcmp(row->word, word) != 0)
            return command_line_fail(line, "%s%s goes with %s, not with %s", row->name ? "--" : "-",
                                     row->name ? row->name : letter, row->word, word);
    }
    return 0;
}

bool command_line_parse(const struct command_line *line, int argc, char **argv, void *target,
                        struct command_arguments *arguments, int *status)
{
    *arguments = (struct command_arguments){.line = line, .words = argv + 1};
    struct reader reader = {
        .line = line, .argv = argv, .argc = argc, .next = 1, .target = target, .arguments = arguments};
    *status = read_all(&reader);
    if (*status == READ_HELP) {
        command_line_help(line, stdout);
        *status = 0;
        return false;
    }
    for (size_t i = 0; i < line->rule_count && !*status; i++)
        *status = check_rule(arguments, &line->rules[i]);
    if (!*status)
        *status = check_words(arguments);
    return !*status;
}
