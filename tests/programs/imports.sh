#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a script imports or includes is done with the caller's power: only what root and the caller alone can have put there is
# taken.
#   tests/programs/imports.sh BUILD
set -u
build=$(cd "${1:?usage: imports.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(id -u)" != 0 ]; then
    echo "skip everything: needs root"
    exit 0
fi
# /tmp and /dev/shm have the sticky bit, and everybody may write there.
dir=$(mktemp -d /tmp/spoor-imports.XXXXXX) && shared=$(mktemp -d /dev/shm/spoor-imports.XXXXXX) || exit 1
trap 'rm -rf "$dir" "$shared"' EXIT
chmod 755 "$dir"
chmod 1777 "$shared"
cp "$build/spoor" "$dir"
cd "$dir" || exit 1
unset SUDO_UID SUDO_GID
nobody=65534
umask 022

. "$root/tests/programs/recording.bash"

as_nobody() { setpriv --reuid=$nobody --regid=$nobody --clear-groups "$@"; }
# made PATH WHO…: the text of a library, made by somebody
made() {
    local path=$1
    shift
    "$@" sh -c 'echo "macro imported() { 1 }" >"$1"' sh "$path"
}
import() { # PATH [COMMAND…]: checks a script that imports it
    local path=$1
    shift
    "$@" timeout 20 ./spoor --check -e "import \"$path\"; begin { print(imported()); }" >out 2>errors </dev/null
}
taken() { # NAME PATH [COMMAND…]
    local name=$1
    shift
    import "$@"
    check "$name" test $? = 0
}
refused() { # NAME WORDS PATH [COMMAND…]
    local name=$1 words=$2 path=$3
    shift 2
    import "$@"
    check "$name" test $? = 1
    check "$name: and why" grep -q "ERROR: cannot import '$path': $words" errors
}

mkdir own && made own/a.bt env
taken "the caller's own" own/a.bt
taken "by its whole path" "$dir/own/a.bt"
taken "a directory" own
taken "one in /dev/shm that is root's" "$(made "$shared/mine.bt" env && echo "$shared/mine.bt")"

chmod 666 own/a.bt
refused "a file that all may write" "$dir/own/a.bt may be written by everybody" own/a.bt
import own
check "a directory with one" grep -q "ERROR: cannot import 'own/a.bt': $dir/own/a.bt may be written by everybody" errors
chmod 664 own/a.bt
taken "a file that the group of its owner alone may write" own/a.bt
chgrp $nobody own/a.bt
refused "a file that another group may write" "$dir/own/a.bt may be written by group $nobody" own/a.bt
rm own/a.bt && made own/a.bt env
chmod 777 own
refused "a file in a directory that all may write" "$dir/own may be written by everybody" own/a.bt
refused "such a directory" "$dir/own may be written by everybody" own
chmod 755 own
mkdir -p open/below && made open/below/a.bt env && chmod 777 open
refused "a file with such a directory further up" "$dir/open may be written by everybody" open/below/a.bt
(cd open/below && ../../spoor --check -e 'import "a.bt"; begin { }' 2>../../errors)
check "also from within" grep -q "ERROR: cannot import 'a.bt': $dir/open may be written by everybody" errors
mkdir their && chown $nobody their && made their/a.bt as_nobody
refused "a file of somebody else's" "$dir/their belongs to user $nobody" their/a.bt
rm their/a.bt && made their/a.bt env
refused "a file of root's in a directory of somebody else's" "$dir/their belongs to user $nobody" their/a.bt
chmod 770 their && chgrp 12345 their
refused "which a group may write" "$dir/their belongs to user $nobody" their/a.bt
made "$shared/their.bt" as_nobody
refused "somebody else's in /dev/shm" "$shared/their.bt belongs to user $nobody" "$shared/their.bt"
refused "that directory as a whole" "everybody may write to that directory" "$shared"

