/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer: any bytes as an ELF file; calls every function that reads it. The tail of the input is also the
 * argument string of a note, for both machines. */
#include <stdlib.h>
#include <string.h>

#include "sym/dwarf/cfi.h"
#include "sym/elf/elf.h"
#include "sym/elf/usdt.h"

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

/* Checks parsed arguments: whatever the text says, each member is in its range. */
static void check_arguments(const struct usdt_arguments *arguments, size_t length)
{
    enum { REGISTERS_BYTES = 512 };
    if (arguments->count > USDT_ARGUMENTS_MAX)
        abort();
    for (unsigned i = 0; i < arguments->count; i++) {
        const struct usdt_argument *a = &arguments->items[i];
        const bool is_known = a->kind != USDT_UNSUPPORTED;
        if (a->text_begin > a->text_end || a->text_end > length || a->symbol_begin > a->symbol_end ||
            a->symbol_end > length || (unsigned)a->kind > USDT_UNSUPPORTED)
            abort();
        if (is_known && a->size != 1 && a->size != 2 && a->size != 4 && a->size != 8)
            abort();
        if (is_known && a->has_index && a->scale != 1 && a->scale != 2 && a->scale != 4 && a->scale != 8)
            abort();
        if (is_known && (a->base.offset > REGISTERS_BYTES || a->index.offset > REGISTERS_BYTES ||
                         a->base.width > 8 || a->index.width > 8))
            abort();
    }
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
    if (!usdt_parse_arguments(text, MACHINE_X86_64, &arguments))
        check_arguments(&arguments, length);
    if (!usdt_parse_arguments(text, MACHINE_AARCH64, &arguments))
        check_arguments(&arguments, length);
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
            if (!usdt_site_arguments(file, &probes.sites[i], &arguments))
                check_arguments(&arguments, strlen(probes.sites[i].arguments));
        }
        usdt_free(&probes);
    }
    elf_file_close(file);
    return 0;
}
