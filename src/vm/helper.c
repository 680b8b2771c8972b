/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs call, with the answers of the kernel's helpers. Pointers come from programs and are checked
 * here, each for as many bytes as will be touched; what the kernel's verifier would have refused ends the
 * program. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "vm/state.h"

enum { COMM = 16, LOOP_MAX = 1 << 23, RING_HEADER = 8 };

static uint64_t refuse(struct vm *vm)
{
    vm->stopped = -EFAULT;
    return 0;
}

static uint64_t answer(int64_t error)
{
    return (uint64_t)error;
}

/* ---- maps ---- */

static uint64_t map_lookup(struct vm *vm, uint64_t handle, uint64_t key, uint64_t c, uint64_t d, uint64_t e)
{
    (void)c, (void)d, (void)e;
    struct vm_map *map = vm_map_of(vm, handle);
    void *at = map ? vm_at(vm, key, map->key_size) : NULL;
    if (!at)
        return refuse(vm);
    if (map->is_ring) /* the ring of this CPU: there is one */
        return VM_HANDLE_RING;
    return (uint64_t)(uintptr_t)vm_map_find(map, at);
}

static uint64_t map_lookup_percpu(struct vm *vm, uint64_t handle, uint64_t key, uint64_t cpu, uint64_t d,
                                  uint64_t e)
{
    uint64_t found = map_lookup(vm, handle, key, 0, d, e);
    return (uint32_t)cpu ? 0 : found;
}

static uint64_t map_update(struct vm *vm, uint64_t handle, uint64_t key, uint64_t value, uint64_t flags,
                           uint64_t e)
{
    (void)e;
    struct vm_map *map = vm_map_of(vm, handle);
    void *at = map ? vm_at(vm, key, map->key_size) : NULL;
    void *from = map ? vm_at(vm, value, map->value_size) : NULL;
    return at && from ? answer(vm_map_update(map, at, from, flags)) : refuse(vm);
}

static uint64_t map_delete(struct vm *vm, uint64_t handle, uint64_t key, uint64_t c, uint64_t d, uint64_t e)
{
    (void)c, (void)d, (void)e;
    struct vm_map *map = vm_map_of(vm, handle);
    void *at = map ? vm_at(vm, key, map->key_size) : NULL;
    return at ? answer(vm_map_delete(map, at)) : refuse(vm);
}

/* ---- callbacks ---- */

static bool code_of(const struct vm *vm, uint64_t handle, uint32_t *first)
{
    *first = (uint32_t)handle;
    return (handle & VM_HANDLE_MASK) == VM_HANDLE_CODE && *first < vm->program->count;
}

/* Runs a callback. False: the loop is over. */
static bool call_back(struct vm *vm, uint32_t first, const uint64_t arguments[VM_ARGUMENTS])
{
    if (!--vm->left) {
        vm->stopped = -ELOOP;
        return false;
    }
    return !vm_execute(vm, first, arguments) && !vm->stopped;
}

static uint64_t loop(struct vm *vm, uint64_t iterations, uint64_t code, uint64_t context, uint64_t flags,
                     uint64_t e)
{
    (void)e;
    uint32_t first;
    if (!code_of(vm, code, &first))
        return refuse(vm);
    if (flags)
        return answer(-EINVAL);
    if ((uint32_t)iterations > LOOP_MAX)
        return answer(-E2BIG);
    for (uint32_t i = 0; i < (uint32_t)iterations; i++)
        if (!call_back(vm, first, (const uint64_t[VM_ARGUMENTS]){i, context}))
            return i + 1;
    return (uint32_t)iterations;
}

static uint64_t for_each(struct vm *vm, uint64_t handle, uint64_t code, uint64_t context, uint64_t flags,
                         uint64_t e)
{
    (void)e;
    struct vm_map *map = vm_map_of(vm, handle);
    uint32_t first, position = 0, index;
    uint64_t count = 0;
    uint8_t *key, *value;
    if (!map || !code_of(vm, code, &first))
        return refuse(vm);
    if (flags)
        return answer(-EINVAL);
    while (vm_map_next(map, &position, &key, &value)) {
        /* The key of an array's element is a word of its own in the memory of programs. */
        index = position - 1;
        if (map->is_array) {
            key = (uint8_t *)&vm->indices[vm->depth];
            memcpy(key, &index, sizeof index);
        }
        count++;
        if (!call_back(vm, first,
                       (const uint64_t[VM_ARGUMENTS]){handle, (uint64_t)(uintptr_t)key,
                                                      (uint64_t)(uintptr_t)value, context}))
            break;
    }
    return count;
}

/* ---- memory ---- */

/* Finds a text of the event, which is outside of the memory of programs. What is read behind it is 0. */
static bool find_text(struct vm *vm, uint64_t address, struct vm_text *text, uint64_t *offset)
{
    uint64_t which = (address - VM_TEXT_BASE) >> 32;
    *offset = (address - VM_TEXT_BASE) & UINT32_MAX;
    return address >= VM_TEXT_BASE && which < VM_TEXTS && vm->has_event && vm->event.text &&
           vm->event.text(vm->event.state, (unsigned)which, text) && *offset <= text->length;
}

