#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The flame graphs of spoor profile, SVG and HTML, in a browser.
#   tests/programs/flame.sh BUILD
set -u
build=$(cd "${1:?usage: flame.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/lib/browsers.bash"
mapfile -t browsers < <(browsers)
if [ ${#browsers[@]} = 0 ]; then
    echo "skip everything: there is no browser"
    exit 0
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-flame.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
rm -rf "$build/flame"
cat >"$dir/in" <<'EOT'
p;main;half 400
p;main;half;deep 100
p;main;twice 100
p;main;twice;twice 200
p;main;<img src=x onerror=broken=1>(</script><script>broken=1</script> 200
EOT
for format in svg html; do
    "$build/spoor" profile -q --read "$dir/in" -o "$dir/flame.$format" || echo "not ok flame: $format"
done
for browser in "${browsers[@]}"; do
    pictures=$build/flame/${browser##*/}
    mkdir -p "$pictures"
    python3 "$root/tests/programs/flame.py" "$root" "$browser" "$dir" "$pictures" "$dir"/flame.{svg,html}
    rm -rf "$dir"/profile*
done
