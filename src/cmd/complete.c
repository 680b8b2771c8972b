/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd/complete.h"

#include <string.h>

#include "base/terminal.h"
#include "cmd/command.h"

void candidates_offer(struct candidates *candidates, const char *text, const char *what)
{
    const char *begun = candidates->word + candidates->kept;
    struct text safe = {0};
    terminal_escape(&safe, text, strlen(text), TERMINAL_NAME);
    if (!strncmp(text, begun, strlen(begun)) && !strpbrk(text, "\t\n") && !strcmp(text_string(&safe), text)) {
        if (candidates->take) {
            candidates->take(candidates, text, what);
        } else {
            text_append(&candidates->out, candidates->word, candidates->kept);
            terminal_print(&candidates->out, what ? "%s\t%s\n" : "%s\n", text, what);
        }
    }
    text_free(&safe);
}

/* ---- options ---- */

static bool is_offered(const struct option_row *row, const char *first_word)
{
    return row->help && row->kind != OPTION_HEADING && row->kind != OPTION_IGNORED &&
           (!row->word || (first_word && !strcmp(row->word, first_word)));
}

/* Offers options; letters only if they have no name. */
static void offer_options(struct candidates *candidates, const struct command_line *line,
                          const char *first_word)
{
    for (size_t i = 0; i < line->row_count; i++) {
        const struct option_row *row = &line->rows[i];
        struct text option = {0};
        if (!is_offered(row, first_word))
            continue;
        if (row->name)
            text_printf(&option, "--%s", row->name);
        else
            text_printf(&option, "-%c", row->letter);
        candidates_offer(candidates, text_string(&option), row->help);
        text_free(&option);
    }
}

/* Offers the words of "text|json|FILE" that begin with a small letter. True: there are others. */
static bool offer_choices(struct candidates *candidates, const char *choices)
{
    bool has_others = false;
    for (const char *at = choices; *at;) {
        const size_t length = strcspn(at, "|");
        struct text word = {0};
        text_append(&word, at, length);
        if (*at >= 'a' && *at <= 'z')
            candidates_offer(candidates, text_string(&word), NULL);
        else
            has_others = true;
        text_free(&word);
        at += length + (at[length] == '|');
    }
    return has_others;
}

/* Offers arguments of an option. candidates->kept bytes of the word are not part of it. */
static void offer_values(struct candidates *candidates, const struct option_row *row)
{
    const char *begun = candidates->word + candidates->kept, *comma = strrchr(begun, ',');
    if (comma && strstr(row->argument, "…")) /* complete the last one of several */
        candidates->kept = (size_t)(comma + 1 - candidates->word);
    if (!strchr(row->argument, '|') || offer_choices(candidates, row->argument))
        complete_values(candidates, row->completes);
}

/* ---- words ---- */

/* What is known from the words before the last one. */
struct typed {
    const struct option_row *awaits; /* the option whose argument comes next; NULL: none's does */
    const char *first;               /* the first word that is no option */
    int count;                       /* how many such words there are */
    enum completion completes;       /* what a flag before them says about them, or COMPLETE_NOTHING */
    bool are_words;                  /* they come after -- */
};

static void pass_option(struct typed *typed, const struct option_row *row, bool has_argument)
{
    if (row && row->argument)
        typed->awaits = has_argument ? NULL : row;
    else if (row && row->completes)
        typed->completes = row->completes;
}

/* Reads the options in "-vp", of which the last one's argument comes next. */
static void pass_letters(struct typed *typed, const struct command_line *line, const char *word)
{
    for (const char *at = word + 1; *at; at++) {
        const char option[] = {'-', *at, 0};
        const struct option_row *row = command_line_row(line, option);
        pass_option(typed, row, at[1]);
        if (row && row->argument)
            break;
    }
}

static void pass_word(struct typed *typed, const struct command_line *line, const char *word)
{
    if (typed->awaits) {
        typed->awaits = NULL;
    } else if (typed->are_words || word[0] != '-' || !word[1]) {
        if (!typed->count++)
            typed->first = word;
    } else if (!strcmp(word, "--")) {
        typed->are_words = true;
    } else if (word[1] != '-') {
        pass_letters(typed, line, word);
    } else if (!strchr(word, '=')) {
        pass_option(typed, command_line_row(line, word), false);
    }
}

static void offer_words(struct candidates *candidates, const struct command_line *line,
                        const struct typed *typed)
{
    if (typed->completes)
        complete_values(candidates, typed->completes);
    /* the parameters of a script are not completed */
    else if (!line->words && (line->completes != COMPLETE_TOOLS || !typed->count))
        complete_values(candidates, line->completes);
    if (!line->words)
        return;
    for (size_t i = 0; line->words[i]; i++)
        if (!typed->count)
            candidates_offer(candidates, line->words[i]->name, line->words[i]->help);
        else if (!strcmp(typed->first, line->words[i]->name))
            complete_values(candidates, line->words[i]->completes);
}

void complete_words(struct candidates *candidates, int count, char **words)
{
    const struct command_line *command = count > 1 ? command_find(words[0]) : NULL;
    const struct command_line *line = command ? command : &spoor_line;
    struct typed typed = {0};
    const char *word = candidates->word = count ? words[count - 1] : "";
    for (int i = command ? 1 : 0; i < count - 1; i++)
        pass_word(&typed, line, words[i]);
    const char *value = strchr(word, '=');
    if (typed.awaits) {
        offer_values(candidates, typed.awaits);
    } else if (typed.are_words || word[0] != '-') {
        offer_words(candidates, line, &typed);
    } else if (word[1] == '-' && value) {
        struct text option = {0};
        text_append(&option, word, (size_t)(value - word));
        const struct option_row *row = command_line_row(line, text_string(&option));
        candidates->kept = (size_t)(value + 1 - word);
        if (row && row->argument)
            offer_values(candidates, row);
        text_free(&option);
    } else {
        offer_options(candidates, line, typed.first);
    }
}
