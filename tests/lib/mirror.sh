# SPDX-License-Identifier: BSD-3-Clause
# Sourced by what fetches Debian.

# mirror: prints the mirror that this machine uses itself, or that of DEBIAN_MIRROR.
mirror() {
    if [ -n "${DEBIAN_MIRROR:-}" ]; then
        echo "$DEBIAN_MIRROR"
    else
        apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 2>/dev/null | grep -m 1 '/debian/*$'
    fi
}
