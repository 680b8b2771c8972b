# SPDX-License-Identifier: BSD-3-Clause
# The source is formatted as .clang-format says: `make format`.
cd "$1" || exit 1
make --no-print-directory -s format FORMAT="clang-format --dry-run --Werror"
