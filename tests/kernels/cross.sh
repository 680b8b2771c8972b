# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests/kernels/run: what a guest of another architecture runs, built here. The libraries that spoor is linked
# with come from the guest's own suite and are unpacked, not installed.

cross_packages="libdw1 libelf1 zlib1g liblzma5 libbz2-1.0 libdw-dev libelf-dev libiberty-dev liblzma-dev
    libcmocka0 libcmocka-dev systemtap-sdt-dev busybox-static"
cross_compiler=aarch64-linux-gnu-gcc
cross_libc=/usr/aarch64-linux-gnu/lib

# cross_build: leaves spoor and its tests in $guest_build, the guest's libraries and busybox in $guest_root.
cross_build() {
    local libraries log=$place/cross.log
    guest_root=$place/root guest_build=$build/arm64
    command -v $cross_compiler >/dev/null && [ -e $cross_libc/libc.so.6 ] ||
        fail "$cross_compiler is missing: tools/setup check installs it"
    if [ ! -e "$guest_root/complete" ]; then
        # shellcheck disable=SC2086 # several words
        { rm -rf "$guest_root" && apt_begin "$place" && packages_unpack "$place" "$guest_root" $cross_packages; } >"$log" 2>&1 ||
            fail "the libraries of $suite ($architecture) cannot be fetched: $(tail -n 3 "$log")"
        apt_end "$place"
        touch "$guest_root/complete"
    fi
    libraries=$guest_root/usr/lib/aarch64-linux-gnu:$guest_root/lib/aarch64-linux-gnu
    C_INCLUDE_PATH=$guest_root/usr/include:$guest_root/usr/include/aarch64-linux-gnu \
    LDFLAGS="-L${libraries%:*} -L${libraries#*:} -Wl,-rpath-link,$libraries" \
        make -C "$root" --no-print-directory -j"$(nproc)" BUILD="$guest_build" CC="${CROSS_CC:-$cross_compiler}" \
        AR=aarch64-linux-gnu-ar guest >"$log" 2>&1 || fail "spoor cannot be built for $architecture: $(tail -n 20 "$log")"
}

# cross_libraries TREE: all that the guest's programs may load.
cross_libraries() {
    mkdir -p "$1"/lib
    cp -L "$guest_root"/{,usr/}lib/aarch64-linux-gnu/*.so.*[0-9] "$1/lib/"
    cp -L $cross_libc/lib{c,m}.so.6 \
        $cross_libc/lib{pthread,dl}.so.? $cross_libc/ld-linux-aarch64.so.1 "$1/lib/"
}
