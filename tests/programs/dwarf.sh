#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs compiled in every way, traced by names from their debug information. What must come is printed by the
# programs themselves, by the compiler (offsets) and by gdb or addr2line (lines), never by our reader.
#   tests/programs/dwarf.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: dwarf.sh BUILD}" && pwd) || exit 1
[ "$(id -u)" = 0 ] || { echo "skip everything: needs root"; exit 0; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-dwarf.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export XDG_CACHE_HOME=$dir/cache
unset DEBUGINFOD_URLS
mkdir cache
cp "$here/dwarf.c" "$here/dwarf.bt" .

result() { # STATUS NAME [FILE]
    if [ "$1" = 0 ]; then echo "ok $2"; else
        echo "not ok $2"
        [ -z "${3:-}" ] || tail -n 20 "$3" | cut -c1-300 | sed 's/^/    /'
    fi
}
spoor() { timeout 60 "$build/spoor" -q ${debuginfo:+--debuginfo "$debuginfo"} "$@"; }
debuginfo=

# Traces ./program with the script; both must say the same.
compare() { # NAME
    ./program >expected 2>&1
    spoor -o printed dwarf.bt -c ./program >output 2>problems
    grep -v '^$' printed | diff expected - >differences 2>&1
    local status=$?
    cat problems >>differences
    result $status "$1" differences
}

compile() { # COMMAND...: to ./program
    "$@" dwarf.c -o program 2>problems || { result 1 "it compiles: $*" problems; return 1; }
}

# ---- compilers, levels, versions, kinds of programs ----
while read -r words; do
    command -v ${words%% *} >/dev/null || { echo "skip $words: not installed"; continue; }
    compile $words && compare "$words"
done <<'ways'
gcc -g -O0
gcc -g -O1
gcc -g -Og
gcc -g -O2
gcc -g -O3 -fno-ipa-cp
gcc -gdwarf-4 -O0 -no-pie
gcc -gdwarf-4 -O2
gcc -gdwarf-4 -fdebug-types-section -O2
gcc -g -O2 -static
gcc -g -O2 -static-pie
musl-gcc -g -O1
musl-gcc -gdwarf-4 -O2 -static
gcc -g -O2 -gz=zlib
gcc -g -O2 -gsplit-dwarf
gcc -g -O2 -fcf-protection=full -fomit-frame-pointer
clang -g -O0
clang -g -O1
clang -g -O2
clang -gdwarf-4 -O0
clang -gdwarf-4 -O2 -no-pie
clang -g -O0 -fomit-frame-pointer
clang -g -O2 -gsplit-dwarf
clang -g -O2 -mllvm -minimize-addr-in-v5=Ranges
clang -g -O2 -gsplit-dwarf -mllvm -minimize-addr-in-v5=Ranges
g++ -x c++ -g -O0
g++ -x c++ -g -O2
clang++ -x c++ -g -O2
ways

# ---- debug information elsewhere ----
compile gcc -g -O2 -Wl,--build-id && {
    cp program whole
    objcopy --only-keep-debug whole program.debug
    strip whole -o program
    objcopy --add-gnu-debuglink=program.debug program
    compare "a debug link beside the program"
    mkdir .debug && mv program.debug .debug/
    compare "a debug link in .debug"
    strip whole -o program
    id=$(readelf -n program | sed -n 's/.*Build ID: //p')
    place=/usr/lib/debug/.build-id/${id:0:2}
    if mkdir -p "$place" 2>/dev/null; then
        cp .debug/program.debug "$place/${id:2}.debug"
        compare "the directory of build ids"
        rm -f "$place/${id:2}.debug"
        rmdir "$place" 2>/dev/null
    fi
    mkdir -p "given/.build-id/${id:0:2}"
    cp .debug/program.debug "given/.build-id/${id:0:2}/${id:2}.debug"
    debuginfo=/nonexistent:$dir/given
    compare "--debuginfo and a directory of build ids"
    debuginfo=+given
    compare "one that is beside the program"
    objcopy --add-gnu-debuglink=.debug/program.debug program
    mkdir linked && mv .debug/program.debug linked/ && rm -r given
    debuginfo=linked
    compare "--debuginfo and a debug link"
    debuginfo=
    strip whole -o program
    rm -rf .debug
    spoor -e 'uprobe:./program:main { print(args.argc) }' >output 2>problems
    grep -q 'main' problems
    result $? "nothing describes a stripped program" problems
}
# Where the compiler has put a part is what the program says: it must not make us wait.
compile gcc -g -O2 -gsplit-dwarf && {
    for part in *.dwo; do rm "$part" && mkfifo "$part"; done
    timeout 20 "$build/spoor" -q -e 'uprobe:./program:main { print(args.argc) }' >output 2>problems
    [ $? != 124 ] && grep -q 'no debug information' problems
    result $? "a pipe in the place of a split part" problems
    rm -f ./*.dwo
    "$build/spoor" -q -e 'uprobe:./program:main { print(args.argc) }' >output 2>problems
    grep -q 'WARNING: the compiler split debug information of .* off to .*\.dwo, which cannot be read' problems
    result $? "a split part that is not there is named" problems
}
# Parts are found by the name that the compiler gave them, wherever the tree in which it wrote them is now.
for compiler in "gcc -g" "gcc -gdwarf-4" "clang -g"; do
    command -v ${compiler%% *} >/dev/null || { echo "skip split parts, $compiler: not installed"; continue; }
    rm -rf tree moved objects && mkdir -p tree/objects moved
    (cd tree && $compiler -O2 -gsplit-dwarf -c ../dwarf.c -o objects/dwarf.o && ${compiler%% *} objects/dwarf.o -o ../program)
    mv tree/objects moved/
    spoor -e 'uprobe:./program:main { print(args.argc) }' >output 2>problems
    grep -q "off to objects/dwarf.dwo, which .* is objects/dwarf.dwo to --debuginfo, or put it so beside the program, or under $dir/tree" problems
    result $? "a split part that was moved is named, $compiler" problems
    debuginfo=/nonexistent:$dir/tree:$dir/moved
    compare "--debuginfo and a split part, $compiler"
    debuginfo=moved
    compare "--debuginfo beside the program and a split part, $compiler"
    debuginfo=
    cp program whole && objcopy --only-keep-debug whole moved/program.debug && objcopy --strip-debug whole program &&
        objcopy --add-gnu-debuglink=moved/program.debug program
    debuginfo=moved
    compare "--debuginfo, a debug link and a split part, $compiler"
    debuginfo=
    cp whole program
    mv moved/objects .
    compare "a split part beside the program, $compiler"
    rm -r objects
    touch program.dwp
    spoor -e 'uprobe:./program:main { print(args.argc) }' >output 2>problems
    version=$(eu-readelf --version 2>/dev/null | sed -n '1s/.*0\.//p')
    [ "${version:-190}" -ge 190 ] || grep -q 'program.dwp is read by elfutils from 0.190 on' problems
    result $? "a package that cannot be read is named, $compiler" problems
    rm program.dwp
    [ "${version:-0}" -ge 190 ] || { echo "skip a package of split parts, $compiler: elfutils is older than 0.190"; continue; }
    case $compiler in
    "gcc -gdwarf-4") packager=dwp ;;
    clang*) packager=llvm-dwp ;;
    *) continue ;; # binutils' writes no package of DWARF 5, and LLVM's does not end with gcc's
    esac
    command -v $packager >/dev/null || { echo "skip a package of split parts, $compiler: $packager is not installed"; continue; }
    mkdir objects && $compiler -O2 -gsplit-dwarf -c dwarf.c -o objects/dwarf.o && ${compiler%% *} objects/dwarf.o -o program &&
        timeout 60 $packager -e program -o program.dwp 2>problems && rm -r objects
    result $? "split parts are packed, $compiler" problems
    compare "a package of split parts beside the program, $compiler"
    rm -f program.dwp
done
if command -v dwz >/dev/null; then
    compile gcc -g -O2 && cp program other && dwz -m common.dwz program other 2>problems &&
        readelf -S program | grep -q gnu_debugaltlink && compare "dwz, with a common file"
else
    echo "skip dwz: not installed"
fi

# ---- BTF instead ----
if command -v clang >/dev/null && echo 'struct x { int y; } x;' | clang -g -target bpf -x c -c - -o types.o 2>/dev/null; then
    cat >types.c <<'types'
enum mood { CALM = 3, CROSS = -1 };
struct inner { short a[3]; };
struct outer { long first; enum mood mood; struct inner inner; struct outer *next; unsigned bits : 5; } outer;
types
    cat >plain.c <<'plain'
#include "types.c"
#include <stdio.h>
__attribute__((noinline)) int take(struct outer *o) { return printf("%d %d %d\n", o->next->mood == CALM, o->inner.a[2], o->bits); }
int main(void)
{
    struct outer b = {2, CALM, {{1, 2, 3}}, NULL, 7}, a = {1, CROSS, {{4, 5, -6}}, &b, 9};
    return take(&a) < 0;
}
plain
    clang -g -target bpf -c types.c -o types.o && objcopy -I elf64-little --dump-section .BTF=types.btf types.o /dev/null 2>/dev/null ||
        llvm-objcopy --dump-section=.BTF=types.btf types.o
    gcc -O1 plain.c -o plain && objcopy --add-section .BTF=types.btf plain
    spoor -o printed -e 'uprobe:./plain:take { $o = (struct outer *)arg0;
        print(($o->next->mood, $o->mood == CROSS, $o->inner.a[2], $o->bits, sizeof(struct outer))) }' -c ./plain >output 2>problems
    [ "$(grep -v '^$' printed)" = "(CALM, true, -6, 9, 40)" ]
    result $? "a section of BTF" problems
    spoor -q -o printed -e 'uprobe:./plain:take { print(@mood[((struct outer *)arg0)->mood]) }' -c ./plain >output 2>problems
    [ "$(grep -v '^$' printed)" = CROSS ]
    result $? "the names of an enum from a section of BTF" problems
else
    echo "skip BTF: clang makes none"
fi

# ---- servers ----
if command -v python3 >/dev/null && [ -e /usr/lib/x86_64-linux-gnu/libdebuginfod.so.1 ]; then
    compile gcc -g -O2 -Wl,--build-id && {
        id=$(readelf -n program | sed -n 's/.*Build ID: //p')
        mkdir -p "web/buildid/$id"
        objcopy --only-keep-debug program "web/buildid/$id/debuginfo"
        strip program
        : >server
        python3 -u -m http.server --bind 127.0.0.1 --directory web 0 >server 2>&1 &
        server=$!
        until grep -q port server || ! kill -0 $server; do sleep 0.1; done
        port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' server)
        DEBUGINFOD_URLS=http://127.0.0.1:$port DEBUGINFOD_CACHE_PATH=$dir/debuginfod compare "debuginfod"
        kill $server
        wait $server 2>/dev/null
    }
else
    echo "skip debuginfod: no client library"
fi

# ---- a function that begins with another, which was inlined ----
cat >begins.c <<'c'
#include <stdio.h>
static inline __attribute__((always_inline)) long first(long number) { __asm__ volatile("nop" : "+r"(number)); return number * 3; }
__attribute__((noinline)) short outer(long own) { long x = first(own); return (short)(x + own); }
int main(int argc, char **argv) { printf("%d\n", outer(argc + 4)); return 0; }
c
for words in "gcc -g -O2" "clang -g -O2"; do
    command -v ${words%% *} >/dev/null && $words begins.c -o begins || continue
    spoor -o printed -e 'uprobe:./begins:outer { printf("%d\n", args.own) } uretprobe:./begins:outer { print((sizeof(retval), retval)) }' -c ./begins >output 2>problems
    [ "$(grep -v '^$' printed | paste -sd' ')" = "5 (2, 20)" ]
    result $? "a function that begins with an inlined one, $words" problems
done

# ---- functions whose code lies in several ranges, which have no lowest address of their own ----
for words in "gcc -g -O2" "clang -g -O2 -mllvm -minimize-addr-in-v5=Ranges"; do
    command -v ${words%% *} >/dev/null && compile $words || continue
    spoor -o printed -e 'uprobe:./program:inlined { @++ }' -c ./program >output 2>problems
    [ "$(grep -v '^$' printed)" = "@: 2" ]
    result $? "places where a function was inlined, $words" problems
done

# ---- Rust's enums: which of them it is, and what is in it ----
if command -v rustc >/dev/null; then
    cat >shapes.rs <<'rust'
#![allow(dead_code)]
enum Shape { Circle(u32), Rect { w: u64, h: u64 }, Empty }
struct Holder<'a> { shape: Shape, some: Option<u32>, none: Option<&'a u64> }
#[inline(never)] #[no_mangle] fn take(h: &Holder) -> u64 { std::hint::black_box(h); h.some.unwrap_or(0) as u64 }
fn main() {
    take(&Holder { shape: Shape::Rect { w: 3, h: 4 }, some: Some(8), none: None });
    take(&Holder { shape: Shape::Circle(11), some: None, none: None });
}
rust
    rustc -g -C opt-level=1 shapes.rs -o shapes 2>problems &&
        spoor -o printed -e 'uprobe:./shapes:take { $h = args.h; print(($h->shape.variant, $h->shape.Rect.h, $h->shape.Circle.__0, $h->some.variant, $h->none.variant)) }' \
            -c ./shapes >output 2>>problems
    [ "$(grep -c . printed)" = 2 ] && grep -q '^(Rect, 4, [0-9]*, Some, None)$' printed && grep -q '^(Circle, [0-9]*, 11, None, None)$' printed
    result $? "enums of Rust" problems
else
    echo "skip Rust: rustc is not installed"
fi

# ---- a variable that every thread has one of ----
echo '__thread int mine = 42; int main(void) { return mine - 42; }' | gcc -g -O1 -x c - -o thread
spoor -e 'uprobe:./thread:main { print(*uaddr("mine")) }' >output 2>problems
grep -q "no symbol 'mine'" problems && grep -q 'what every thread has its own of' problems
result $? "a variable of each thread is refused" problems

# ---- lines ----
line=$(grep -n 'line of inlined' dwarf.c | cut -d: -f1)
for words in "gcc -g -O0" "gcc -g -O2" "clang -g -O2"; do
    command -v ${words%% *} >/dev/null || continue
    compile $words || continue
    # clang describes the parameter of one of the two instances only.
    value=args.value values="11 21"
    case $words in clang*) value=0 values="0 0" ;; esac
    spoor -e "uprobe:./program@dwarf.c:$line { printf(\"%s %d\n\", probe, $value); }" -o printed -c ./program >output 2>problems
    for number in $values; do echo "uprobe:./program@dwarf.c:$line $number"; done >expected
    grep -v '^$' printed | diff expected - >differences
    status=$?
    cat problems >>differences
    result $status "a line of an inlined function, $words" differences
    if command -v addr2line >/dev/null; then
        start=$(grep -n '__attribute__((noinline)) struct node \*walk' dwarf.c | cut -d: -f1)
        address=$(nm program | awk '$3 == "walk" { print "0x" $1 }')
        [ "$(addr2line -e program "$address" | sed 's/.*://; s/ .*//')" = "$start" ] || continue
        spoor -e "uprobe:./program@dwarf.c:$start { printf(\"%d %s\n\", args.depth, func) }" -o printed -c ./program >output 2>problems
        [ "$(grep -v '^$' printed)" = "1 walk" ]
        result $? "the first line of a function, $words" problems
    fi
done
spoor -e 'uprobe:./program@dwarf.c:2 { exit() }' >output 2>problems
grep -q 'no code' problems && grep -q 'the next line' problems
result $? "a line without code" problems
spoor -e 'uprobe:./program@other.c:2 { exit() }' >output 2>problems
grep -q "was not compiled from a file 'other.c'" problems
result $? "a file that is not there" problems

# ---- long fields and large structs ----
cat >wide.c <<'wide'
#include <stdio.h>
#include <string.h>
struct chars { char label[224]; int n; };
struct wide { char text[3000]; long tail; char more[1000]; };
struct huge { char text[30000]; long tail; };
struct chars c;
struct wide w;
struct huge h;
__attribute__((noinline)) int take(struct wide *w, struct huge *h, struct chars *c)
{
    return printf("%s\n%s %ld %s\n%ld %s\n", c->label, w->text, w->tail, w->more, h->tail, c->label);
}
int main(void)
{
    memset(c.label, 'c', 223);
    memset(w.text, 'w', 2999);
    memset(h.text, 'h', 29999);
    strcpy(w.more, "more");
    c.n = 3, w.tail = 5, h.tail = 6;
    return take(&w, &h, &c) < 0;
}
wide
gcc -g -O1 wide.c -o wide && ./wide >expected
spoor -o printed -e 'uprobe:./wide:take { @c = *args.c; @w[1] = *args.w; @h = *args.h;
    printf("%s\n%s %d %s\n%d %s\n", args.c->label, @w[1].text, @w[1].tail, args.w->more, @h.tail, @c.label); clear(@w); clear(@h); clear(@c) }' \
    -c ./wide >output 2>problems
grep -v '^$\|^@' printed | diff expected - >differences
result $? "a char[224], structs of 4 and 30 KB as values of maps" problems

# ---- what cannot be read says why ----
compile gcc -g -O0
spoor -e 'uprobe:./program:floats { print(args.d) }' >output 2>problems
grep -q 'floating-point register' problems
result $? "a floating point parameter" problems
spoor -e 'uretprobe:./program:inlined { exit() }' -c ./program >output 2>problems
grep -q 'is inlined wherever it is called' problems
result $? "the return of an inlined function" problems

# ---- offsets of generated structs, beside the compiler's ----
awk -v seed=7 'BEGIN {
    srand(seed)
    split("char short int long long_long unsigned_char unsigned_short unsigned_long bool void_*", types, " ")
    print "#include <stdbool.h>\n#include <stddef.h>\n#include <stdio.h>" >"layout.c"
    for (s = 0; s < 60; s++) {
        text = "struct s" s " { "
        if (s % 7 == 3) text = "#pragma pack(push, 1)\n" text
        bits = 0
        for (f = 0; f < 3 + int(rand() * 6); f++) {
            t = types[1 + int(rand() * 10)]
            gsub("_", " ", t)
            kind = rand()
            if (kind < 0.15 && s) text = text "struct s" int(rand() * s) " f" f "; "
            else if (kind < 0.3) text = text t " f" f "[" 1 + int(rand() * 5) "][2]; "
            else if (kind < 0.4) text = text "union { int i" f "; " t " f" f "; }; "
            else if (kind < 0.5) text = text "unsigned b" f " : " 1 + int(rand() * 30) "; int f" f "; "
            else text = text t " f" f "; "
            fields[s] = f
        }
        print text "} v" s ";" (s % 7 == 3 ? "\n#pragma pack(pop)" : "") >"layout.c"
    }
    print "int main(void)\n{" >"layout.c"
    script = "uprobe:./layout:main { "
    for (s = 0; s < 60; s++) {
        printf "    printf(\"%d %%zu\", sizeof(struct s%d));\n", s, s >"layout.c"
        script = script "printf(\"" s " %d"
        list = ""
        for (f = 0; f <= fields[s]; f++) {
            printf "    printf(\" %%zu\", offsetof(struct s%d, f%d));\n", s, f >"layout.c"
            script = script " %d"
            list = list ", offsetof(struct s" s ", f" f ")"
        }
        print "    puts(\"\");" >"layout.c"
        script = script "\\n\", sizeof(struct s" s ")" list ");\n"
    }
    print "}" >"layout.c"
    print script "}" >"layout.bt"
}'
for words in "gcc -gdwarf-5" "gcc -gdwarf-4" "gcc -gdwarf-3" "clang -g" "clang -gdwarf-4" "g++ -x c++ -g"; do
    command -v ${words%% *} >/dev/null || continue
    $words -w layout.c -o layout 2>problems || { result 1 "layouts compile with $words" problems; continue; }
    ./layout >expected
    spoor -o printed layout.bt -c ./layout >output 2>problems
    grep -v '^$' printed | diff expected - >differences
    status=$?
    cat problems >>differences
    result $status "60 structs lie as the compiler says, $words" differences
