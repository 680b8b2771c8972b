/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer: any bytes as texts of processes, of the kernel and of other programs: maps and formats of /proc and
 * tracefs, JSON, lines of JSON, a list of kernel symbols, mangled names. The first byte chooses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/text.h"
#include "reader/json_lines.h"
#include "reader/json_read.h"
#include "sym/apart.h"
#include "sym/elf/archive.h"
#include "sym/demangle.h"
#include "sym/kernel/kallsyms.h"
#include "sym/process/proc.h"
#include "sym/kernel/tracefs.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The reading itself is tested, without the service in which it runs otherwise. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    apart_pretend();
    return 0;
}

static void fuzz_maps(const char *text)
{
    struct proc_maps maps;
    if (proc_maps_parse(text, &maps))
        return;
    for (size_t i = 0; i < maps.count; i++) {
        const struct proc_mapping *found = proc_maps_find(&maps, maps.items[i].start);
        if (found && (found->start > maps.items[i].start || strlen(found->path) > strlen(text)))
            abort();
    }
    proc_maps_free(&maps);
}

static void fuzz_format(const char *text)
{
    struct arena arena = {0};
    jmp_buf out_of_memory;
    const struct type *type;
    if (!arena_guard(&arena, out_of_memory))
        tracefs_format_parse(&arena, NULL, "fuzz", "event", text, &type);
    arena_free(&arena);
}

static void fuzz_json(const char *text, size_t size)
{
    struct json_wanted wanted[] = {{.name = "type"}, {.name = "data"}, {.name = "time_ns"}};
    const size_t count = sizeof wanted / sizeof wanted[0];
    if (!json_read_object(text, size, wanted, count))
        return;
    for (size_t i = 0; i < count; i++) {
        struct text out = {0};
        uint64_t number;
        if (!wanted[i].value.bytes)
            continue;
        json_read_string(&wanted[i].value, &out);
        json_read_unsigned(&wanted[i].value, &number);
        text_free(&out);
    }
}

static void fuzz_file(const char *path, int file, unsigned which)
{
    struct json_lines *lines;
    struct json_line line;
    struct kallsyms *symbols;
    struct kernel_symbol symbol;
    struct text why = {0};
    uint64_t number, length;
    if (which == 3 && !json_lines_open(path, NULL, &lines, &why)) {
        while (json_lines_next(lines, UINT64_MAX, &line) == 1)
            if (line.text_length > line.length)
                abort();
        json_lines_close(lines);
    } else if (which == 4 && !kallsyms_open(path, &symbols)) {
        for (uint64_t address = 0; address < 1 << 16; address += 509)
            kallsyms_resolve(symbols, UINT64_C(0xffffffff81000000) + address, &symbol);
        kallsyms_resolve(symbols, UINT64_MAX, &symbol);
        kallsyms_address(symbols, "main", &number);
        kallsyms_close(symbols);
    } else if (which == 5)
        archive_member(file, "lib/x86_64/libx.so", &number, &length);
    text_free(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    const unsigned which = data[0] % 7;
    char *text = malloc(size), path[32];
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (which == 0)
        fuzz_maps(text);
    else if (which == 1)
        fuzz_format(text);
    else if (which == 2)
        fuzz_json(text, size - 1);
    else if (which == 6)
        free(symbol_demangle(text));
    else {
        const int file = memfd_create("fuzz", MFD_CLOEXEC);
        if (file < 0 || write(file, text, size - 1) != (ssize_t)(size - 1))
            abort();
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        fuzz_file(path, file, which);
        close(file);
    }
    free(text);
    return 0;
}
