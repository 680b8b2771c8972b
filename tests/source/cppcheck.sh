# SPDX-License-Identifier: BSD-3-Clause
# cppcheck finds no mistake in the source but those that it only believes to see, which are named here: those of Debian 12's
# version. Each has others.
cd "$1" || exit 1
version=$(cppcheck --version | sed 's/^Cppcheck //')
[ "$version" = 2.10 ] || { echo "cppcheck $version is not the one whose beliefs are known, 2.10" && exit 77; }
believed='
# Memory that has gone into a struct, by a compound literal
memleak:src/base/table.c
memleak:src/recorder/registry.c
memleak:src/sym/dwarf/index.c
# Compound literals behind a question mark, which it cannot read
internalAstError:src/bpf/lower/expression.c
internalAstError:src/bpf/lower/memory.c
# What is handed a local variable does not keep it
returnDanglingLifetime:src/bpf/lower/access.c
autoVariables:src/probe/expand.c
# A table of labels
assignBoolToPointer:src/vm/run.c
# if (*slot) return *slot;
identicalInnerCondition:src/sym/kernel/btf_types.c
'
mkdir -p build/lint/cppcheck # what it found in files that have not changed
cppcheck --quiet --cppcheck-build-dir=build/lint/cppcheck -j "$(nproc)" --std=c11 --platform=unix64 -D__linux__ -D__LP64__ -D"__$(uname -m)__" -D_GNU_SOURCE -Isrc -Iinclude \
    --enable=warning,portability --suppressions-list=<(grep -v '^$' <<<"$believed") --error-exitcode=1 src
