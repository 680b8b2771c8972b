/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer: any bytes as an ELF file, with every question that we ask of one; and the tail of the input as
 * the argument string of a note, for both machines. */
#include <stdlib.h>
#include <string.h>

#include "sym/cfi.h"
#include "sym/elf.h"
#include "sym/usdt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int see_symbol(void *context, const struct elf_symbol *symbol)
{
    *(size_t *)context += strlen(symbol->name);
    return 0;
}

static int see_site(void *context, const struct usdt_site *site)
{
    size_t *sum = context;
    *sum += strlen(site->provider) + strlen(site->name) + strlen(site->arguments);
    for (unsigned i = 0; i < site->declared_count; i++)
        *sum += strlen(site->declared[i].type) + strlen(site->declared[i].name);
    return 0;
}

static void fuzz_arguments(const uint8_t *data, size_t size)
{
    size_t length = size < 512 ? size : 512;
    struct usdt_arguments arguments;
    char *text = malloc(length + 1);
    if (!text)
        return;
    memcpy(text, data + size - length, length);
    text[length] = '\0';
    usdt_parse_arguments(text, MACHINE_X86_64, &arguments);
    usdt_parse_arguments(text, MACHINE_AARCH64, &arguments);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elf_file *file;
    struct elf_symbol symbol;
    struct usdt_probes probes;
    struct cfi_rows rows;
    size_t sum = 0;
    uint64_t number;
    fuzz_arguments(data, size);
    if (elf_file_open_memory(data, size, &file))
        return 0;
    elf_file_build_id(file, &sum);
    elf_file_each_function(file, "*a*", see_symbol, &sum);
    elf_file_function(file, "main", &symbol);
    for (uint64_t address = 0; address < 1 << 20; address += 4093) {
        elf_file_nearest(file, address, &symbol);
        elf_file_offset(file, address, &number);
        elf_file_code_address(file, address, &number);
    }
    if (!cfi_read(file, &rows)) {
        for (size_t i = 0; i < rows.count; i++)
            if (cfi_find(&rows, rows.items[i].place) != &rows.items[i])
                abort();
        cfi_free(&rows);
    }
    if (!usdt_read(file, &probes)) {
        usdt_each(&probes, NULL, "*", see_site, &sum);
        for (size_t i = 0; i < probes.count; i++) {
            struct usdt_arguments arguments;
            usdt_site_arguments(file, &probes.sites[i], &arguments);
        }
        usdt_free(&probes);
    }
    elf_file_close(file);
    return 0;
}
