#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# TAB in a real bash, on a terminal, and in zsh and fish where they are installed: commands, options, and values by their kind; within
# 50 ms. tests/programs/completion.sh BUILD
set -u
build=$(cd "${1:?usage: completion.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-completion.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin" "$dir/work" && ln -s "$build/spoor" "$dir/bin/spoor" && cp "$build"/targets/{calls,counts,sites} "$dir/work" && cd "$dir/work" || exit 1
mkdir 'a folder' && touch 'a file.bt' recording.spoor
PATH=$dir/bin:$PATH python3 "$root/tests/programs/completion.py" "$root"
