/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the maps of an image, fills the ones with initial values, maps the control page and the event rings
 * into our memory. Either all maps exist afterwards or none does. */
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/kernel_error.h"
#include "kernel/state.h"
#include "kernel/syscalls.h"

static bool map_is_percpu(enum bpf_map_type type)
{
    return type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_PERCPU_ARRAY ||
           type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

/* Letters, digits, '_' and '.', at most 15: what the kernel takes as an object's name. */
static void map_kernel_name(char out[BPF_OBJ_NAME_LEN], const char *name)
{
    size_t length = 0;
    for (; name && *name && length < BPF_OBJ_NAME_LEN - 1; name++) {
        bool letter = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                      (*name >= '0' && *name <= '9') || *name == '_' || *name == '.';
        if (letter)
            out[length++] = *name;
    }
    out[length] = 0;
}

/* Local storage is the one kind of map that insists on types: a 32-bit key, and words as the value. */
static int map_storage_btf(uint32_t value_size)
{
    struct {
        struct btf_header header;
        struct btf_type integer;
        uint32_t integer_encoding;
        struct btf_type word;
        uint32_t word_encoding;
        struct btf_type array;
        struct btf_array array_data;
        char names[10];
    } __attribute__((packed)) blob = {
        .integer = {.name_off = 1, .info = BTF_KIND_INT << 24, .size = 4},
        .integer_encoding = (BTF_INT_SIGNED << 24) | 32,
        .word = {.name_off = 5, .info = BTF_KIND_INT << 24, .size = 8},
        .word_encoding = 64,
        .array = {.info = BTF_KIND_ARRAY << 24},
        .array_data = {.type = 2, .index_type = 1, .nelems = value_size / 8},
        .names = "\0int\0word",
    };
    return syscall_load_btf(&blob, sizeof blob, sizeof blob.names);
}

static int map_create(union bpf_attr *attributes)
{
    return syscall_bpf(BPF_MAP_CREATE, attributes, sizeof *attributes);
}

int create_ring(const char *name, uint32_t bytes)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_type = BPF_MAP_TYPE_RINGBUF;
    attributes.max_entries = bytes;
    map_kernel_name(attributes.map_name, name);
    return map_create(&attributes);
}

/* By one call where the kernel can: each call waits for a grace period, about 10 ms, which on a machine with many CPUs
 * would take a second. */
int create_fill(int map, const uint32_t *slots, const int *values, uint32_t count)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.batch.keys = (uintptr_t)slots;
    attributes.batch.values = (uintptr_t)values;
    attributes.batch.count = count;
    attributes.batch.map_fd = (uint32_t)map;
    int error = syscall_bpf(BPF_MAP_UPDATE_BATCH, &attributes, sizeof attributes);
    if (error) { /* a kernel without batches for such maps */
        error = 0;
        for (uint32_t i = 0; i < count && !error; i++)
            error = syscall_map_update(map, &slots[i], &values[i], BPF_ANY);
    }
    return error;
}

/* Puts a map into every slot. */
static int map_fill(const struct kernel_map *made, const int *values)
{
    uint32_t slots = made->max_entries, *keys = calloc(slots, sizeof *keys);
    if (!keys)
        return -ENOMEM;
    for (uint32_t slot = 0; slot < slots; slot++)
        keys[slot] = slot;
    int error = create_fill(made->fd, keys, values, slots);
    free(keys);
    return error;
}

static int map_fill_rings(const struct kernel *kernel, const struct kernel_map *made, const int *rings)
{
    int *values = calloc(made->max_entries, sizeof *values);
    if (!values)
        return -ENOMEM;
    for (uint32_t cpu = 0; cpu < made->max_entries; cpu++)
        values[cpu] = rings[ring_of_cpu(kernel, cpu)];
    int error = map_fill(made, values);
    free(values);
    return error;
}

/* The arguments of BPF_MAP_CREATE for a map of the image. */
static union bpf_attr map_attributes(const struct image_map *map)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_type = map->type;
    attributes.key_size = map->key_size;
    attributes.value_size = map->value_size;
    attributes.max_entries = map->max_entries;
    map_kernel_name(attributes.map_name, map->name);
    return attributes;
}

/* Makes a map that holds other maps of the image, which were made before it. */
static int map_create_group(const struct kernel *kernel, const struct image_map *map, struct kernel_map *made)
{
    union bpf_attr attributes = map_attributes(map);
    attributes.inner_map_fd = (uint32_t)kernel->maps[map->members[0]].fd;
    made->fd = map_create(&attributes);
    if (made->fd < 0)
        return made->fd;
    int *values = calloc(map->max_entries, sizeof *values);
    if (!values)
        return -ENOMEM;
    for (uint32_t slot = 0; slot < map->max_entries; slot++)
        values[slot] = kernel->maps[map->members[slot]].fd;
    int error = map_fill(made, values);
    free(values);
    return error;
}

/* Every CPU that is online has its own ring. Where programs name them there is no array of them, and its
 * descriptor is that of the first. */