done

# ---- a large program: the index ----
awk 'BEGIN {
    for (u = 0; u < 20; u++) {
        file = "large" u ".c"
        for (s = 0; s < 500; s++)
            printf "struct large_%d_%d { int a; char b[%d]; long member_%d_%d; } v%d_%d;\n", u, s, s + 1, u, s, u, s >file
        if (u == 0) print "int main(void) { return 0; }" >file
    }
}'
gcc -g -Wl,--build-id large*.c -o large 2>problems
result $? "a program with 10000 structs compiles" problems
ask='uprobe:./large:main { print((sizeof(struct large_17_321), offsetof(struct large_17_321, member_17_321))) }'
for turn in made kept damaged; do
    [ $turn != damaged ] || for file in cache/spoor/*.names; do
        printf 'xxxxxxxxxxxxxxxx' | dd of="$file" bs=1 seek=4096 conv=notrunc 2>/dev/null
    done
    spoor -o printed -e "$ask" -c ./large >output 2>problems
    [ "$(grep -v '^$' printed)" = "(336, 328)" ] && [ "$(ls cache/spoor | wc -l)" = 1 ]
    result $? "the index of names is $turn" printed
done
# Another program with the same build id and the same beginnings and ends of sections, but one name: whoever makes it must
# not hide that name of the first.
rm -f cache/spoor/*
LC_ALL=C sed 's/large_17_321/wrong_17_321/g' large >forged && chmod 755 forged
spoor -o printed -e 'uprobe:./forged:main { print(sizeof(struct large_17_320)) }' -c ./forged >output 2>problems
! cmp -s large forged && [ "$(ls cache/spoor | wc -l)" = 1 ]
result $? "a forged program has an index" problems
spoor -o printed -e "$ask" -c ./large >output 2>problems
[ "$(grep -v '^$' printed)" = "(336, 328)" ] && [ "$(ls cache/spoor | wc -l)" = 2 ]
result $? "which hides no name of the right one" problems
# ---- an index that came with the program: ours is not made ----
while IFS='|' read -r name needs section make; do
    command -v "$needs" >/dev/null || { echo "skip $name: $needs is not installed"; continue; }
    if eval "$make" >problems 2>&1 && readelf -SW large | grep -q "$section"; then
        rm -f cache/spoor/*
        spoor -o printed -e "$ask" -c ./large >output 2>problems
        [ "$(grep -v '^$' printed)" = "(336, 328)" ] && [ "$(ls cache/spoor | wc -l)" = 0 ]
        result $? "$name" problems
    else
        echo "skip $name: these tools do not make it"
    fi
done <<'ways'
.gdb_index by gdb|gdb-add-index|gdb_index|gcc -g large*.c -o large && gdb-add-index large
.gdb_index by a linker|ld.lld|gdb_index|clang -g -ggnu-pubnames -fuse-ld=lld -Wl,--gdb-index large*.c -o large
.debug_names|clang|debug_names|clang -gdwarf-5 -gpubnames -mllvm -accel-tables=Dwarf large*.c -o large
ways
gcc -g -Wl,--build-id large*.c -o large
spoor -o printed -e "$ask" -c ./large >output 2>problems
chmod 777 cache/spoor
rm cache/spoor/*
spoor -o printed -e "$ask" -c ./large >output 2>problems
[ "$(grep -v '^$' printed)" = "(336, 328)" ] && [ "$(ls cache/spoor | wc -l)" = 0 ]
result $? "a directory that others can write is not used" printed
