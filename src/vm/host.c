/* SPDX-License-Identifier: BSD-3-Clause */
/* The VM as a host: lays out the memory that programs have, loads, runs, hands out what they sent. Everything
 * happens in the caller's thread; records wait in the ring until they are asked for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "vm/state.h"

enum { ALIGNMENT = 64, RING_HEADER = 8 };
#define BUDGET_DEFAULT (UINT64_C(1) << 28)
#define RING_DEFAULT (UINT64_C(64) << 20)

/* ---- memory ---- */

static uint64_t place_after(uint64_t *end, uint64_t bytes)
{
    uint64_t at = *end;
    *end += (bytes + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
    return at;
}

static void free_maps(struct vm *vm)
{
    for (size_t i = 0; i < vm->map_count; i++)
        vm_map_close(&vm->maps[i]);
    free(vm->maps);
    if (vm->memory)
        munmap(vm->memory, vm->size);
    vm->maps = NULL;
    vm->map_count = 0;
    vm->memory = NULL;
    vm->control = NULL;
    vm->context = NULL;
}

static int map_explain(struct diagnostics *diagnostics, const struct image_map *map, int error)
{
    if (error == -ENOMEM) {
        diagnose_error(diagnostics, (struct span){0}, "There is not enough memory for the map '%s'",
                       map->name);
        diagnose_hint(diagnostics, "It asks for %u elements of %u bytes. Give it fewer elements.",
                      map->max_entries, map->key_size + map->value_size);
    } else {
        diagnose_error(diagnostics, (struct span){0},
                       "The map '%s' needs the kernel, and no kernel runs this script", map->name);
        diagnose_hint(diagnostics, "Map type %d, keys of %u bytes, values of %u bytes, %u elements.",
                      (int)map->type, map->key_size, map->value_size, map->max_entries);
    }
    return error;
}

static int vm_create_maps(struct host *host, const struct image *image, struct diagnostics *diagnostics)
{
    struct vm *vm = vm_of(host);
    if (vm->maps)
        return -EALREADY;
    uint64_t *places = calloc(image->map_count + 1, sizeof *places), end = 0;
    vm->maps = calloc(image->map_count + 1, sizeof *vm->maps);
    if (!places || !vm->maps) {
        free(places);
        free_maps(vm);
        return -ENOMEM;
    }
    uint64_t context = place_after(&end, sizeof *vm->context);
    uint64_t indices = place_after(&end, (VM_FRAMES + 1) * sizeof *vm->indices);
    uint64_t frames = place_after(&end, VM_FRAMES * VM_FRAME_BYTES);
    uint64_t ring = place_after(&end, vm->ring_size);
    int error = 0;
    const struct image_map *bad = NULL;
    for (size_t i = 0; i < image->map_count && !error; i++) {
        uint64_t bytes = vm_map_bytes(&image->maps[i]);
        places[i] = place_after(&end, bytes);
        if (!bytes || end > (uint64_t)1 << 46) {
            error = bytes ? -ENOMEM : -EOPNOTSUPP;
            bad = &image->maps[i];
        }
    }
    /* Pages of it that are never touched take no memory. */
    void *memory =
        error ? MAP_FAILED
              : mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!error && memory == MAP_FAILED) {
        error = -ENOMEM;
        bad = image->map_count ? &image->maps[image->map_count - 1] : NULL;
    }
    if (!error) {
        vm->memory = memory;
        vm->size = end;
        vm->context = (struct image_event *)(vm->memory + context);
        vm->indices = (uint64_t *)(vm->memory + indices);
        vm->frames = vm->memory + frames;
        vm->ring = vm->memory + ring;
    }
    for (size_t i = 0; i < image->map_count && !error; i++) {
        bad = &image->maps[i];
        error = vm_map_open(&vm->maps[vm->map_count++], bad, vm->memory + places[i]);
    }
    free(places);
    if (error) {
        free_maps(vm);
        return bad ? map_explain(diagnostics, bad, error) : error;
    }
    if (image->control >= 0 && (size_t)image->control < vm->map_count &&
        vm->maps[image->control].value_size >= sizeof(struct image_control))
        vm->control = (struct image_control *)vm->maps[image->control].elements;
    return 0;
}

/* ---- programs ---- */

static int vm_load(struct host *host, const struct image *image, size_t index,
                   struct diagnostics *diagnostics)
{
    struct vm *vm = vm_of(host);
    if (index >= image->program_count)
        return -EINVAL;
    if (index >= vm->program_count) {
        struct vm_program *programs = realloc(vm->programs, image->program_count * sizeof *programs);
        if (!programs)
            return -ENOMEM;
        vm->programs = programs;
        while (vm->program_count < image->program_count)
            programs[vm->program_count++] = (struct vm_program){0};
    }
    if (vm->programs[index].steps)
        return -EALREADY;
    return vm_decode(vm, image, &image->programs[index], &vm->programs[index], diagnostics);
}

static int vm_run_plainly(struct host *host, size_t program)
{
    struct vm *vm = vm_of(host);
    if (vm->context)
        memset(vm->context, 0, sizeof *vm->context);
    return vm_run(vm, program, NULL);
}

/* ---- maps, for the reader ---- */

static struct vm_map *map_get(struct host *host, size_t index)
{
    struct vm *vm = vm_of(host);
    struct vm_map *map = index < vm->map_count ? &vm->maps[index] : NULL;
    return map && (map->is_array || map->is_hash) ? map : NULL;
}

static int vm_map_each(struct host *host, size_t index, host_element *element, void *state)
{
    struct vm_map *map = map_get(host, index);
    uint32_t position = 0, number;
    uint8_t *key, *value;
    int result = 0;
    if (!map)
        return -EINVAL;
    while (!result && vm_map_next(map, &position, &key, &value)) {
        number = position - 1;
        if (map->is_array)
            key = map->max_entries == 1 ? NULL : (uint8_t *)&number;
        result = element(state, key, value);
    }
    return result;
}

