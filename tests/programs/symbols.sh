#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Stacks of programs built in every way that matters; each program ends right after the call that is traced. What is
# expected comes from addr2line, asked about the same addresses in the file before it was stripped.
# tests/programs/symbols.sh BUILD
set -u
build=$(cd "${1:?usage: symbols.sh BUILD}" && pwd) || exit 1
here=$(cd "$(dirname "$0")" && pwd)/symbols
spoor=$build/spoor

ok() { echo "ok $1"; }
not_ok() {
    echo "not ok $1"
    shift
    printf '%s\n' "$@" | sed 's/^/  /'
}
skip() { echo "skip $1: $2"; }

[ "$(id -u)" = 0 ] || { echo "skip all: needs root" && exit 0; }
[ "$(uname -m)" = x86_64 ] || { echo "skip all: needs x86_64" && exit 0; }
for tool in addr2line objcopy setarch; do
    command -v $tool >/dev/null || { echo "skip all: needs $tool" && exit 0; }
done
libdw=$(ldconfig -p 2>/dev/null | grep -c 'libdw\.so\.1')
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-symbols.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

flags="-g -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wall"
cc="gcc $flags"

# trace MODE COMMAND…: the stack at the system call.
trace() {
    local mode=$1
    shift
    timeout 30 "$spoor" -q -c "$*" -e 'tracepoint:syscalls:sys_enter_getpgid /args.pid == 4711/ { print(ustack('"$mode"')); }' 2>errors
}

# names NAME FILE-WITH-ALL SYMBOLS COMMAND…: every frame of the program is what addr2line says, inlined functions too.
# With SYMBOLS=only there are no lines.
names() {
    local name=$1 whole=$2 lines=$3 base=0x555555554000 first=1 frames=0
    shift 3
    [ "$(readelf -h "$whole" | awk '/Type:/ { print $2 }')" = EXEC ] && base=0
    trace perf setarch -R "$@" >stack
    : >expected
    : >came
    while read -r address rest; do
        # The program and its library; what libc does is its own.
        [[ $rest == *"($dir/"* ]] || continue
        frames=$((frames + 1))
        local at=$((0x$address - base))
        [ $first = 1 ] || at=$((at - 1))
        [ "$rest" = "${rest#\[inlined\]}" ] && {
            addr2line -C -f -i -e "$whole" "$(printf %x $at)" | sed 's/ (discriminator.*//' >pairs
            awk -v lines="$lines" 'NR % 2 { name = $0; next } { n++; names[n] = name; where[n] = $0 }
                END { if (lines == "only") print names[n]; else for (i = 1; i <= n; i++) print (i < n ? "[inlined] " : "") names[i] (where[i] ~ /:[?0]$/ ? "" : "@" where[i]) }' pairs >>expected
            first=0
        }
        printf '%s\n' "$rest" | sed -E -e "s| \\($dir/[^()]*\\)\$||" -e 's/\+[0-9]+(@|$)/\1/' >>came
    done <<<"$(sed 's/^\t//' stack)"
    if [ $frames -ge 3 ] && diff expected came >differences; then
        ok "$name"
    else
        not_ok "$name" "addr2line (<) and spoor (>):" "$(cat differences)" "the stack:" "$(cat stack errors)"
    fi
}

with_lines=all
[ "$libdw" -gt 0 ] || { with_lines=only && skip lines "libdw.so.1 is not installed"; }

# ---- kinds of executables ----
$cc -O2 -o pie "$here/fires.c" && names "position-independent, with inlined functions" pie $with_lines ./pie
$cc -O2 -no-pie -o nopie "$here/fires.c" && names "at a fixed address" nopie $with_lines ./nopie
$cc -O2 -static -o static "$here/fires.c" && names "static" static $with_lines ./static
$cc -O0 -gdwarf-4 -o dwarf4 "$here/fires.c" && names "not optimised, DWARF 4" dwarf4 $with_lines ./dwarf4
if command -v clang >/dev/null; then
    clang $flags -O2 -gdwarf-5 -o clang "$here/fires.c" && names "clang's, DWARF 5, without .debug_aranges" clang $with_lines ./clang
fi
if command -v musl-gcc >/dev/null; then
    musl-gcc $flags -O2 -static -o musl "$here/fires.c" && names "musl" musl $with_lines ./musl
else
    skip musl "musl-gcc is not installed"