# ---- links ----
ln -s "$dir/own/a.bt" own/link.bt
taken "a link where only the caller may write" own/link.bt
ln -s ../their/a.bt own/leads.bt
refused "which leads to somebody else" "$dir/their belongs to user $nobody" own/leads.bt
rm own/*.bt && made own/a.bt env
as_nobody ln -s "$dir/own/a.bt" "$shared/link.bt"
refused "a link of somebody else's where all may write" ".*" "$shared/link.bt" # the kernel may refuse it first
ln own/a.bt own/second.bt && ln own/a.bt "$dir/own/third.bt" && taken "a file with several names among the caller's own" own/a.bt
cp own/a.bt "$shared/two.bt" && ln "$shared/two.bt" "$shared/names.bt"
refused "one with several where all may write" "$shared/two.bt lies where everybody may write, and has another name" "$shared/two.bt"

# ---- who the caller is ----
as_nobody mkdir "$shared/users" && made "$shared/users/a.bt" as_nobody
refused "what a user has" "$shared/users belongs to user $nobody" "$shared/users/a.bt"
taken "is the user's own under sudo" "$shared/users/a.bt" env SUDO_UID=$nobody SUDO_GID=$nobody
taken "and without" "$shared/users/a.bt" as_nobody
taken "who may take root's, too" own/a.bt as_nobody

# ---- what is no file ----
mkfifo own/pipe.bt
refused "a FIFO, at once" "" own/pipe.bt
check "that says that it is none" grep -q "'own/pipe.bt': " errors

# ---- headers ----
headers=0
header() { # LINE [COMMAND…]: checks a script that begins with this line and needs what the header defines
    local line=$1
    shift
    printf '%s\nbegin { print(INCLUDED); }\n' "$line" >script.bt
    "$@" timeout 20 ./spoor "${options[@]}" --check script.bt >out 2>errors </dev/null
}
options=()
taken_header() { # NAME LINE [COMMAND…]
    local name=$1
    shift
    header "$@"
    check "$name" test $? = 0
}
refused_header() { # NAME WORDS LINE [COMMAND…]
    local name=$1 words=$2
    shift 2
    header "$@"
    check "$name" test $? = 1
    check "$name: and why" grep -q "ERROR: .*$words" errors
    check "$name: and what helps" grep -q "^HINT: what it says is done with your privileges" errors
}
defines() { # PATH [COMMAND…]
    local path=$1
    shift
    "$@" sh -c 'echo "#define INCLUDED $2" >"$1"' sh "$path" $((++headers))
}
rm -rf own/* their/* && chmod 755 their
defines own/a.h
taken_header "a header of the caller's own" '#include "own/a.h"'
taken_header "by its whole path" "#include \"$dir/own/a.h\""
options=(-I own)
taken_header "in a directory of -I" '#include <a.h>'
options=(--include own/a.h)
taken_header "by --include" ''
options=()
chmod 666 own/a.h
refused_header "a header that all may write" "'own/a.h' cannot be read: $dir/own/a.h may be written by everybody (mode 666)" '#include "own/a.h"'
options=(--include own/a.h)
refused_header "such a one by --include" "own/a.h': $dir/own/a.h may be written by everybody" ''
options=()
echo '#include "a.h"' >own/outer.h
refused_header "such a one that a header includes" "'a.h' cannot be read: $dir/own/a.h may be written by everybody" '#include "own/outer.h"'
printf '#if __has_include("own/a.h")\n#include "own/a.h"\n#endif\n' >own/asks.h
refused_header "such a one that is asked for before" "$dir/own/a.h may be written by everybody" '#include "own/asks.h"'
chmod 644 own/a.h
defines their/a.h
chown $nobody their/a.h
chown root their
refused_header "a header of somebody else's" "'their/a.h' cannot be read: $dir/their/a.h belongs to user $nobody" '#include "their/a.h"'
chown root their/a.h && chown $nobody their
refused_header "a header of root's in a directory of somebody else's" "$dir/their belongs to user $nobody" '#include "their/a.h"'
refused_header "by its whole path" "$dir/their belongs to user $nobody" "#include \"$dir/their/a.h\""
options=(-I their -I own)
refused_header "in a directory of -I that stands before another" "$dir/their belongs to user $nobody" '#include <a.h>'
mv their/a.h their/b.h
taken_header "which counts only where the header is there" '#include <a.h>'
options=()
rm their/b.h
ln -s ../their/a.h own/leads.h && as_nobody sh -c 'echo "#define INCLUDED 1" >their/a.h'
refused_header "a link that leads to somebody else" "$dir/their belongs to user $nobody" '#include "own/leads.h"'
chmod 777 open
defines open/below/a.h
refused_header "a header with a directory further up that all may write" "$dir/open may be written by everybody" '#include "open/below/a.h"'
echo 'begin { print(sizeof(size_t)); }' >their/script.bt
(printf '#include <stddef.h>\n#include <errno.h>\n' && cat their/script.bt) >their/with.bt
chown $nobody their/*.bt
timeout 20 ./spoor --check their/with.bt 2>errors
check "a script in such a directory includes headers of the system" test $? = 0
taken_header "without privileges a header can do no harm" "#include \"$dir/open/below/a.h\"" as_nobody
taken_header "the caller's own under sudo" "#include \"$dir/their/a.h\"" env SUDO_UID=$nobody SUDO_GID=$nobody
