# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# What bench/tools and bench/by_hand share: how a tracer's programs are measured. To be sourced with `root`, `build` and
# `tools` set; `dir` is for files. The kernel keeps account of programs until the script ends.
#
# Who is compared runs by turns with the same load; the medians of BENCH_TURNS (3) turns count. The programs are found through
# the tracers' descriptors, so other tracers do not disturb, but for tools that watch everybody a busy machine does.
for name in load actions programs; do
    source=$root/bench/$name.c program=$tools/$name
    [ "$program" -nt "$source" ] || "${CC:-gcc}" -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -I"$root/include" -fno-omit-frame-pointer \
        -fno-optimize-sibling-calls -o "$program" "$source" || exit 1
done
# shellcheck disable=SC2154 # the script's parameter
[ "$only" != --tools ] || exit 0

dir=$(mktemp -d "${BENCH_DIRECTORY:-/var/tmp}/spoor-bench.XXXXXX") || exit 1
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
finish() {
    echo "$stats" >/proc/sys/kernel/bpf_stats_enabled
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM
echo 1 >/proc/sys/kernel/bpf_stats_enabled
head -c 8388608 /dev/urandom >"$dir/blocks" && sync "$dir/blocks"

spoor=$build/spoor
turns=${BENCH_TURNS:-3}
scale=${BENCH_SCALE:-1} # of the number of actions
patience=${BENCH_PATIENCE:-10}

# turn ACTION COUNT RATE FILE COMMAND…: one line "NUMBER INSTRUCTIONS BYTES WALKED NS RUNS", or nothing: of the programs that
# the command holds, NS and RUNS for each action, with two decimal places. LEAST: only programs that ran so often.
turn() {
    local kind=$1 count=$2 rate=$3 file=$4 pid number instructions machine walked time runs before ran first
    shift 4
    "$@" >"$dir/out" 2>"$dir/errors" &
    pid=$!
    act() { if [ "$kind" = call ]; then "$tools/load" "$1" "$rate" >/dev/null; else "$tools/actions" "$kind" "$1" "$rate" "$file"; fi; }
    first=0
    for _ in $(seq $((patience * 10))); do
        sleep 0.1
        kill -0 $pid 2>/dev/null || return 1
        grep -qs '^Attach' "$dir/errors" "$dir/out" || continue
        act 5
        read -r number instructions machine walked time runs < <("$tools/programs" $pid)
        # attached, and then quiet for a while: a tool's last probe is attached after its first
        [ "${runs:-0}" -ge 5 ] && first=$((first + 1))
        [ "$first" -ge 4 ] && break
    done
    act 5
    sleep 0.2
    read -r number instructions machine walked before ran < <("$tools/programs" $pid "${LEAST:-0}")
    act "$count"
    read -r number instructions machine walked time runs < <("$tools/programs" $pid "${LEAST:-0}")
    kill -INT $pid
    for _ in $(seq $((patience * 60))); do # leaving many tracepoints takes long
        kill -0 $pid 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL $pid 2>/dev/null
    wait $pid 2>/dev/null
    awk -v ns=$((time - before)) -v runs=$((runs - ran)) -v count="$count" -v rest="$number $instructions $machine $walked" \
        'BEGIN { printf "%s %.1f %.2f\n", rest, ns / count, runs / count }'
}
median() { sort -n -k "$1,$1" "$2" | awk -v c="$1" '{ v[NR] = $c } END { print NR ? v[int((NR + 1) / 2)] : "-" }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { print (a > 0 && b > 0 ? sprintf("%.2f", a / b) : "-") }'; }

