# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests/kernels/run: what a guest of another architecture runs, built here by tools/cross.

cross_libc=/usr/aarch64-linux-gnu/lib

# cross_build: leaves spoor and its tests in $guest_build, the guest's libraries and busybox in $guest_root.
cross_build() {
    guest_root=$build/cross/aarch64 guest_build=$build/aarch64
    "$root/tools/cross" "$build" aarch64 guest >"$place/cross.log" 2>&1 ||
        fail "spoor cannot be built for $architecture: $(tail -n 20 "$place/cross.log")"
}

# cross_libraries TREE: all that the guest's programs may load.
cross_libraries() {
    mkdir -p "$1"/lib
    cp -L "$guest_root"/{,usr/}lib/aarch64-linux-gnu/*.so.*[0-9] "$1/lib/"
    cp -L $cross_libc/lib{c,m}.so.6 \
        $cross_libc/lib{pthread,dl}.so.? $cross_libc/ld-linux-aarch64.so.1 "$1/lib/"
}
