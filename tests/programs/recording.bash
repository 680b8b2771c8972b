# SPDX-License-Identifier: BSD-3-Clause
# For the tests of recordings, which source it: results, and a program that lives while its standard input is open. They
# have a directory of their own; its file `errors` is shown where a check fails.

# begin_test NAME: in a directory of its own, $dir. At the end it goes, with the processes $program and ${readers[@]} and
# the file $file.
begin_test() {
    program= file= readers=()
    dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-$1.XXXXXX") || exit 1
    trap end_test EXIT
    cd "$dir" || exit 1
}
end_test() {
    for pid in $program "${readers[@]}"; do kill -KILL "$pid" 2>/dev/null; done
    wait 2>/dev/null
    rm -f "$file"
    rm -rf "$dir"
}

ok() { echo "ok $1"; }
check() { # NAME COMMAND…
    local name=$1
    shift
    if "$@"; then ok "$name"; else echo "not ok $name"; tail -n 5 errors 2>/dev/null; fi
}

# until_so COMMAND…: again and again, for 20 s at most, until it succeeds.
until_so() {
    for _ in $(seq 1000); do
        "$@" && return
        sleep 0.02
    done
    return 1
}

# Until the program said something in `out`: the path of its recording, as $file.
wait_for_file() {
    for _ in $(seq 1000); do
        [ -s out ] && break
        sleep 0.02
    done
    file=$(head -1 out)
}

# compile_spdk NAME: a program of tests/programs that records in SPDK's format, here.
compile_spdk() {
    ${CC:-gcc} -std=gnu11 -O2 -g -D_GNU_SOURCE -I"$root/src" -o "$1" "$root/tests/programs/$1.c" -lpthread || exit 1
}
# Those write to shared memory, wherever they are.
need_shared_memory() {
    [ -w /dev/shm ] && return
    echo "skip everything: no /dev/shm that can be written"
    exit 0
}
