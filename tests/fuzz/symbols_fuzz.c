/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer: any bytes as the /tmp/perf-PID.map of a process, and as an ELF file whose symbols are packed in
 * .gnu_debugdata or in another file. */
#include <stdlib.h>
#include <string.h>

#include "sym/apart.h"
#include "sym/return_address.h"
#include "sym/elf/debug_file.h"
#include "sym/process/perf_map.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The reading itself is tested, without the service in which it runs otherwise. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    apart_pretend();
    return 0;
}

static void fuzz_map(const uint8_t *data, size_t size)
{
    struct perf_map *map;
    uint64_t start;
    if (perf_map_parse((const char *)data, size, &map))
        return;
    for (uint64_t address = 0; address < 1 << 16; address += 251) {
        const char *name = perf_map_find(map, address, &start);
        if (name && (start > address || strlen(name) > 1024))
            abort();
    }
    perf_map_find(map, UINT64_MAX, &start);
    perf_map_close(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elf_file *file, *found;
    struct elf_symbol symbol;
    void *bytes;
    fuzz_map(data, size);
    if (elf_file_open_memory(data, size, &file))
        return 0;
    if (!debug_data_open(file, &bytes, &found)) {
        elf_file_nearest(found, 0x1000, &symbol);
        elf_file_close(found);
        free(bytes);
    }
    if (!debug_file_open(file, "/nowhere/program", 0, NULL, &found))
        elf_file_close(found);
    for (uint64_t offset = 0; offset < size; offset += 61)
        call_before(file, offset);
    elf_file_close(file);
    return 0;
}
