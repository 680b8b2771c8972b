#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The language server, asked by a client in Python, which also sends what no client should, and by Neovim where it is installed.
# tests/programs/lsp.sh BUILD
set -u
build=$(cd "${1:?usage: lsp.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-lsp.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin" "$dir/work" && ln -s "$build/spoor" "$dir/bin/spoor" && cp "$build/targets/calls" "$dir/work" && cd "$dir/work" || exit 1
status=0
PATH=$dir/bin:$PATH python3 "$root/tests/programs/lsp.py" || status=1
if command -v nvim >/dev/null; then
    HOME=$dir XDG_STATE_HOME=$dir/state XDG_CACHE_HOME=$dir/cache XDG_RUNTIME_DIR=$dir PATH=$dir/bin:$PATH timeout 60 \
        nvim --headless --clean -S "$root/tests/programs/lsp.lua" >screen 2>&1
    cat results
    [ "$(grep -c '^ok' results)" = 6 ] || { echo "not ok neovim comes to its end" && tail -c 2000 screen && status=1; }
else
    echo "skip neovim: it is not installed"
fi
exit $status
