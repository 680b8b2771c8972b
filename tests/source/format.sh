# SPDX-License-Identifier: BSD-3-Clause
# The source is formatted as .clang-format says: `make format`. Versions of clang-format differ in details: the source is as
# Debian 12's has it.
cd "$1" || exit 1
version=$(clang-format --version | sed 's/.*version \([0-9]*\).*/\1/')
[ "$version" = 14 ] || { echo "clang-format $version is not the one of the source, 14" && exit 77; }
. tests/lib/changed.sh
set -o pipefail
make --no-print-directory -s format FORMAT="printf '%s\n'" | changed_files format .clang-format |
    xargs -r clang-format --dry-run --Werror && changed_settled format