fi
if command -v g++ >/dev/null; then
    gcc $flags -O2 -DLIBRARY -c -o leaf.o "$here/fires.c" &&
        g++ $flags -O2 -std=c++17 -o cplusplus "$here/fires.cc" leaf.o && names "C++, demangled" cplusplus $with_lines ./cplusplus
    trace "" ./cplusplus >stack
    grep -q 'shop::counter::sell(int, char const\*)+' stack && ok "C++ names" || not_ok "C++ names" "$(cat stack)"
    SPOOR_CPP_DEMANGLE=0 trace "" ./cplusplus >stack
    grep -q ' _ZN4shop7counter4sellEiPKc+' stack && ok "mangled names on request" || not_ok "mangled names" "$(cat stack)"
fi
# Its functions are inside of their namespaces; gcc's stand outside.
if command -v clang++ >/dev/null && [ -e leaf.o ]; then
    clang++ $flags -O2 -std=c++17 -o clang-cplusplus "$here/fires.cc" leaf.o &&
        names "clang's C++, inlined into functions of a namespace" clang-cplusplus $with_lines ./clang-cplusplus
fi
if command -v rustc >/dev/null; then
    for scheme in legacy v0; do
        RUSTC_BOOTSTRAP=1 rustc -g -Z unstable-options -C force-frame-pointers=yes -C symbol-mangling-version=$scheme -o rust-$scheme "$here/fires.rs" 2>errors || { not_ok "rustc" "$(cat errors)" && continue; }
        trace "" ./rust-$scheme >stack
        grep -q " fires::fire+" stack && grep -q " <fires::Counter as fires::Shop>::sell+" stack && grep -q " fires::main+" stack && ok "Rust names, mangled as $scheme" || not_ok "Rust names, $scheme" "$(cat stack)"
    done
else
    skip Rust "rustc is not installed"
fi

# ---- where the symbols are ----
$cc -O2 -rdynamic -o whole "$here/fires.c"
objcopy --strip-all whole dynamic
trace "" ./dynamic >stack
grep -q 'fires_leaf+' stack && grep -q '^ *0x' stack && ! grep -q local_middle stack &&
    ok "stripped: what is exported has names, the rest is the address" || not_ok "stripped" "$(cat stack)"
trace perf ./dynamic >stack
grep -qE "^.[0-9a-f]+ 0x[0-9a-f]+ \($dir/dynamic\+0x[0-9a-f]+\)" stack && ok "stripped: the place in the file in perf's form" ||
    not_ok "stripped, perf" "$(cat stack)"

objcopy --only-keep-debug whole linked.debug
objcopy --strip-all --add-gnu-debuglink=linked.debug whole linked
names "a separate debug file beside it, by debuglink" whole $with_lines ./linked
mkdir -p .debug && mv linked.debug .debug/
names "a separate debug file in .debug" whole $with_lines ./linked
$cc -O0 -o other "$here/fires.c" && objcopy --only-keep-debug other .debug/linked.debug
trace "" ./linked >stack
grep -q local_middle stack && not_ok "a debug file of another program" "$(cat stack)" || ok "a debug file of another program is not believed"
gcc $flags -O2 -Wl,--build-id=none -o noid "$here/fires.c"
objcopy --only-keep-debug noid noid.debug
objcopy --strip-all --add-gnu-debuglink=noid.debug noid noid.stripped
names "a debug file by its checksum" noid $with_lines ./noid.stripped

if command -v xz >/dev/null; then
    nm whole | awk '$2 == "t" || $2 == "T" { print $3 }' >keep
    objcopy -S --remove-section .comment --keep-symbols=keep whole mini
    xz -kf mini
    objcopy --strip-all --add-section .gnu_debugdata=mini.xz whole minimal
    names "symbols in .gnu_debugdata" whole only ./minimal
    head -c 300 mini.xz >cut.xz
    objcopy --strip-all --add-section .gnu_debugdata=cut.xz whole cut
    trace "" ./cut >stack
    grep -q 'fires_leaf+' stack && ok "a damaged .gnu_debugdata does no harm" || not_ok "a damaged .gnu_debugdata" "$(cat stack errors)"
fi

# ---- libraries ----
$cc -O2 -fPIC -shared -DLIBRARY -o library.so "$here/fires.c" && $cc -O2 -DWITH_LIBRARY -o loads "$here/fires.c" -ldl
trace "" ./loads ./library.so >stack
for function in fires_leaf local_middle fires_outer main; do grep -q " $function+" stack || echo $function; done >missing
[ ! -s missing ] && ok "a library that was loaded with dlopen" || not_ok "dlopen" "$(cat missing stack)"

