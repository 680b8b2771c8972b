#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the tutorial, the pages about the language and the README show is what comes: documents.sh BUILD.
set -u
build=$(cd "${1:?usage: documents.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" = 0 ] || { echo "skip documents: needs root" && exit 0; }
[[ $(nm -D "$build/spoor") != *__asan_init* ]] || { echo "skip documents: its programs are linked without sanitizers" && exit 0; }
for document in README.md docs/tutorial.md man/spoor-script.7; do
    python3 "$root/tests/programs/documents.py" "$build" "$root/$document" || echo "not ok $document: status $?"
done