static uint64_t probe_read(struct vm *vm, uint64_t to, uint64_t size, uint64_t from, uint64_t d, uint64_t e)
{
    (void)d, (void)e;
    size = (uint32_t)size;
    uint8_t *target = vm_at(vm, to, size);
    const uint8_t *source = vm_at(vm, from, size);
    struct vm_text text;
    uint64_t offset;
    if (!target)
        return refuse(vm);
    if (source) {
        memmove(target, source, size);
        return 0;
    }
    memset(target, 0, size);
    if (find_text(vm, from, &text, &offset)) {
        uint64_t have = text.length - offset;
        memcpy(target, text.bytes + offset, size < have ? size : have);
        return 0;
    }
    return answer(-EFAULT);
}

static uint64_t probe_read_str(struct vm *vm, uint64_t to, uint64_t size, uint64_t from, uint64_t d,
                               uint64_t e)
{
    (void)d, (void)e;
    size = (uint32_t)size;
    char *target = vm_at(vm, to, size);
    const char *source = vm_at(vm, from, 1);
    struct vm_text text;
    uint64_t offset, room;
    if (!target)
        return refuse(vm);
    if (!size)
        return 0;
    if (source) {
        room = vm->size - (from - (uint64_t)(uintptr_t)vm->memory);
    } else if (find_text(vm, from, &text, &offset)) {
        source = text.bytes + offset;
        room = text.length - offset;
    } else {
        memset(target, 0, size);
        return answer(-EFAULT);
    }
    uint64_t length = strnlen(source, room < size - 1 ? room : size - 1);
    memmove(target, source, length);
    target[length] = 0;
    return length + 1;
}

static uint64_t copy_text(struct vm *vm, uint64_t to, uint64_t size, uint64_t from, uint64_t flags,
                          uint64_t e)
{
    uint64_t got = probe_read_str(vm, to, size, from, 0, e);
    uint64_t end = (int64_t)got < 0 ? 0 : got;
    uint8_t *target = flags & 1 ? vm_at(vm, to, (uint32_t)size) : NULL; /* BPF_F_PAD_ZEROS */
    if (target && end < (uint32_t)size)
        memset(target + end, 0, (uint32_t)size - end);
    return got;
}

static uint64_t compare(struct vm *vm, uint64_t one, uint64_t size, uint64_t other, uint64_t d, uint64_t e)
{
    (void)d, (void)e;
    size = (uint32_t)size;
    const char *a = vm_at(vm, one, size), *b = vm_at(vm, other, 1);
    if (!a || !b)
        return refuse(vm);
    uint64_t room = vm->size - (other - (uint64_t)(uintptr_t)vm->memory);
    return answer(strncmp(a, b, size < room ? size : room));
}

/* ---- who and when ---- */

uint64_t vm_clock(struct vm *vm)
{
    if (vm->has_event && vm->event.time)
        return vm->event.time;
    return clock_ns(CLOCK_BOOTTIME);
}

static uint64_t ktime_tai(struct vm *vm, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    (void)a, (void)b, (void)c, (void)d, (void)e;
    return vm_clock(vm) + (uint64_t)clock_ahead(CLOCK_TAI);
}

static uint64_t ktime_monotonic(struct vm *vm, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    (void)a, (void)b, (void)c, (void)d, (void)e;
    return vm_clock(vm) + (uint64_t)clock_ahead(CLOCK_MONOTONIC);
}

static uint64_t ktime(struct vm *vm, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    (void)a, (void)b, (void)c, (void)d, (void)e;
    return vm_clock(vm);
}

static uint64_t pid_tgid(struct vm *vm, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    (void)a, (void)b, (void)c, (void)d, (void)e;
    if (vm->has_event)
        return (uint64_t)vm->event.pid << 32 | vm->event.tid;
    return (uint64_t)(uint32_t)getpid() << 32 | (uint32_t)syscall(SYS_gettid);
}

/* struct bpf_pidns_info */
static uint64_t ns_pid_tgid(struct vm *vm, uint64_t a, uint64_t b, uint64_t to, uint64_t size, uint64_t e)
{
    (void)a, (void)b, (void)e;
    uint32_t *ids = vm_at(vm, to, 8);
    if (!ids || size != 8)
        return refuse(vm);
    uint64_t both = pid_tgid(vm, 0, 0, 0, 0, 0);
    memcpy(ids, &both, sizeof both);
    return 0;
}

static uint64_t cpu(struct vm *vm, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    (void)a, (void)b, (void)c, (void)d, (void)e;
    return vm->has_event ? vm->event.cpu : 0;
}

static uint64_t comm(struct vm *vm, uint64_t to, uint64_t size, uint64_t c, uint64_t d, uint64_t e)
{
    (void)c, (void)d, (void)e;
    char *target = vm_at(vm, to, (uint32_t)size), own[COMM] = "";
    if (!target || !(uint32_t)size)
        return refuse(vm);
    if (!vm->has_event)
        prctl(PR_GET_NAME, own);
    const char *name = vm->has_event && vm->event.comm ? vm->event.comm : own;
    size_t length = strnlen(name, (uint32_t)size - 1);
    memset(target, 0, (uint32_t)size);
    memcpy(target, name, length);
    return 0;
}

