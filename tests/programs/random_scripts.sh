#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Random scripts that are right (tests/fuzz/scripts.c): the kernel's verifier must take each of them, and the kernel, the
# kernel without its newer features, a uprobe's sleepable program and the user-space host must print the same.
#   tests/programs/random_scripts.sh BUILD [COUNT] [FIRST SEED]     the default is 100 from 1
# once: the seeds are fixed, what fails will fail again
set -u
build=$(cd "${1:?usage: random_scripts.sh BUILD}" && pwd) || exit 1
count=${2:-100} first=${3:-1}
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(id -u)" != 0 ]; then
    echo "skip everything: needs root"
    exit 0
fi
dir=$(mktemp -d /tmp/spoor-random.XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
cp "$build/spoor" "$build/targets/calls" "$dir"
${CC:-gcc} -O1 -o "$dir/scripts" "$root/tests/fuzz/scripts.c" || exit 1
cd "$dir" || exit 1
unset SPOOR_HOST

# ways to run a script: NAME, PROBE, options. small: nothing but words on the frame, everything else in scratch memory.
ways() {
    echo "kernel begin"
    echo "old begin --no-feature signed_division,alu32_jmp32,atomic_fetch,loop,lookup_percpu"
    echo "small begin"
    echo "uprobe uprobe:./calls:calls_outer -c ./calls"
}
disagree=0 refused=0
refuse() { # SEED NAME: what the host said
    refused=$((refused + 1))
    echo "seed $1 does not run on: $2"
    grep -v '^$' "$2.err" | head -n 12 | cut -c1-300
}
# What is printed at the end depends on the order of elements in the map.
result() { sort "$1.out"; }
for ((seed = first; seed < first + count; seed++)); do
    ./scripts $seed >vm.bt
    if ! timeout 60 ./spoor -q --no-warnings --host vm vm.bt >vm.out 2>vm.err; then
        refuse $seed vm
        continue
    fi
    result vm >expected
    while read -r name probe options; do
        ./scripts $seed $probe >$name.bt
        unset SPOOR_ON_STACK_LIMIT
        [ $name != small ] || export SPOOR_ON_STACK_LIMIT=1
        # shellcheck disable=SC2086
        if ! timeout 60 ./spoor -q --no-warnings $options $name.bt >$name.out 2>$name.err </dev/null; then
            refuse $seed $name
        elif ! result $name | cmp -s - expected; then
            disagree=$((disagree + 1))
            echo "seed $seed: the vm and $name disagree"
            result $name | diff expected - | head -n 10
        fi
    done < <(ways)
done
if [ $refused = 0 ]; then echo "ok all $count scripts run everywhere"; else echo "not ok $refused refused, of $count scripts"; fi
if [ $disagree = 0 ]; then echo "ok they agree"; else echo "not ok $disagree disagree, of $count scripts"; fi
