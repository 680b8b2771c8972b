#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Random scripts that are right (tests/fuzz/scripts.c): the kernel's verifier must take each of them, and the kernel, the
# kernel without its newer features, programs of other types and the user-space host must print the same.
#   tests/programs/random_scripts.sh BUILD [COUNT] [FIRST SEED]     the default is 12 from 70000, and those that once failed
# COUNT and SEED in the environment say the same. On a terminal it tells how far it is; KEEP=DIRECTORY keeps what failed.
# OLDEST=1 is another way to run them, that of kernels without callbacks (before 5.13), whose verifier walks every turn of a
# loop: it gives up some of these scripts, and says so.
set -u
build=$(cd "${1:?usage: random_scripts.sh BUILD}" && pwd) || exit 1
count=${2:-${COUNT:-12}} first=${3:-${SEED:-70000}}
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(id -u)" != 0 ]; then
    echo "skip everything: needs root"
    exit 0
fi
[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && KEEP=$(cd "$KEEP" && pwd); } || exit 1
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-random.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cp "$build/spoor" "$build/targets/calls" "$dir"
${CC:-gcc} -O1 -o "$dir/scripts" "$root/tests/fuzz/scripts.c" || exit 1
cd "$dir" || exit 1
unset SPOOR_HOST

# ways to run a script: NAME, PROBE, options. small: nothing but words on the frame, everything else in scratch memory.
# long: so many statements stand before the others that the block is divided into sections. slots: the same, with scratch memory
# in slots.
older=signed_division,alu32_jmp32,atomic_fetch,loop,lookup_percpu
ways() {
    echo "kernel begin"
    echo "old begin --no-feature $older"
    echo "small begin"
    echo "long begin"
    [ -z "${OLDEST:-}" ] || [ -n "$has_maps" ] || echo "oldest begin --no-feature $older,for_each_map,long_keys,task_storage"
    case $((seed % 3)) in
        0)
            echo "uprobe uprobe:./calls:calls_outer -c ./calls"
            echo "slots uprobe:./calls:calls_outer --no-feature task_storage -c ./calls"
            ;;
        1) echo "tracepoint tracepoint:sched:sched_process_exit -c ./calls" ;;
        2) echo "interval interval:ms:1" ;;
    esac
}
disagree=0 refused=0 ran=0 ran_scripts=0
keep() { # NAME
    [ -z "${KEEP:-}" ] || cp "$1.bt" "$KEEP/$seed.$1.bt"
}
refuse() { # NAME: what the host said
    refused=$((refused + 1))
    echo "seed $seed does not run on: $1"
    grep -av '^$' "$1.err" | grep -a -m1 -A5 ERROR | cut -c1-300
    keep "$1"
}
# What is printed at the end depends on the order of elements in the map.
result() { sort "$1.out"; }
once_failed=(1046 5037 10023 20163 100584 100779 100867 610074 700077) # refused by a verifier, or for their stack
[ $# -eq 1 ] && [ -z "${SEED:-}" ] || once_failed=()
read -ra seeds < <(seq -s ' ' "$first" $((first + count - 1)))
seeds+=("${once_failed[@]}")
count=${#seeds[@]}
for seed in "${seeds[@]}"; do
    [ ! -t 1 ] || printf '\r%d of %d, %d refused, %d disagree ' $((ran_scripts++)) "$count" $refused $disagree
    ./scripts $seed >vm.bt
    if ! timeout 60 ./spoor -q --no-warnings --host vm vm.bt >vm.out 2>vm.err; then
        refuse vm
        continue
    fi
    result vm >expected
    # loops over maps are what the oldest kernels do not have
    has_maps=$(grep -m1 'for (\$kv' vm.bt)
    while read -r name probe options; do
        ./scripts $seed $probe >$name.bt
        [ $name != long ] && [ $name != slots ] ||
            sed -i -E '0,/^(begin|uprobe).*\{$/s//&\n    unroll(50) { unroll(10) { $long = 1; } }\n/' $name.bt
        unset SPOOR_ON_STACK_LIMIT
        [ $name != small ] || export SPOOR_ON_STACK_LIMIT=1
        # shellcheck disable=SC2086
        if ! timeout 120 ./spoor -q --no-warnings $options $name.bt >$name.out 2>$name.err </dev/null; then
            refuse $name
        elif ! result $name | cmp -s - expected; then
            disagree=$((disagree + 1))
            echo "seed $seed: the vm and $name disagree"
            result $name | diff expected - | head -n 10
            keep $name
        else
            ran=$((ran + 1))
        fi
    done < <(ways)
done
if [ $refused = 0 ]; then echo "ok all $count scripts run everywhere ($ran runs)"; else echo "not ok $refused refused, of $count scripts"; fi
if [ $disagree = 0 ]; then echo "ok they agree"; else echo "not ok $disagree disagree, of $count scripts"; fi
