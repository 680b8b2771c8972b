# SPDX-License-Identifier: BSD-3-Clause
# What tests/kernels/run and tests/kernels/bench share, sourced by both: the kernels that are known, fetching one, and
# the tree that a guest begins with. The one who sources it has set root, build and me (its own name, for messages).

# One kernel a line: the suite that has it, what runs it, and the seconds it may take.
# Both CPUs share a thread: with one each, QEMU 7.2 lets a CPU run instructions that the other has already replaced,
# and ftrace and kprobes then crash the kernel. It also emulates two things wrongly that kernels from 6.12 use,
# hence la57 and cx16.
suites="
bullseye  -smp 2 -cpu max                       1800
bookworm  -smp 2 -cpu max                       1800
trixie    -smp 2 -cpu max,la57=off,cx16=off     1800
sid       -smp 2 -cpu max,la57=off,cx16=off     1800
"
package=linux-image-cloud-amd64
modules="dummy nbd" # what a case wants to probe in a module; loaded by init

fail() {
    echo "$me: $*" >&2
    exit 1
}

# guest_require TOOL...: besides QEMU and what fetching takes.
guest_require() {
    local tool
    for tool in qemu-system-x86_64 busybox cpio apt-get dpkg-deb "$@"; do
        command -v "$tool" >/dev/null || fail "$tool is missing: tools/setup check kernels installs it (apt-get and dpkg-deb are Debian's own)"
    done
    [ -x "$build/spoor" ] || fail "there is no $build/spoor: make first"
}

# guest_suite SUITE: sets machine and limit.
guest_suite() {
    local _
    read -r _ machine <<<"$(grep "^$1 " <<<"$suites")"
    [ -n "${machine:-}" ] || fail "no suite '$1': $(awk 'NF { printf "%s ", $1 }' <<<"$suites")are known"
    limit=${machine##* } machine=${machine% *}
}

# ---- fetching ----

# The mirror that this machine uses itself, and how it checks it.
mirror() {
    if [ -n "${DEBIAN_MIRROR:-}" ]; then
        echo "$DEBIAN_MIRROR"
    else
        apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 2>/dev/null | grep -m 1 '/debian/*$'
    fi
}

# apt with a state of its own: SUITE's lists only, and nothing of the machine's is touched.
private_apt() {
    local place=$1 command=$2
    shift 2
    "$command" -q \
        -o Dir::State="$place/state" -o Dir::State::status="$place/state/status" -o Dir::Cache="$place/cache" \
        -o Dir::Etc::SourceList="$place/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
        -o APT::Architecture=amd64 -o APT::Architectures=amd64 -o APT::Sandbox::User= \
        -o Acquire::Languages=none -o Acquire::PDiffs=false -o Acquire::Check-Valid-Until=false "$@"
}

# kernel_fetch SUITE DIRECTORY: leaves vmlinuz, release and modules/ there.
kernel_fetch() {
    local suite=$1 place=$2 address image keys= log=$2/fetch.log
    [ -e "$place/vmlinuz" ] && [ -e "$place/release" ] && return 0
    address=$(mirror)
    [ -n "$address" ] || fail "this machine's apt knows no Debian mirror: set DEBIAN_MIRROR to the address of one"
    [ ! -e /usr/share/keyrings/debian-archive-keyring.gpg ] || keys=" signed-by=/usr/share/keyrings/debian-archive-keyring.gpg"
    rm -rf "$place"
    mkdir -p "$place"/state/lists/partial "$place"/cache/archives/partial "$place"/image
    : >"$place/state/status"
    echo "deb [arch=amd64$keys] $address $suite main" >"$place/sources.list"
    {
        private_apt "$place" apt-get update &&
            image=$(private_apt "$place" apt-cache depends $package | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1) &&
            [ -n "$image" ] && cd "$place" && private_apt "$place" apt-get download "$image" && dpkg-deb -x "$image"_*.deb image
    } >"$log" 2>&1 || fail "the kernel of $suite cannot be fetched: $(tail -n 3 "$log")"
    mkdir "$place/modules"
    local module file
    for module in $modules; do
        file=$(find "$place/image" -name "$module.ko*" | head -n 1)
        case $file in
        *.xz) xz -dc "$file" >"$place/modules/$module.ko" ;;
        *.ko) cp "$file" "$place/modules/" ;;
        esac
    done
    echo "${image#linux-image-}" >"$place/release"
    cp "$place"/image/boot/vmlinuz-* "$place/vmlinuz"
    rm -rf "$place"/{image,state,cache,*.deb}
}

# module_build SUITE DIRECTORY: spoor_device.ko into modules/, once. Only where this machine's compiler is the kernel's;
# without the module the cases that want it are skipped.
module_build() {
    local suite=$1 place=$2 log=$2/module.log tree=$2/headers release common
    release=$(cat "$place/release")
    [ ! -e "$place/modules/spoor_device.ko" ] && [ ! -e "$log" ] || return 0
    rm -rf "$tree"
    mkdir -p "$place"/state/lists/partial "$place"/cache/archives/partial "$tree"
    : >"$place/state/status"
    if {
        private_apt "$place" apt-get update && cd "$tree" &&
            private_apt "$place" apt-get download "linux-headers-$release" \
                $(private_apt "$place" apt-cache depends "linux-headers-$release" | sed -n 's/^ *Depends: \(linux-.*\)/\1/p' | grep -v compiler) &&
            for file in *.deb; do dpkg-deb -x "$file" . || exit 1; done &&
            common=$(sed -n 's#^include /usr/src/##p' "usr/src/linux-headers-$release/Makefile") &&
            echo "include $tree/usr/src/$common" >"usr/src/linux-headers-$release/Makefile" &&
            cp -r "$root/tests/kernels/module" . &&
            make -C "usr/src/linux-headers-$release" M="$tree/module" modules && cp module/spoor_device.ko "$place/modules/"
    } >"$log" 2>&1; then
        rm -f "$log"
    else
        echo "   $suite: the module with tracepoints of ours cannot be built: $(tail -n 1 "$log")"
    fi
    cd "$root" || exit 1
    rm -rf "$tree" "$place"/{state,cache}
}

# ---- what a guest begins with ----

# The shared libraries of programs, the loader included.
libraries() {
    for program; do ldd "$program" 2>/dev/null; done | grep -o '/[^ ]*' | grep -v ':$' | sort -u
}

# guest_tree_begin TREE MODULES: init, its shell, and spoor.
guest_tree_begin() {
    mkdir -p "$1"/{bin,dev,proc,sys,tmp,etc,root,modules} "$1"/spoor/build
    cp "$(command -v busybox)" "$1/bin/busybox"
    cp "$root/tests/kernels/init" "$1/init"
    cp "$2"/*.ko "$1/modules/" 2>/dev/null
    cp "$build/spoor" "$1/spoor/build/"
    printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' >"$1/etc/passwd"
    printf 'root:x:0:\nnogroup:x:65534:\n' >"$1/etc/group"
    echo guest >"$1/etc/hostname"
}

# guest_tree_end TREE FILE PROGRAM...: adds the libraries of the programs, and makes the initramfs.
guest_tree_end() {
    local tree=$1 output=$2 file
    shift 2
    libraries "$@" | while read -r file; do
        mkdir -p "$tree$(dirname "$file")"
        cp -L "$file" "$tree$file"
    done
    (cd "$tree" && find . | cpio --quiet -o -H newc -R 0:0) | ${compress:-cat} >"$output"
}
