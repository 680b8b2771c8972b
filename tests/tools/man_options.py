# SPDX-License-Identifier: BSD-3-Clause
"""The commands' tables, as --help prints them, against what the manual pages and the documents say: man_options.py ROOT SPOOR.

In a page an option is a head in the section OPTIONS: "-p, --pid PID" in man(7), ".It Fl p , Fl \\-pid Ar pid" in mdoc(7). Each option of
the table must have one, with its letter, its name and its argument; and each head must be in the table.
"""
import glob, os, re, shlex, subprocess, sys

root, spoor = sys.argv[1:3]
failed = False


def complain(text):
    global failed
    failed = True
    print(text)


def helped(*command):
    return subprocess.run([spoor, *command], stdout=subprocess.PIPE, text=True, check=True).stdout


def plain(argument):
    """As in the table, however the page writes it: in capitals, without spaces."""
    return re.sub(r"\s+", "", argument).replace("...", "…").upper()


def table(*command):
    """{option: argument} of each letter and name."""
    options = {}
    for letter, name, rest in re.findall(r"^  (?:(-.)(?:, )?|    )(--[a-z_-]+)?(.*)", helped(*command, "--help"), re.M):
        if not letter and not name:
            continue
        argument = re.match(r"( \S+(?: \[\S+\])?)?(?=  |$| \S)", rest)[0] if rest.startswith(" ") and not rest.startswith("  ") else ""
        for option in (letter, name):
            if option:
                options[option] = plain(argument)
    return options


def heads(path):
    """The heads of the section OPTIONS, as "-p, --pid PID"."""
    text = open(path).read()
    section = re.search(r"^\.S[Hh] OPTIONS\n(.*?)^\.S[Hh] ", text, re.S | re.M)
    if not section:
        return []
    found = []
    if ".Sh OPTIONS" in text:
        for line in re.findall(r"^\.It (Fl .*)", section[1], re.M):
            line = re.sub(r"\bFl (\S)", r"-\1", line.replace("\\-", "-").replace(" , ", ", ")).replace(" Ns", "")
            found.append(re.sub(r"\b(Ar|Cm|Oo|Oc|Op) ", "", line))
    else:
        for line in re.findall(r"^\.TP\n\.B[IR]? (.*)", section[1], re.M):
            found.append(re.sub(r'\\f.', "", "".join(shlex.split(line.replace("\\-", "-").replace("\\f", "\\\\f")))))
    return found


def page(path):
    options = {}
    for head in heads(path):
        argument = re.sub(r"^(-\S+, )*-[^ ]+", "", head)
        for option in re.findall(r"(?:^|, )(-[^ ,]+)", head):
            if option in options:  # said of an option's arguments one by one
                options[option] += "|" + plain(argument)
            else:
                options[option] = plain(argument)
    return options


commands = re.findall(r"^  ([a-z]+) ", re.search(r"^Commands:\n(.*?)\n\n", helped("help"), re.S | re.M)[1], re.M)
tables = {command: table(command) for command in commands} | {"": table()}
for command, options in tables.items():
    path = "man/spoor%s.1" % ("-" + command if command else "")
    if not os.path.exists(os.path.join(root, path)):
        complain("spoor %s: has no manual page" % command)
        continue
    said = page(os.path.join(root, path))
    if len(options) < 2 or not said:
        complain("%s: no options were found in the table or in the page: this check must follow them" % path)
    for option in sorted(options.keys() | said.keys()):
        if option not in said:
            complain("%s: OPTIONS lacks %s %s" % (path, option, options[option]))
        elif option not in options:
            complain("%s: OPTIONS has %s, which spoor %s does not have" % (path, option, command))
        elif options[option] != said[option]:
            complain("%s: %s takes '%s' there, '%s' in --help" % (path, option, said[option], options[option]))

# ---- what documents write behind `spoor` ----


def words(line):
    """The words of a command that begins a line, up to the end of the command; None: it does not end on the line."""
    line = re.sub(r"(?<=\s)[(\[].*", "", line)  # a synopsis, or an aside
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&<>")
        lexer.whitespace_split = True
        found = []
        for word in lexer:
            if word[0] in "|;&<>":
                break
            found.append(word)
        return found
    except ValueError:
        return None


def options_of_tool(name):
    """The options that a ready-made tool reads by getopt()."""
    path = os.path.join(root, "tools", name + ".bt")
    if not re.fullmatch("[a-z]+", name) or not os.path.exists(path):
        return set()
    return {"--" + option for option in re.findall(r'getopt\("([^"]+)"', open(path).read())}


known = uses = 0
for path in ["README.md"] + sorted(glob.glob("docs/*.md", root_dir=root)) + sorted(glob.glob("man/*.1", root_dir=root)):
    text = open(os.path.join(root, path)).read()
    if path.startswith("man/"):
        text = re.sub(r"^\.(Dl|B|BR|RS|nf) ", "", text, flags=re.M).replace("\\-", "-").replace("\\(aq", "'")
    for number, line in enumerate(text.split("\n"), 1):
        for command_line in re.findall(r"(?:^\s*|`|[$#] |sudo )spoor ([^`]*)", line):
            found = words(command_line)
            if not found:
                continue
            command = found[0] if found[0] in tables else ""
            uses += 1
            options = set(tables[command]) | (set() if command else options_of_tool(found[0]))
            for word in found[bool(command) :]:
                if word == "--":
                    break
                option = re.match(r"(--[a-z][a-z_-]+|-[A-Za-z])(?![A-Za-z])", word)
                if option and option[1] not in options:
                    complain("%s:%d: spoor %s has no option %s: %s" % (path, number, command, option[1], line.strip()))
if uses < 50:
    complain("only %d uses of spoor were found in the documents: this check must follow them" % uses)
sys.exit(failed)
