/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer: any bytes as an ELF file whose call frame information is read. Rows must be in order, and each must be
 * found at its place. */
#include <stdlib.h>

#include "sym/dwarf/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elf_file *file;
    struct cfi_rows rows;
    if (elf_file_open_memory(data, size, &file))
        return 0;
    if (!cfi_read(file, &rows)) {
        for (size_t i = 0; i < rows.count; i++)
            if ((i && rows.items[i].place <= rows.items[i - 1].place) ||
                cfi_find(&rows, rows.items[i].place) != &rows.items[i])
                abort();
        cfi_free(&rows);
    }
    elf_file_close(file);
    return 0;
}
