#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a script imports is done with the caller's power: only what root and the caller alone can have put there is taken.
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