static int map_create_rings(struct kernel *kernel, const struct image_map *map, struct kernel_map *made,
                            int **rings, uint32_t *ring_count)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_type = map->type;
    attributes.key_size = attributes.value_size = 4;
    attributes.max_entries = made->max_entries = kernel->host.features.rings;
    attributes.map_flags = map->flags;
    map_kernel_name(attributes.map_name, map->name);
    made->key_size = made->value_size = made->stride = 4;

    uint32_t count = 0;
    int *fds = calloc(kernel->online_count, sizeof *fds), error = 0;
    if (!fds)
        return -ENOMEM;
    for (; count < kernel->online_count; count++) {
        fds[count] = create_ring(map->name, growth_first_bytes(kernel, map));
        if (fds[count] < 0) {
            error = fds[count];
            goto failed;
        }
    }
    attributes.inner_map_fd = (uint32_t)fds[0];
    bool is_array = map->type == BPF_MAP_TYPE_ARRAY_OF_MAPS;
    made->fd = is_array ? map_create(&attributes) : fcntl(fds[0], F_DUPFD_CLOEXEC, 3);
    if (made->fd < 0) {
        error = is_array ? made->fd : -errno;
        goto failed;
    }
    error = is_array ? map_fill_rings(kernel, made, fds) : 0;
    if (error)
        goto failed; /* the outer map is closed with all others */
    *rings = fds;
    *ring_count = count;
    return 0;
failed:
    while (count)
        close(fds[--count]);
    free(fds);
    return error;
}

int create_task_storage(const char *name, uint32_t value_size)
{
    if (value_size % 8)
        return -EINVAL;
    int btf = map_storage_btf(value_size);
    if (btf < 0)
        return btf;
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_type = BPF_MAP_TYPE_TASK_STORAGE;
    attributes.key_size = 4;
    attributes.value_size = value_size;
    attributes.map_flags = BPF_F_NO_PREALLOC;
    attributes.btf_fd = (uint32_t)btf;
    attributes.btf_key_type_id = 1;
    attributes.btf_value_type_id = 3;
    map_kernel_name(attributes.map_name, name);
    int fd = map_create(&attributes);
    close(btf);
    return fd;
}

/* Makes one of the arrays of one value that a map of arrays holds; this process maps the value. */
static int map_create_inner(const struct image_map *map)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_type = BPF_MAP_TYPE_ARRAY;
    attributes.key_size = 4;
    attributes.value_size = map->inner_bytes;
    attributes.max_entries = 1;
    attributes.map_flags = BPF_F_MMAPABLE;
    map_kernel_name(attributes.map_name, map->name);
    return map_create(&attributes);
}

int kernel_add_array(struct kernel *kernel, const struct image *image, size_t index, uint32_t slot,
                     void **memory)
{
    const struct image_map *map = &image->maps[index];
    int fd = map_create_inner(map);
    if (fd < 0)
        return fd;
    void *mapped = mmap(NULL, map->inner_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int error =
        mapped == MAP_FAILED ? -errno : syscall_map_update(kernel->maps[index].fd, &slot, &fd, BPF_ANY);
    close(fd);
    if (error && mapped != MAP_FAILED)
        munmap(mapped, map->inner_bytes);
    *memory = error ? NULL : mapped;
    return error;
}

static int map_create_plain(const struct image_map *map, struct kernel_map *made, bool is_mapped)
{
    union bpf_attr attributes = map_attributes(map);
    attributes.map_flags = map->flags | (is_mapped ? BPF_F_MMAPABLE : 0);
    int inner = map->inner_bytes ? map_create_inner(map) : 0;
    if (inner < 0)
        return inner;
    attributes.inner_map_fd = (uint32_t)inner;
    int fd = map->type == BPF_MAP_TYPE_TASK_STORAGE ? create_task_storage(map->name, map->value_size)
                                                    : map_create(&attributes);
    if (inner)
        close(inner);
    if (fd < 0)
        return fd;
    made->fd = fd;
    if (map->initial) {
        uint32_t key = 0;
        int error = syscall_map_update(fd, &key, map->initial, BPF_ANY);
        if (error)
            return error;
        attributes = (union bpf_attr){0};
        attributes.map_fd = (uint32_t)fd;
        return syscall_bpf(BPF_MAP_FREEZE, &attributes, sizeof attributes);
    }
    return 0;
}

static void map_explain(struct diagnostics *diagnostics, const struct image_map *map, int error)
{
    struct span span = {0};
    char what[128];
    snprintf(what, sizeof what, "Making the map '%s'", map->name);
    switch (-error) {
    case EPERM: permission_explain(diagnostics, span, what); break;
    case ENOMEM:
        diagnose_error(diagnostics, span, "There is not enough memory for the map '%s'", map->name);
        diagnose_hint(diagnostics,
                      "It asks for %u elements of %u bytes%s. Give it fewer elements, or the rings "
                      "fewer pages.",
                      map->max_entries, map->key_size + map->value_size,
                      map_is_percpu(map->type) ? " for each CPU" : "");
        break;
    case E2BIG:
        diagnose_error(diagnostics, span, "The map '%s' is larger than the kernel allows", map->name);
        diagnose_hint(diagnostics, "It asks for %u elements with keys of %u and values of %u bytes.",
                      map->max_entries, map->key_size, map->value_size);
        break;
    default:
        diagnose_error(diagnostics, span, "The kernel cannot make the map '%s': %s", map->name,
                       kernel_error(error));
        diagnose_hint(diagnostics,
                      "Map type %d, keys of %u bytes, values of %u bytes, %u elements, flags %#x.",
                      (int)map->type, map->key_size, map->value_size, map->max_entries, map->flags);
    }
}

static int control_map(struct kernel *kernel, const struct kernel_map *map)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (map->value_size + page - 1) & ~(page - 1);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, map->fd, 0);
    if (memory == MAP_FAILED)
        return -errno;
    kernel->control = memory;
    kernel->control_size = size;
    return 0;
}

