/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor completion SHELL` prints a script for the shell. That runs `spoor completion candidates` when TAB is
 * pressed, and knows no option itself. */
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/complete.h"

/* bash divides words at = and :, too. The script joins them as they stand in the line, and removes from candidates
 * what bash takes for separate words. */
static const char bash[] =
    "# Completion of spoor for bash, by `spoor completion bash`.\n"
    "_spoor() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} words=() word rest i candidate kept\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]} rest=${line#\"${line%%[![:space:]]*}\"}\n"
    "        if ((i)) && [[ $rest == \"$line\" && -n $line ]]; then\n"
    "            words[${#words[@]} - 1]+=${rest:0:${#word}}\n"
    "        else\n"
    "            words+=(\"${rest:0:${#word}}\")\n"
    "        fi\n"
    "        line=${rest:${#word}}\n"
    "    done\n"
    "    word=${words[${#words[@]} - 1]}\n"
    "    kept=${word%\"${word##*[=:]}\"}\n"
    "    [[ $COMP_WORDBREAKS == *:* && $COMP_WORDBREAKS == *=* ]] || kept=\n"
    "    [[ $word != [\\'\\\"]* ]] || kept=${word:0:1}\n"
    "    local ends=$'][(){} \\t\\n,;!=<>&|+\\'\"'\n"
    "    rest=${word##*[$ends]}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r candidate; do\n"
    "        case $candidate in\n"
    "        :files)\n"
    "            if ((${#COMPREPLY[@]})); then\n"
    "                compopt -o filenames\n"
    "                mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"${word#\"$kept\"}\")\n"
    "            else\n"
    "                compopt -o default\n"
    "            fi\n"
    "            ;;\n"
    "        :directories) compopt -o plusdirs ;;\n"
    "        :commands) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -c -- \"${word#\"$kept\"}\") "
    ";;\n"
    "        :users) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -u -- \"${word#\"$kept\"}\") ;;\n"
    "        *)\n"
    "            candidate=${candidate%%$'\\t'*}\n"
    "            [[ $candidate != *[:,] ]] || compopt -o nospace\n"
    "            COMPREPLY+=(\"${candidate#\"$kept\"}\")\n"
    "            ;;\n"
    "        esac\n"
    "    done < <(spoor completion candidates -- \"${words[@]:1}\" 2>/dev/null)\n"
    "    # Within quotes a single one would end them.\n"
    "    [[ $word != [\\'\\\"]* ]] || ((${#COMPREPLY[@]} != 1)) || COMPREPLY+=(\"$COMPREPLY \")\n"
    "    # A list that is only shown has the last words, and not the program before them each time.\n"
    "    [[ $COMP_TYPE != 63 || $word != [\\'\\\"]* ]] || COMPREPLY=(\"${COMPREPLY[@]#\"${word:1:${#word} - "
    "1 - "
    "${#rest}}\"}\")\n"
    "}\n"
    "complete -F _spoor spoor\n";

static const char zsh[] = "#compdef spoor\n"
                          "# Completion of spoor for zsh, by `spoor completion zsh`.\n"
                          "_spoor() {\n"
                          "    local line\n"
                          "    local -a candidates ends shown\n"
                          "    local -i has_files=0 has_directories=0 has_commands=0 has_users=0\n"
                          "    local word=$PREFIX\n"
                          "    [[ -n $QIPREFIX ]] || word=${(Q)PREFIX}\n"
                          "    for line in \"${(@f)$(spoor completion candidates -- "
                          "\"${(@Q)words[2,CURRENT-1]}\" \"$word\" 2>/dev/null)}\"; do\n"
                          "        case $line in\n"
                          "        '') ;;\n"
                          "        :files) has_files=1 ;;\n"
                          "        :directories) has_directories=1 ;;\n"
                          "        :commands) has_commands=1 ;;\n"
                          "        :users) has_users=1 ;;\n"
                          "        *)\n"
                          "            candidates+=(\"${line%%$'\\t'*}\")\n"
                          "            if [[ $line == *$'\\t'* ]]; then\n"
                          "                shown+=(\"${line%%$'\\t'*}  -- ${line#*$'\\t'}\")\n"
                          "            else\n"
                          "                shown+=(\"$line\")\n"
                          "            fi\n"
                          "            ;;\n"
                          "        esac\n"
                          "    done\n"
                          "    if ((${#candidates})); then\n"
                          "        # An empty suffix: within quotes another one would end them.\n"
                          "        if [[ -n $QIPREFIX || ${candidates[1]} == *[:,] ]]; then\n"
                          "            compadd -S '' -l -d shown -a candidates\n"
                          "        else\n"
                          "            compadd -l -d shown -a candidates\n"
                          "        fi\n"
                          "    fi\n"
                          "    [[ $PREFIX != --*=* ]] || compset -P '*='\n"
                          "    ((!has_files)) || _files\n"
                          "    ((!has_directories)) || _files -/\n"
                          "    ((!has_commands)) || _command_names -e\n"
                          "    ((!has_users)) || _users\n"
                          "}\n"
                          "if [ \"$funcstack[1]\" = _spoor ]; then\n"
                          "    _spoor \"$@\"\n"
                          "else\n"
                          "    compdef _spoor spoor\n"
                          "fi\n";

static const char fish[] =
    "# Completion of spoor for fish, by `spoor completion fish`.\n"
    "function __spoor_candidates\n"
    "    set -l before (commandline -opc)\n"
    "    set -l typed (commandline -ct)\n"
    "    set -l word (string replace -r -- '^[\\'\"]' '' \"$typed\")\n"
    "    test \"$word\" != \"$typed\"; or set word (string unescape -- \"$typed\")\n"
    "    set -l kept (string match -r -- '^--[^=]*=' $word)\n"
    "    set -l rest (string replace -- \"$kept\" '' $word)\n"
    "    set -l lines (spoor completion candidates -- $before[2..-1] \"$word\" 2>/dev/null)\n"
    "    for line in $lines\n"
    "        switch $line\n"
    "            case ':files'\n"
    "                string replace -r -- '^' \"$kept\" (__fish_complete_path $rest)\n"
    "            case ':directories'\n"
    "                string replace -r -- '^' \"$kept\" (__fish_complete_directories $rest)\n"
    "            case ':commands'\n"
    "                string replace -r -- '^' \"$kept\" (complete -C \"$rest\")\n"
    "            case ':users'\n"
    "                string replace -r -- '^' \"$kept\" (__fish_complete_users)\n"
    "            case '*'\n"
    "                printf '%s\\n' $line\n"
    "        end\n"
    "    end\n"
    "    # Within quotes a single one would end them.\n"
    "    if test \"$word\" != \"$typed\" -a (count $lines) = 1\n"
    "        string replace -r -- '(\\t.*)?$' ' $1' $lines\n"
    "    end\n"
    "end\n"
    "complete -c spoor -f -a '(__spoor_candidates)'\n";

static const struct option_row rows[] = {OPTION_ROW_HELP};

static const struct shell {
    struct command_word word;
    const char *script;
} shells[] = {
    {.word = {"bash", "", "a script for bash: source <(spoor completion bash)", .max = 1}, .script = bash},
    {.word = {"zsh", "", "for zsh: source <(spoor completion zsh)", .max = 1}, .script = zsh},
    {.word = {"fish", "", "for fish: spoor completion fish | source", .max = 1}, .script = fish},
    {.word = {"candidates", "-- WORD…",
              "what these scripts ask for: the words that the last one could become", .max = INT32_MAX}},
};
enum { SHELLS = sizeof shells / sizeof *shells };
static const struct command_word *const words[] = {&shells[0].word, &shells[1].word, &shells[2].word,
                                                   &shells[3].word, NULL};
_Static_assert(sizeof words / sizeof *words == SHELLS + 1, "each shell has its word");

static void give_up(int signal)
{
    (void)signal;
    _exit(0);
}

/* What takes long, such as large debug information of a program, is not offered: somebody waits for it. */
static void limit_time(void)
{
    enum { PATIENCE_MS = 500 };
    const struct itimerval once = {.it_value.tv_usec = PATIENCE_MS * 1000};
    signal(SIGALRM, give_up);
    setitimer(ITIMER_REAL, &once, NULL);
}

static int print_candidates(int count, char **typed)
{
    struct candidates candidates = {0};
    limit_time();
    complete_words(&candidates, count, typed);
    command_write(stdout, text_string(&candidates.out));
    text_free(&candidates.out);
    return 0;
}

static int command_completion(int argc, char **argv)
{
    struct command_arguments given;
    int status;
    if (!command_line_parse(&completion_line, argc, argv, NULL, &given, &status))
        return status;
    if (!given.count)
        return command_line_fail(&completion_line, "for which shell? bash, zsh or fish");
    for (size_t i = 0; i < SHELLS; i++) {
        if (strcmp(given.words[0], shells[i].word.name))
            continue;
        if (!shells[i].script)
            return print_candidates(given.count - 1, given.words + 1);
        if (given.count > 1)
            return command_line_fail(&completion_line, "one shell at a time; what is '%s'", given.words[1]);
        command_write(stdout, shells[i].script);
        return 0;
    }
    return command_line_unknown_word(&completion_line, given.words[0]);
}

const struct command_line completion_line = {
    .name = "completion",
    .summary = "a script that completes spoor's arguments in bash, zsh or fish",
    .run = command_completion,
    .usage = "bash|zsh|fish",
    .about = "Prints a script that completes commands, options and their arguments when TAB is pressed.\n",
    COMMAND_ROWS(rows),
    .words = words,
};
