# SPDX-License-Identifier: BSD-3-Clause
# What tests/kernels/run and tests/kernels/bench share, sourced by both: the kernels that are known, fetching one, and
# the tree that a guest begins with. The one who sources it has set root, build and me (its own name, for messages).

# One guest a line: its name, the directory its kernel is kept in, the suite and the architecture that kernel is of, whether
# what fails in it fails the run (reported: only said), what its kernel is told, and how QEMU runs it.
# All CPUs share a thread: with one each, QEMU 7.2 lets a CPU run instructions that the other has already replaced,
# and ftrace and kprobes then crash the kernel. It also emulates two things wrongly that kernels from 6.12 use,
# hence la57 and cx16; and with two CPUs their timers are lost now and then. Without cx16 kernels from 7.0 on have no
# task storage, so that what spoor does instead is seen in sid.
guests="
bullseye  bullseye  bullseye  amd64  required  -                         -smp 2 -cpu max
bookworm  bookworm  bookworm  amd64  required  -                         -smp 2 -cpu max
many      bookworm  bookworm  amd64  required  possible_cpus=512         -smp 2 -cpu max
eight     bookworm  bookworm  amd64  required  -                         -smp 8 -cpu max
locked    bookworm  bookworm  amd64  required  lockdown=confidentiality  -smp 2 -cpu max
trixie    trixie    trixie    amd64  required  -                         -smp 1 -cpu max,la57=off,cx16=off
sid       sid       sid       amd64  reported  -                         -smp 1 -cpu max,la57=off,cx16=off
arm64     arm64     bookworm  arm64  required  -                         -M virt -smp 2 -cpu cortex-a72
"
modules="dummy nbd brd" # what a case wants to probe in a module, or to swap to; loaded by init

fail() {
    echo "$me: $*" >&2
    exit 1
}

# guest_require TOOL...: besides what fetching takes.
guest_require() {
    local tool
    for tool in busybox cpio apt-get dpkg-deb "$@"; do
        command -v "$tool" >/dev/null || fail "$tool is missing: tools/setup check kernels installs it (apt-get and dpkg-deb are Debian's own)"
    done
    [ -x "$build/spoor" ] || fail "there is no $build/spoor: make first"
}

# guest_choose NAME: sets place, suite, architecture, judged, append, machine, and from the architecture qemu, console, package.
# Interrupts of an emulated timer may come too late for the kernel's test of it, which then panics.
guest_choose() {
    local _ directory=
    read -r _ directory suite architecture judged append machine <<<"$(grep "^$1 " <<<"$guests")"
    [ -n "$directory" ] || fail "no guest '$1': $(awk 'NF { printf "%s ", $1 }' <<<"$guests")are known"
    place=$build/kernels/$directory
    [ "$append" != - ] || append=
    case $architecture in
    amd64) qemu=qemu-system-x86_64 console='ttyS0 no_timer_check' package=linux-image-cloud-amd64 ;;
    arm64) qemu=qemu-system-aarch64 console=ttyAMA0 package=linux-image-cloud-arm64 ;;
    esac
    command -v $qemu >/dev/null || fail "$qemu is missing: tools/setup kernels matrix installs it"
}

# ---- fetching ----

# shellcheck source=tools/debian.sh
. "$root/tools/debian.sh"

# kernel_fetch: leaves the chosen guest's vmlinuz, release and modules/ in its place. From 7.2 on the package of the image
# only depends on those of the kernel and of its modules, and the kernel lies with these.
kernel_fetch() {
    local image= log=$place/fetch.log module file
    [ -e "$place/vmlinuz" ] && [ -e "$place/release" ] && return 0
    rm -rf "$place"
    mkdir -p "$place/image" "$place/modules"
    {
        apt_begin "$place" &&
            image=$(private_apt "$place" apt-cache depends $package | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1) &&
            [ -n "$image" ] &&
            packages_unpack "$place" "$place/image" "$image" \
                $(private_apt "$place" apt-cache depends "$image" | sed -n 's/^ *Depends: \(linux-\(binary\|modules\)-.*\)/\1/p')
    } >"$log" 2>&1 || fail "the kernel of $suite ($architecture) cannot be fetched: $(tail -n 3 "$log")"
    for module in $modules; do
        file=$(find "$place/image" -name "$module.ko*" | head -n 1)
        case $file in
        *.xz) xz -dc "$file" >"$place/modules/$module.ko" ;;
        *.ko) cp "$file" "$place/modules/" ;;
        esac
    done
    cp "$(find "$place/image" -name 'vmlinuz*' | head -n 1)" "$place/vmlinuz" || fail "the kernel of $suite ($architecture) is in none of its packages"
    echo "${image#linux-image-}" >"$place/release"
    rm -rf "$place/image"
    apt_end "$place"
}