static int create_one(struct kernel *kernel, const struct image *image, size_t index)
{
    const struct image_map *map = &image->maps[index];
    struct kernel_map *made = &kernel->maps[index];
    bool is_own = image->events_own == (int)index;
    bool is_events = image->events == (int)index || image->events_shared == (int)index || is_own;
    bool is_control = image->control >= 0 && (size_t)image->control == index;
    bool is_percpu = map_is_percpu(map->type);
    *made = (struct kernel_map){
        .fd = -1,
        .type = map->type,
        .key_size = map->key_size,
        .value_size = map->value_size,
        .max_entries = map->max_entries,
        .stride = is_percpu ? (map->value_size + 7) & ~7U : map->value_size,
        .values = is_percpu ? kernel->host.features.cpus : 1,
    };
    if (map->value_size > INT32_MAX || map->key_size > INT32_MAX)
        return -E2BIG;
    if (map->members)
        return map_create_group(kernel, map, made);
    if (map->is_ring_per_cpu) {
        int *rings = NULL;
        uint32_t count = 0;
        int error = map_create_rings(kernel, map, made, &rings, &count);
        if (error)
            return error;
        made->ring = kernel->rings.count;
        uint32_t bytes = growth_first_bytes(kernel, map);
        if (is_events)
            error = ring_open(&kernel->rings, rings, count, bytes);
        if (is_events && !error && bytes < map->value_size)
            growth_begin(kernel, made, map->value_size);
        if (!is_events || error)
            for (uint32_t i = 0; i < count; i++)
                close(rings[i]);
        free(rings);
        return error;
    }
    if (map->type == BPF_MAP_TYPE_RINGBUF) {
        uint32_t size = map->max_entries ? map->max_entries : map->value_size;
        made->fd = create_ring(map->name, size);
        if (made->fd < 0 || !is_events)
            return made->fd < 0 ? made->fd : 0;
        int copy = dup(made->fd);
        if (copy < 0)
            return -errno;
        int error = ring_open(is_own ? &kernel->own_rings : &kernel->rings, &copy, 1, size);
        if (error)
            close(copy);
        return error;
    }
    int error = map_create_plain(map, made, is_control);
    if (!error && (int)index == image->stacks && map->flags & BPF_F_NO_PREALLOC)
        prefill_map(kernel, made->fd, map->value_size);
    return error || !is_control ? error : control_map(kernel, made);
}

int create_maps(struct host *host, const struct image *image, struct diagnostics *diagnostics)
{
    struct kernel *kernel = kernel_of(host);
    if (kernel->maps)
        return -EALREADY;
    kernel->maps = calloc(image->map_count + 1, sizeof *kernel->maps);
    if (!kernel->maps)
        return -ENOMEM;
    for (; kernel->map_count < image->map_count; kernel->map_count++) {
        int error = create_one(kernel, image, kernel->map_count);
        if (error) {
            map_explain(diagnostics, &image->maps[kernel->map_count], error);
            if (kernel->maps[kernel->map_count].fd >= 0)
                close(kernel->maps[kernel->map_count].fd);
            while (kernel->map_count)
                close(kernel->maps[--kernel->map_count].fd);
            free(kernel->maps);
            kernel->maps = NULL;
            growth_end(kernel);
            ring_close(&kernel->rings);
            ring_close(&kernel->own_rings);
            if (kernel->control)
                munmap(kernel->control, kernel->control_size);
            kernel->control = NULL;
            return error;
        }
    }
    return 0;
}

int add_maps(struct host *host, const struct image *image, struct diagnostics *diagnostics)
{
    struct kernel *kernel = kernel_of(host);
    struct kernel_map *maps = realloc(kernel->maps, (image->map_count + 1) * sizeof *maps);
    if (!maps)
        return -ENOMEM;
    kernel->maps = maps;
    for (; kernel->map_count < image->map_count; kernel->map_count++) {
        int error = create_one(kernel, image, kernel->map_count);
        if (error) {
            map_explain(diagnostics, &image->maps[kernel->map_count], error);
            if (maps[kernel->map_count].fd >= 0)
                close(maps[kernel->map_count].fd);
            return error;
        }
    }
    return 0;
}
