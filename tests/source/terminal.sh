# SPDX-License-Identifier: BSD-3-Clause
# What comes from outside cannot command a terminal: only src/cmd prints, and there only print.c and output.c, whose functions
# know what is a name of others. The rest may print what is written out in the call.
cd "$1/src" || exit 1

bad=0
printing='(^|[^A-Za-z0-9_>.])(v?f?printf|v?dprintf|puts|fputs|putchar|putc|fputc|fwrite|perror|psignal|error|warnx?|errx?|getopt_long)\('
while IFS=: read -r file line text; do
    case $file in
    cmd/print.c | cmd/output.c) ;;
    recorder/*) ;; # of the program that records
    builtin/skb.c) [[ $text == *fwrite* ]] && continue ;;& # a file of packets
    *) echo "src/$file:$line: prints past command_print() and command_say(): $text" && bad=1 ;;
    esac
done < <(grep -rnE "$printing" --include='*.c' * | grep -vE '^[^:]*:[0-9]*: *(/?\*|")|fputs\("' |
    while IFS= read -r hit; do sed -E 's/"([^"\\]|\\.)*"/""/g' <<<"$hit" | grep -E "$printing"; done)
grep -qE "$printing" cmd/print.c || { echo "no printing was found: this check must follow the source" && bad=1; }
exit $bad