static int vm_map_lookup(struct host *host, size_t index, const void *key, void *values)
{
    struct vm_map *map = map_get(host, index);
    static const uint64_t zero;
    if (!map || (!key && map->is_hash))
        return -EINVAL;
    const uint8_t *found = vm_map_find(map, key ? key : &zero);
    if (!found)
        return -ENOENT;
    memcpy(values, found, map->value_size);
    return 0;
}

static int vm_map_remove(struct host *host, size_t index, const void *key)
{
    struct vm_map *map = map_get(host, index);
    static const uint64_t zero;
    if (!map || (!key && map->is_hash))
        return -EINVAL;
    if (map->is_hash)
        return vm_map_delete(map, key);
    uint8_t *found = vm_map_find(map, key ? key : &zero);
    if (!found)
        return -ENOENT;
    memset(found, 0, map->value_size);
    return 0;
}

static int vm_map_clear_all(struct host *host, size_t index)
{
    struct vm_map *map = map_get(host, index);
    if (!map)
        return -EINVAL;
    vm_map_clear(map);
    return 0;
}

static int vm_map_zero_all(struct host *host, size_t index)
{
    struct vm_map *map = map_get(host, index);
    if (!map)
        return -EINVAL;
    vm_map_zero(map);
    return 0;
}

/* ---- records ---- */

/* The ring is in the programs' memory, so what stands in it is checked. */
static int vm_consume(struct host *host, bool drain, host_record *record, void *state)
{
    struct vm *vm = vm_of(host);
    int count = 0, result = 0;
    (void)drain;
    while (vm->ring_begin < vm->ring_end && !result) {
        uint64_t length, room = vm->ring_end - vm->ring_begin - RING_HEADER;
        memcpy(&length, vm->ring + vm->ring_begin, sizeof length);
        if (length > room)
            length = room;
        const uint8_t *at = vm->ring + vm->ring_begin + RING_HEADER;
        if (length >= sizeof(struct image_record)) {
            result = record(state, at, length);
            if (result == -ENOBUFS)
                return result;
            count++;
        }
        vm->ring_begin += RING_HEADER + ((length + 7) & ~(uint64_t)7);
    }
    if (vm->ring_begin >= vm->ring_end)
        vm->ring_begin = vm->ring_end = 0;
    return result ? result : count;
}

static struct image_control *vm_control(struct host *host)
{
    return vm_of(host)->control;
}

static int vm_descriptor(struct host *host)
{
    (void)host;
    return -1;
}

static uint64_t vm_disorder(struct host *host)
{
    (void)host;
    return 0;
}

static uint64_t vm_host_clock(struct host *host)
{
    return vm_clock(vm_of(host));
}

static struct host_runs vm_runs(struct host *host, size_t program)
{
    (void)host, (void)program;
    return (struct host_runs){0};
}

static int vm_unwatch(struct host *host, uint64_t address)
{
    (void)host, (void)address;
    return -ENOENT;
}

static void vm_close(struct host *host)
{
    struct vm *vm = vm_of(host);
    for (size_t i = 0; i < vm->program_count; i++)
        free(vm->programs[i].steps);
    free(vm->programs);
    free_maps(vm);
    free(vm);
}

static const struct host_operations operations = {
    .create_maps = vm_create_maps,
    .load = vm_load,
    .run = vm_run_plainly,
    .map_each = vm_map_each,
    .map_lookup = vm_map_lookup,
    .map_delete = vm_map_remove,
    .map_clear = vm_map_clear_all,
    .map_zero = vm_map_zero_all,
    .control = vm_control,
    .descriptor = vm_descriptor,
    .consume = vm_consume,
    .disorder = vm_disorder,
    .clock = vm_host_clock,
    .runs = vm_runs,
    .unwatch = vm_unwatch,
    .close = vm_close,
};

int vm_open(const struct vm_options *options, struct vm **out)
{
    struct vm *vm = calloc(1, sizeof *vm);
    if (!vm)
        return -ENOMEM;
    vm->host.operations = &operations;
    /* One CPU, one ring, nothing that sleeps. */
    vm->host.features = (struct features){
        .alu32_jmp32 = true,
        .atomic_fetch = true,
        .signed_division = true,
        .loop = true,
        .for_each_map = true,
        .lookup_percpu = true,
        .ring_buffer = true,
        .boot_clock = true,
        .tai_clock = true,
        .program_btf = true,
        .tagged_context = true,
        .long_keys = true,
        .read_kernel = true,
        .jiffies = true,
        .cgroup_id = true,
        .btf = true, /* the types of the kernel that this runs on */
        .cpus = 1,
        .rings = 1,
    };
    vm->budget = options && options->budget ? options->budget : BUDGET_DEFAULT;
    vm->ring_size = options && options->ring_bytes ? options->ring_bytes : RING_DEFAULT;
    vm->random = vm_clock(vm);
    if (!vm->random)
        vm->random = 1;
    *out = vm;
    return 0;
}

uint64_t vm_spent(const struct vm *vm)
{
    return vm->budget - vm->left;
}

bool vm_has_records(const struct vm *vm)
{
    return vm->ring_begin < vm->ring_end;
}

struct host *vm_host(struct vm *vm)
{
    return &vm->host;
}

struct image_event *vm_context(struct vm *vm)
{
    return vm->context;
}

struct vm_event *vm_event_here(struct vm *vm)
{
    vm->has_event = true;
    return &vm->event;
}

void vm_event(struct vm *vm, const struct vm_event *event)
{
    vm->has_event = event != NULL;
    if (event)
        vm->event = *event;
}