# ---- what is no frame ----
$cc -O2 -DASTRAY -o astray "$here/fires.c"
trace "" ./astray >stack
sed -n '/fires_leaf/,$p' stack | head -n 2 | tail -n 1 | grep -qx '        fires_astray+.*' &&
    sed -n '/fires_astray/{n;p;q}' stack | grep -qx '        \[no frame pointer\]' &&
    ok "a stack that goes astray ends with a mark" || not_ok "astray" "$(cat stack)"

# ---- code that a program made ----
python=$(ls /usr/bin/python3 2>/dev/null)
if [ -n "$python" ]; then
    cat >jit.py <<'PYTHON'
import ctypes, mmap, os, sys, time
code = bytes([0x55, 0x48, 0x89, 0xe5, 0xb8, 121, 0, 0, 0, 0xbf, 0x67, 0x12, 0, 0, 0x0f, 0x05, 0x5d, 0xc3])
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(code)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
path = "/tmp/perf-%d.map" % os.getpid()
with open(path, "w") as file:
    file.write("nonsense\n%x %x made at run time\n" % (address, len(code)))
if len(sys.argv) > 1:
    os.chown(path, int(sys.argv[1]), 0)
ctypes.CFUNCTYPE(ctypes.c_long)(address)()
# Names are looked up while the process is there: until something was printed.
printed = os.open("stack", os.O_RDONLY) if os.path.exists("stack") else 3
while os.fstat(printed).st_size == 0:
    time.sleep(0.02)
os.unlink(path)
PYTHON
    trace "" "$python" jit.py >stack
    grep -qx '        made at run time+16' stack && ok "perf-PID.map names generated code" || not_ok "perf-PID.map" "$(cat stack errors)"
    trace "" "$python" jit.py 12345 >stack
    grep -q 'made at run time' stack && not_ok "somebody else's perf-PID.map" "$(cat stack)" || ok "somebody else's perf-PID.map is not believed"
    if unshare -m -p -f --mount-proc true 2>/dev/null; then
        cp jit.py /var/tmp/spoor-jit.$$.py
        trace "" unshare -m -p -f --mount-proc sh -c "'exec 3<stack; cd / && mount -t tmpfs none /tmp && $python /var/tmp/spoor-jit.$$.py'" >stack
        grep -qx '        made at run time+16' stack && ok "perf-PID.map inside of a mount and pid namespace" || not_ok "perf-PID.map in a namespace" "$(cat stack errors)"
        rm -f /var/tmp/spoor-jit.$$.py
    fi
fi

# ---- what ends, what is replaced ----
cat >storm.sh <<'SHELL'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do ./pie; done
SHELL
timeout 30 "$spoor" -q -c "sh storm.sh" -e 'tracepoint:syscalls:sys_enter_getpgid /args.pid == 4711/ { @[ustack] = count(); }' >stack 2>errors
[ "$(grep -c ' fires_outer+' stack)" = 20 ] && ! grep -q '^ *0x' stack && ok "20 processes that ended at once, printed at the end" ||
    not_ok "processes that ended" "$(cat stack errors)"
cp pie replaced
timeout 30 "$spoor" -q -c "sh -c './replaced; rm replaced; cp nopie replaced'" -e 'tracepoint:syscalls:sys_enter_getpgid /args.pid == 4711/ { @[ustack(perf, 2)] = count(); }' >stack 2>errors
grep -q 'fires_' stack && not_ok "a program that was replaced" "$(cat stack errors)" || ok "a program that was replaced gives no wrong names"

# ---- handlers take time, events do not wait ----
# One handler waits until all events have happened, which are many times what a small ring holds. Between parts of less than
# half of it the reader, which copies them meanwhile, gets some time.
mkfifo gate
timeout 60 "$spoor" --unsafe -e 'config = { perf_rb_pages = 32 }
uprobe:'"$build"'/targets/calls:calls_inner { printf("%d\n", arg0); }
uprobe:'"$build"'/targets/calls:calls_last { @runs++; if (@runs == 40) { exit(); } }
tracepoint:syscalls:sys_enter_getpgid /args.pid == 4711/ { printf("%s", ustack(4)); system("cat gate"); }' >traced 2>&1 &
tracer=$!
until grep -qs '^Attached' traced || ! kill -0 $tracer; do sleep 0.05; done
./pie
for ((run = 0; run < 40; run++)); do
    "$build/targets/calls" 1500
    sleep 0.01
done
echo "the gate is open" >gate
wait
[ "$(grep -c '^[0-9]' traced)" = 60000 ] && grep -q 'fires_leaf+' traced && ! grep -q Lost traced &&
    ok "no event is lost while a handler is slow" ||
    not_ok "events while a handler is slow" "$(grep -c '^[0-9]' traced) of 60000" "$(grep -v '^[0-9]' traced | head)"
