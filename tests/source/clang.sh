# SPDX-License-Identifier: BSD-3-Clause
# clang compiles source, tests, examples and benchmarks without a warning, and in the source clang-tidy finds nothing of what
# .clang-tidy names, no function that is too long either. Files that were looked at before are looked at again when they have
# changed, or what they include has.
cd "$1" || exit 1
make --no-print-directory -s -k -j"$(nproc)" lint-files
