# SPDX-License-Identifier: BSD-3-Clause
# What comes from outside cannot command a terminal: only src/cmd prints, and there only print.c and output.c, whose functions
# know what is a name of others. The rest may print what is written out in the call, and the texts of --help.
cd "$1/src" || exit 1

bad=0
printing='(^|[^A-Za-z0-9_>.])(v?f?printf|v?dprintf|puts|fputs|putchar|putc|fputc|fwrite|perror|psignal|error|warnx?|errx?|getopt_long)\('
while IFS=: read -r file line text; do
    case $file in
    cmd/print.c | cmd/output.c) ;;
    recorder/*) ;; # of the program that records
    builtin/skb.c) [[ $text == *fwrite* ]] && continue ;;& # a file of packets
    cmd/options.c) [[ $text == *"getopt_long(argc, argv, letters, names, NULL)"* ]] && continue ;;& # see below
    *) echo "src/$file:$line: prints past command_print() and command_say(): $text" && bad=1 ;;
    esac
done < <(grep -nE "$printing" */*.c | grep -vE '^[^:]*:[0-9]*: *(/?\*|")|fputs\(("|help, )' |
    while IFS= read -r hit; do sed -E 's/"([^"\\]|\\.)*"/""/g' <<<"$hit" | grep -E "$printing"; done)
# getopt_long() says nothing itself where its letters begin with a colon.
grep -qF 'letters[2 * LINES + 2] = ":"' cmd/options.c || { echo "src/cmd/options.c: getopt_long() prints what it is given" && bad=1; }
grep -qE "$printing" cmd/print.c || { echo "no printing was found: this check must follow the source" && bad=1; }
exit $bad