static uint64_t random_number(struct vm *vm, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    (void)a, (void)b, (void)c, (void)d, (void)e;
    vm->random ^= vm->random << 13;
    vm->random ^= vm->random >> 7;
    vm->random ^= vm->random << 17;
    return vm->random >> 32;
}

/* ---- the ring: {u64 length} and the record, one after the other until they are taken ---- */

static bool is_ring(struct vm *vm, uint64_t handle)
{
    const struct vm_map *map = vm_map_of(vm, handle);
    return handle == VM_HANDLE_RING || (map && map->is_ring);
}

static uint8_t *ring_room(struct vm *vm, uint64_t size)
{
    uint64_t left = vm->ring_size - vm->ring_end;
    if (size > left || left - size < 2 * RING_HEADER)
        return NULL;
    return vm->ring + vm->ring_end + RING_HEADER;
}

/* The length is kept where the program cannot reach it until the record is whole: it is written here. */
static void ring_commit(struct vm *vm, uint64_t size)
{
    memcpy(vm->ring + vm->ring_end, &size, sizeof size);
    vm->ring_end += RING_HEADER + ((size + 7) & ~(uint64_t)7);
}

static uint64_t ring_output(struct vm *vm, uint64_t ring, uint64_t from, uint64_t size, uint64_t flags,
                            uint64_t e)
{
    (void)flags, (void)e;
    const void *source = vm_at(vm, from, size);
    if (!is_ring(vm, ring) || !source)
        return refuse(vm);
    uint8_t *room = vm->reserved == UINT64_MAX ? ring_room(vm, size) : NULL;
    if (!room)
        return answer(-EAGAIN);
    memmove(room, source, size);
    ring_commit(vm, size);
    return 0;
}

static uint64_t ring_reserve(struct vm *vm, uint64_t ring, uint64_t size, uint64_t flags, uint64_t d,
                             uint64_t e)
{
    (void)d, (void)e;
    if (!is_ring(vm, ring))
        return refuse(vm);
    uint8_t *room = vm->reserved == UINT64_MAX && !flags ? ring_room(vm, size) : NULL;
    if (!room)
        return 0;
    vm->reserved = size;
    return (uint64_t)(uintptr_t)room;
}

static uint64_t ring_submit(struct vm *vm, uint64_t record, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    (void)b, (void)c, (void)d, (void)e;
    if (vm->reserved == UINT64_MAX || record != (uint64_t)(uintptr_t)(vm->ring + vm->ring_end + RING_HEADER))
        return refuse(vm);
    ring_commit(vm, vm->reserved);
    vm->reserved = UINT64_MAX;
    return 0;
}

static uint64_t ring_discard(struct vm *vm, uint64_t record, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    (void)record, (void)b, (void)c, (void)d, (void)e;
    vm->reserved = UINT64_MAX;
    return 0;
}

static vm_helper *const helpers[] = {
    [BPF_FUNC_map_lookup_elem] = map_lookup,
    [BPF_FUNC_map_lookup_percpu_elem] = map_lookup_percpu,
    [BPF_FUNC_map_update_elem] = map_update,
    [BPF_FUNC_map_delete_elem] = map_delete,
    [BPF_FUNC_for_each_map_elem] = for_each,
    [BPF_FUNC_loop] = loop,
    [BPF_FUNC_probe_read] = probe_read,
    [BPF_FUNC_probe_read_user] = probe_read,
    [BPF_FUNC_probe_read_kernel] = probe_read,
    [BPF_FUNC_probe_read_str] = probe_read_str,
    [BPF_FUNC_probe_read_user_str] = probe_read_str,
    [BPF_FUNC_probe_read_kernel_str] = probe_read_str,
    [BPF_FUNC_strncmp] = compare,
    [BPF_FUNC_ktime_get_ns] = ktime_monotonic,
    [BPF_FUNC_ktime_get_tai_ns] = ktime_tai,
    [BPF_FUNC_ktime_get_boot_ns] = ktime,
    [BPF_FUNC_get_current_pid_tgid] = pid_tgid,
    [BPF_FUNC_get_ns_current_pid_tgid] = ns_pid_tgid,
    [BPF_FUNC_get_smp_processor_id] = cpu,
    [BPF_FUNC_get_current_comm] = comm,
    [BPF_FUNC_get_prandom_u32] = random_number,
    [BPF_FUNC_ringbuf_output] = ring_output,
    [BPF_FUNC_ringbuf_reserve] = ring_reserve,
    [BPF_FUNC_ringbuf_submit] = ring_submit,
    [BPF_FUNC_ringbuf_discard] = ring_discard,
};

vm_helper *vm_helper_find(int32_t number)
{
    if (number == KFUNC_copy_from_user_str)
        return copy_text;
    return number >= 0 && (size_t)number < sizeof helpers / sizeof *helpers ? helpers[number] : NULL;
}
