# SPDX-License-Identifier: BSD-3-Clause
# The suite on a tree of its own: what passes, fails, is skipped and is left behind is told and counted.
# The suite that runs this one holds the lock, and its tests use the machine: the inner one has another of both.
set -u
root=$PWD
tree=$(mktemp -d "${TMPDIR:-/tmp}/spoor-suite.XXXXXX") || exit 1
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{build/unit,tests/{lib,source,tools,programs,cases/some}}
cp tests/run "$tree/tests/"
cp tests/lib/*.sh "$tree/tests/lib/"
sed -i "s#^NEIGHBOURS_LOCK=.*#NEIGHBOURS_LOCK=$tree/lock#; s#^NEIGHBOURS_MACHINE=.*#NEIGHBOURS_MACHINE=$tree/machine#" \
    "$tree/tests/lib/neighbours.sh"
mkdir -p "$tree"/machine/{sys/kernel/tracing,proc/self,run/netns,dev/shm,tmp}
echo '1 0 0:1 / /usual rw - tmpfs' >"$tree/machine/proc/self/mountinfo"
printf '%s\n' '#!/bin/sh' 'echo "  uprobe  yes  here"' >"$tree/build/spoor"
printf '%s\n' '#!/bin/sh' '. "$2"' >"$tree/tests/case" # a case is a shell script here
printf '%s\n' 'is known$ | elsewhere' >"$tree/tests/skips.txt"
printf '%s\n' 'src/a.c case/some/good case/some/known' >"$tree/tests/quick.txt"
printf '%s\n' '#!/bin/sh' 'echo "[  PASSED  ] 3 test(s)."' >"$tree/build/unit/good_test"
cd "$tree" || exit 1
chmod +x build/spoor tests/case build/unit/good_test
echo 'exit 0' >tests/source/good.sh
echo 'exit 0' >tests/tools/good.sh
echo 'exit 0' >tests/cases/some/good.case
echo 'echo "the reason is known"; exit 77' >tests/cases/some/known.case
printf '%s\n' 'echo "ok one"; echo "ok two"; echo "skip three: it is known"' >tests/programs/some.sh

bad=0
# see WHAT PATTERN ARGUMENT…: a run's output has the line
see() {
    local what=$1 pattern=$2
    shift 2
    tests/run "$@" >out 2>&1
    grep -qE -- "$pattern" out || { echo "$what: no line $pattern in"; sed 's/^/    /' out; bad=1; }
}
see "all is well" '^8 passed, 0 failed, 2 skipped$' build
see "a word chooses" '^1 passed, 0 failed, 1 skipped$' build case/
see "repeated" '^== turn 3$' --until-fails 3 build source/
echo 'exit 1' >tests/cases/some/bad.case
see "a failure" '^8 passed, 1 failed, 2 skipped$' build
see "a failure is named" '^FAIL case/some/bad \(status 1\)$' build
see "it ends the turns" '^== turn 1$' --until-fails 3 build
! grep -q 'turn 2' out || { echo "turns go on after a failure" && bad=1; }
echo 'echo "never heard of"; exit 77' >tests/cases/some/bad.case
see "an unknown reason" '^FAIL skipped for a reason .*: case/some/bad: never heard of$' build
echo ': >"$TMPDIR/forgotten"' >tests/cases/some/bad.case
see "a file" 'files were left behind in TMPDIR: forgotten' build
while IFS='|' read -r told command; do
    echo "cd $tree/machine && $command" >tests/cases/some/bad.case
    see "left behind" "^FAIL left behind: $told\$" build
done <<'END'
a definition in uprobe_events: spoor_1/f|echo p:spoor_1/f a:1 >sys/kernel/tracing/uprobe_events
a mount: /mine|echo 2 1 0:2 / /mine rw - tmpfs >>proc/self/mountinfo
a network namespace: mine|: >run/netns/mine
a file: spoor-mine|: >tmp/spoor-mine
a file: spoor_mine.pid1000000000|: >dev/shm/spoor_mine.pid1000000000
END
printf '%s\n' 'echo "not ok it"; exit 1' >tests/cases/some/bad.case
if [ "$(id -u)" = 0 ] && grep -q ' - cgroup2 ' /proc/self/mountinfo; then
    echo 'sleep 1000 & exit 0' >tests/cases/some/bad.case
    see "a process" 'processes were left behind: sleep \(process [0-9]*\)' build
fi
rm tests/cases/some/bad.case
# Nothing changed here, and then one file did.
git init -q . && git add tests && git -c user.name=n -c user.email=e commit -qm tests
see "quick, without a change" '^5 passed, 0 failed, 0 skipped$' --quick build
mkdir src && : >src/a.c
see "quick, with one" '^6 passed, 0 failed, 1 skipped$' --quick build
# What came is accepted; what still fits stays.
printf '%s\n' '# needs: nothing' '--- command' 'echo new; echo 12' '--- stdout' old '{{[0-9]+}}' >blessed.case
"$root/tests/case" --bless build blessed.case >out && [ "$(tail -n 2 blessed.case)" = "new
{{[0-9]+}}" ] || { echo "--bless made this of a case:" && cat blessed.case out && bad=1; }
exit $bad
