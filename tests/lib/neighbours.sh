# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests/run: tests beside each other and beside strangers. One suite at a time on a machine; each test in a control
# group with limits, first in line when memory runs out; and nothing is left when it is over.

NEIGHBOURS_LOCK=/tmp/spoor-tests.lock
NEIGHBOURS_MACHINE= # below which the machine's files are looked at
NEIGHBOURS_MEMORY=$((6 << 30))
NEIGHBOURS_PROCESSES=16384 # and threads: recorder_threads has ten thousand
group_procs= # where a process is written to, to be in the groups of the suite: one file for each hierarchy
group_tree=  # the group of version 2, in which each test has one of its own

# neighbours_wait: until no other suite runs here. The file is only read, so that it may be another user's.
neighbours_wait() {
    [ -e $NEIGHBOURS_LOCK ] || (umask 111 && : >>$NEIGHBOURS_LOCK)
    exec 9<$NEIGHBOURS_LOCK
    until flock -w 30 9; do
        echo "tests/run: waiting for another suite on this machine: $(cat $NEIGHBOURS_LOCK.holder 2>/dev/null)" >&2
    done
    rm -f $NEIGHBOURS_LOCK.holder
    echo "process $$ in $root since $(date +%T)" 2>/dev/null >$NEIGHBOURS_LOCK.holder
    trap neighbours_leave EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

# neighbours_strangers: keep both the CPUs and the kernel's lists of processes busy until the suite ends.
neighbours_strangers() {
    local cpu
    for cpu in $(seq "$(nproc)"); do
        (exec 9<&-; while :; do :; done) &
        strangers="${strangers:-} $!"
        (exec 9<&-; while :; do /bin/true; done) &
        strangers="$strangers $!"
    done
}

neighbours_leave() {
    local directory pid
    [ -z "${strangers:-}" ] || kill $strangers
    # What was interrupted is ended with all that it began.
    for directory in ${group_tree:+"$group_tree"/*/}; do
        while read -r pid; do
            kill -KILL "$pid"
            while [ -e "/proc/$pid" ] && ! grep -q '^State:.*Z' "/proc/$pid/status"; do sleep 0.05; done
        done <"$directory/cgroup.procs"
    done 2>/dev/null
    groups_remove
    rm -f $NEIGHBOURS_LOCK.holder
    [ -z "${results:-}" ] || rm -rf "$results"
}

# ---- control groups ----

# group_of TYPE OPTION: the directory of the caller's own group in a hierarchy that is mounted.
group_of() {
    local mount own
    mount=$(awk -v type="$1" -v option="$2" '
        { for (i = 7; $i != "-"; i++); if ($(i + 1) == type && (option == "" || "," $(i + 3) "," ~ "," option ",")) { print $5; exit } }' /proc/self/mountinfo)
    own=$(awk -F : -v option="$2" '(option == "" && $1 == 0) || (option != "" && "," $2 "," ~ "," option ",") { print $3; exit }' /proc/self/cgroup)
    [ -n "$mount" ] && [ -d "$mount${own%/}" ] && echo "$mount${own%/}"
}

# group_make DIRECTORY: a group for the suite in it.
group_make() {
    [ -n "$1" ] && mkdir "$1/spoor-tests-$$" 2>/dev/null && echo "$1/spoor-tests-$$"
}

groups_begin() {
    local parent group limits=
    if parent=$(group_of cgroup2 ""); then
        { echo +memory +pids >"$parent/cgroup.subtree_control"; } 2>/dev/null
        if group_tree=$(group_make "$parent") && [ -e "$group_tree/memory.max" ]; then
            limits=yes
            { echo $NEIGHBOURS_MEMORY >"$group_tree/memory.max" && echo $NEIGHBOURS_PROCESSES >"$group_tree/pids.max"; } 2>/dev/null
        fi
    fi
    if [ -z "$limits" ]; then
        group=$(group_make "$(group_of cgroup memory)") && echo $NEIGHBOURS_MEMORY >"$group/memory.limit_in_bytes" &&
            group_procs="$group/cgroup.procs"
        group=$(group_make "$(group_of cgroup pids)") && echo $NEIGHBOURS_PROCESSES >"$group/pids.max" &&
            group_procs="$group_procs $group/cgroup.procs"
        [ -n "$group_procs" ] || echo "   no control groups for memory and processes here: tests run without limits"
    fi
    [ -n "$group_tree" ] || echo "   no control groups of version 2 here: processes that tests leave behind are not looked for"
    export group_tree group_procs
}

groups_remove() {
    local file
    for file in $group_procs; do rmdir "${file%/*}" 2>/dev/null; done
    [ -z "$group_tree" ] || rmdir "$group_tree"/*/ "$group_tree" 2>/dev/null
    group_tree= group_procs=
}

# ---- one test ----

# neighbour_remaining GROUP: names and numbers of who is in it, but for the dead.
neighbour_remaining() {
    local pid stat
    while read -r pid; do
        stat=$(cat "/proc/$pid/stat" 2>/dev/null) || continue
        case ${stat##*) } in Z*) continue ;; esac
        stat=${stat#*(}
        echo "${stat%)*} (process $pid)"
    done <"$1/cgroup.procs"
}

# neighbour_is_left GROUP: nobody is in it, but for tracers' children that close what is slow to close. Others were left behind;
# they are ended, and named.
neighbour_is_left() {
    local turn left
    read -r left <"$1/cgroup.procs" || return 0
    for turn in $(seq 20); do
        left=$(neighbour_remaining "$1")
        grep -qv '^spoor-leaving ' <<<"${left:-spoor-leaving }" || return 0
        sleep 0.1
    done
    echo "processes were left behind:" $left
    sed -n 's/.*(process \([0-9]*\))$/\1/p' <<<"$left" | xargs -r kill -KILL
    return 1
}

# neighbour_settle GROUP: until what still closes there has ended.
neighbour_settle() {
    local turn left
    for turn in $(seq 1200); do
        left=$(neighbour_remaining "$1")
        [ -n "$left" ] || break
        sleep 0.1
    done
    rmdir "$1" 2>/dev/null
    [ -z "$left" ] || echo "${1##*/}:" $left
}

# neighbours_settle: until nothing of any test closes any more; prints what does not end.
neighbours_settle() {
    local group
    for group in ${group_tree:+"$group_tree"/*/}; do [ ! -d "$group" ] || neighbour_settle "${group%/}"; done
}

# neighbour_run OUTPUT SECONDS COMMAND…: its status; 1 if it leaves processes or files behind.
neighbour_run() {
    local output=$1 seconds=$2 place group= status files
    shift 2
    place=$output.tmp
    mkdir -m 1777 "$place"
    if [ -n "$group_tree" ]; then
        group=$group_tree/${output##*/}
        mkdir "$group" 2>/dev/null || group=
    fi
    (
        for file in $group_procs ${group:+"$group/cgroup.procs"}; do echo 0 >"$file"; done
        echo 800 >/proc/self/oom_score_adj
        TMPDIR=$place exec timeout -k 10 "$seconds" "$@"
    ) >"$output" 2>&1 </dev/null 8>&- 9<&-
    status=$?
    # What only closes is waited for later, unless many do: they slow down those who attach.
    if [ -n "$group" ]; then
        neighbour_is_left "$group" >>"$output" || status=1
        rmdir "$group" "$place" 2>/dev/null
        [ ! -d "$group" ] || [ "$(find "$group_tree" -mindepth 1 -maxdepth 1 -type d | wc -l)" -le $((2 * jobs)) ] ||
            [ -z "$(neighbour_settle "$group" | tee -a "$output")" ] || status=1
    fi
    if [ -d "$place" ] && ! rmdir "$place" 2>/dev/null; then
        files=$(ls -A "$place" | tr '\n' ' ')
        rm -rf "$place"
        echo "files were left behind in TMPDIR: $files" >>"$output"
        [ $status = 77 ] || status=1
    fi
    return $status
}
export -f neighbour_run neighbour_is_left neighbour_settle neighbour_remaining

# ---- the machine ----

# neighbours_state: what tests may not leave behind, a line each.
neighbours_state() {
    local file machine=$NEIGHBOURS_MACHINE
    for file in uprobe_events kprobe_events; do
        sed -n "s#^[^ ]*:\(spoor_[^ ]*\).*#a definition in $file: \1#p" "$machine"/sys/kernel/{,debug/}tracing/$file
    done 2>/dev/null
    awk '{ print "a mount: " $5 }' "$machine/proc/self/mountinfo"
    ls -A "$machine/run/netns" 2>/dev/null | sed 's/^/a network namespace: /'
    # Directories that mktemp made are somebody else's: tests have theirs in TMPDIR. So are recordings of the living.
    ls -A "$machine"/{dev/shm,var/tmp,tmp} 2>/dev/null | grep spoor | grep -vE '^spoor-([a-z0-9-]+[.][A-Za-z0-9]{6}|tests[.].*)$' | while read -r file; do
        [[ $file =~ pid([0-9]+)$ && -e /proc/${BASH_REMATCH[1]} ]] || echo "a file: $file"
    done
}

neighbours_begin() {
    groups_begin
    neighbours_state | sort >"$results/before"
}

# neighbours_end: prints what is there and was not before.
neighbours_end() {
    groups_remove
    neighbours_state | sort | comm -13 "$results/before" -
}
