# SPDX-License-Identifier: BSD-3-Clause
# Sourced by what fetches packages of Debian. The one who sources it has set me (its own name, for messages) and, for all but
# mirror, suite and architecture.

# mirror: prints the mirror that this machine uses itself, or that of DEBIAN_MIRROR.
mirror() {
    if [ -n "${DEBIAN_MIRROR:-}" ]; then
        echo "$DEBIAN_MIRROR"
    else
        apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 2>/dev/null | grep -m 1 '/debian/*$'
    fi
}

# apt with a state of its own in PLACE: the lists of $suite for $architecture only, and nothing of the machine's is touched.
private_apt() {
    local place=$1 command=$2
    shift 2
    "$command" -q \
        -o Dir::State="$place/state" -o Dir::State::status="$place/state/status" -o Dir::Cache="$place/cache" \
        -o Dir::Etc::SourceList="$place/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
        -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" -o APT::Sandbox::User= \
        -o Acquire::Languages=none -o Acquire::PDiffs=false -o Acquire::Check-Valid-Until=false "$@"
}

# apt_begin PLACE: the lists of $suite for $architecture. apt_end PLACE removes them.
apt_begin() {
    local address keys=
    address=$(mirror)
    [ -n "$address" ] || fail "this machine's apt knows no Debian mirror: set DEBIAN_MIRROR to the address of one"
    [ ! -e /usr/share/keyrings/debian-archive-keyring.gpg ] || keys=" signed-by=/usr/share/keyrings/debian-archive-keyring.gpg"
    mkdir -p "$1"/state/lists/partial "$1"/cache/archives/partial
    : >"$1/state/status"
    echo "deb [arch=$architecture$keys] $address $suite main" >"$1/sources.list"
    private_apt "$1" apt-get update
}
apt_end() { rm -rf "$1"/{state,cache}; }

# packages_unpack PLACE DIRECTORY PACKAGE...: downloads and unpacks them; nothing is installed.
packages_unpack() {
    local place=$1 directory=$2 file
    shift 2
    mkdir -p "$directory" "$place/packages"
    (cd "$place/packages" && private_apt "$place" apt-get download "$@" && for file in *.deb; do dpkg-deb -x "$file" "$directory" || exit 1; done)
    local status=$?
    rm -rf "$place/packages"
    return $status
}