# module_build: spoor_device.ko into the chosen guest's modules/, once. Only where this machine's compiler is the
# kernel's; without the module the cases that want it are skipped.
module_build() {
    local log=$place/module.log tree=$place/headers release common
    release=$(cat "$place/release")
    [ ! -e "$place/modules/spoor_device.ko" ] && [ ! -e "$log" ] || return 0
    rm -rf "$tree"
    mkdir -p "$tree"
    if {
        apt_begin "$place" &&
            packages_unpack "$place" "$tree" "linux-headers-$release" \
                $(private_apt "$place" apt-cache depends "linux-headers-$release" | sed -n 's/^ *Depends: \(linux-.*\)/\1/p' | grep -v compiler) &&
            cd "$tree" && common=$(sed -n 's#^include /usr/src/##p' "usr/src/linux-headers-$release/Makefile") &&
            echo "include $tree/usr/src/$common" >"usr/src/linux-headers-$release/Makefile" &&
            cp -r "$root/tests/kernels/module" . &&
            make -C "usr/src/linux-headers-$release" CC=gcc HOSTCC=gcc M="$tree/module" modules && cp module/spoor_device.ko "$place/modules/"
    } >"$log" 2>&1; then
        rm -f "$log"
    else
        echo "   $suite: the module with tracepoints of ours cannot be built: $(grep -i -m 1 error "$log" || tail -n 1 "$log")"
    fi
    cd "$root" || exit 1
    rm -rf "$tree"
    apt_end "$place"
}

# ---- what a guest begins with ----

# What the guest's programs are taken from: this machine's own, unless cross_build says otherwise.
guest_build=$build guest_root=

# The shared libraries of programs, the loader included.
libraries() {
    for program; do ldd "$program" 2>/dev/null; done | grep -o '/[^ ]*' | grep -v ':$' | sort -u
}

# The shared libraries that spoor loads while it runs; this machine's own only.
loaded_libraries() {
    [ -n "$guest_root" ] || ldconfig -p | sed -n 's#^\tlibcapstone\.so\.[345] .*x86-64.* => ##p'
}

# guest_tree_begin TREE MODULES: init, its shell, and spoor.
guest_tree_begin() {
    local busybox
    busybox=$(command -v busybox)
    mkdir -p "$1"/{bin,dev,proc,sys,tmp,etc,root,modules} "$1"/spoor/build
    [ -z "$guest_root" ] || busybox=$guest_root/bin/busybox
    cp "$busybox" "$1/bin/busybox"
    cp "$root/tests/kernels/init" "$1/init"
    cp "$2"/*.ko "$1/modules/" 2>/dev/null
    cp "$guest_build/spoor" "$1/spoor/build/"
    printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' >"$1/etc/passwd"
    printf 'root:x:0:\nnogroup:x:65534:\n' >"$1/etc/group"
    echo guest >"$1/etc/hostname"
}

# guest_tree_end TREE FILE PROGRAM...: adds the libraries of the programs, and makes the initramfs.
guest_tree_end() {
    local tree=$1 output=$2 file
    shift 2
    if [ -n "$guest_root" ]; then
        cross_libraries "$tree"
    else
        { libraries "$@" && loaded_libraries; } | while read -r file; do
            mkdir -p "$tree$(dirname "$file")"
            cp -L "$file" "$tree$file"
        done
    fi
    (cd "$tree" && find . | cpio --quiet -o -H newc -R 0:0) | ${compress:-cat} >"$output"
}
