# SPDX-License-Identifier: BSD-3-Clause
# Builtins and probe kinds write control flow as it runs (ir_if(), ir_label() … in bpf/ir/ir.h): only src/bpf makes blocks, seals and
# enters them.
cd "$1/src" || exit 1
by_hand='ir_(block_new|seal|enter)\('
if grep -rnE "$by_hand" --include='*.[ch]' * | grep -v '^bpf/'; then
    echo "these touch blocks by hand"
    exit 1
fi
grep -qE "$by_hand" bpf/ir/structure.c || { echo "no block was found: this check must follow the source" && exit 1; }
