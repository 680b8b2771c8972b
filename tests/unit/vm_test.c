/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the user-space host: instructions and maps compared with the running kernel's, hostile programs,
 * budgets, texts of events. What the kernel is asked for needs root and is skipped without it. */
#include "vm_testing.h"

#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define R(code, to, from, offset, immediate)                                                                 \
    (struct bpf_insn)                                                                                        \
    {                                                                                                        \
        (code), (to), (from), (offset), (immediate)                                                          \
    }
#define EXIT R(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define MOVE(to, value) R(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value)

#define NEED_ROOT()                                                                                          \
    do {                                                                                                     \
        if (geteuid())                                                                                       \
            skip();                                                                                          \
    } while (0)

static uint64_t seed = 88172645463325252u;

static uint64_t random_word(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static int kernel_call(int command, union bpf_attr *attributes)
{
    long answer = syscall(SYS_bpf, command, attributes, sizeof *attributes);
    return answer < 0 ? -errno : (int)answer;
}

/* ---- instructions ---- */

/* Runs `code`, which ends with its result in r0, and returns it. */
static uint64_t result_of(const struct bpf_insn *code, uint32_t count)
{
    struct bpf_insn all[64];
    assert_true(count + 3 < 64);
    memcpy(all, code, count * sizeof *code);
    /* The result is stored to the event's own memory: r9 holds the context. */
    memmove(all + 1, all, count * sizeof *all);
    all[0] = R(BPF_ALU64 | BPF_MOV | BPF_X, 9, 1, 0, 0);
    all[count + 1] = R(BPF_STX | BPF_MEM | BPF_DW, 9, 0, 0, 0);
    all[count + 2] = EXIT;
    struct vm_fixture f;
    fixture_open(&f, NULL, 0);
    fixture_program(&f, all, count + 3, NULL, 0);
    assert_int_equal(vm_run(f.vm, 0, NULL), 0);
    uint64_t result = vm_context(f.vm)->time;
    fixture_close(&f);
    return result;
}

static uint64_t arithmetic(uint8_t class, uint8_t operation, int16_t offset, uint64_t a, uint64_t b)
{
    const struct bpf_insn code[] = {
        R(BPF_LD | BPF_IMM | BPF_DW, 0, 0, 0, (int32_t)a), R(0, 0, 0, 0, (int32_t)(a >> 32)),
        R(BPF_LD | BPF_IMM | BPF_DW, 3, 0, 0, (int32_t)b), R(0, 0, 0, 0, (int32_t)(b >> 32)),
        R(class | operation | BPF_X, 0, 3, offset, 0),
    };
    return result_of(code, 5);
}

static void test_arithmetic(void **state)
{
    (void)state;
    const uint64_t least = (uint64_t)INT64_MIN, minus = UINT64_MAX;
    assert_int_equal(arithmetic(BPF_ALU64, BPF_DIV, 0, 7, 0), 0);
    assert_int_equal(arithmetic(BPF_ALU64, BPF_MOD, 0, 7, 0), 7);
    assert_int_equal(arithmetic(BPF_ALU64, BPF_DIV, 1, least, minus), least);
    assert_int_equal(arithmetic(BPF_ALU64, BPF_MOD, 1, least, minus), 0);
    assert_int_equal(arithmetic(BPF_ALU64, BPF_DIV, 1, (uint64_t)-7, 2), (uint64_t)-3);
    assert_int_equal(arithmetic(BPF_ALU64, BPF_MOD, 1, (uint64_t)-7, 2), (uint64_t)-1);
    assert_int_equal(arithmetic(BPF_ALU, BPF_MOD, 0, 0xffffffff00000007u, 0), 7);
    assert_int_equal(arithmetic(BPF_ALU64, BPF_LSH, 0, 1, 65), 2);
    assert_int_equal(arithmetic(BPF_ALU, BPF_LSH, 0, 1, 33), 2);
    assert_int_equal(arithmetic(BPF_ALU64, BPF_ARSH, 0, least, 63), minus);
    assert_int_equal(arithmetic(BPF_ALU, BPF_ARSH, 0, 0x80000000u, 31), UINT32_MAX);
    assert_int_equal(arithmetic(BPF_ALU64, BPF_MOV, 8, 0, 0x80), (uint64_t)-128);
    assert_int_equal(arithmetic(BPF_ALU, BPF_MOV, 16, 0, 0x8000), 0xffff8000u);
    assert_int_equal(arithmetic(BPF_ALU, BPF_ADD, 0, UINT32_MAX, 1), 0);
}

/* Makes a program of random operations without jumps: registers 0 to 5 begin with random words and are folded into
 * r0. Returns its length. */
static uint32_t random_program(struct bpf_insn *code, bool upper)
{
    static const uint8_t operations[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV,  BPF_OR,  BPF_AND, BPF_LSH,
                                         BPF_RSH, BPF_MOD, BPF_XOR, BPF_ARSH, BPF_MOV, BPF_NEG, BPF_END};
    uint32_t count = 0;
    for (uint8_t i = 0; i <= 5; i++) {
        uint64_t word = random_word() % 4 ? random_word() : random_word() % 3 - 1;
        code[count++] = R(BPF_LD | BPF_IMM | BPF_DW, i & 15, 0, 0, (int32_t)word);
        code[count++] = R(0, 0, 0, 0, (int32_t)(word >> 32));
    }
    for (unsigned i = 0; i < 24; i++) {
        uint8_t operation = operations[random_word() % sizeof operations];
        uint8_t class = random_word() % 2 ? BPF_ALU : BPF_ALU64, to = random_word() % 6,
                from = random_word() % 6;
        bool is_register = random_word() % 2, is_signed = random_word() % 3 == 0;
        int32_t immediate = (int32_t)random_word();
        int16_t offset = 0;
        if (operation == BPF_END) {
            code[count++] = R(class | BPF_END | (class == BPF_ALU && is_register ? BPF_TO_BE : BPF_TO_LE),
                              to & 15, 0, 0, 16 << random_word() % 3);
            continue;
        }
        if (operation == BPF_NEG) {
            code[count++] = R(class | BPF_NEG, to & 15, 0, 0, 0);
            continue;
        }
        if (operation == BPF_DIV || operation == BPF_MOD) {
            offset = is_signed;
            immediate = immediate ? immediate : 3; /* the kernel refuses a constant 0 */
        }
        if (operation == BPF_LSH || operation == BPF_RSH || operation == BPF_ARSH)
            immediate &= 31; /* the kernel refuses larger shifts */
        if (operation == BPF_MOV && is_register && is_signed)
            offset = (int16_t)(8 << random_word() % (class == BPF_ALU ? 2 : 3));
        code[count++] = R(class | operation | (is_register ? BPF_X : BPF_K), to & 15,
                          is_register ? from & 15 : 0, offset, is_register ? 0 : immediate);
    }
    for (uint8_t i = 1; i <= 5; i++) {
        code[count++] = R(BPF_ALU64 | BPF_MUL | BPF_K, 0, 0, 0, 31);
        code[count++] = R(BPF_ALU64 | BPF_XOR | BPF_X, 0, i & 15, 0, 0);
    }
    if (upper)
        code[count++] = R(BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 32);
    return count;
}

/* Runs the program in the kernel; *result is the low 32 bits of r0. Returns false where that is not possible. */
static bool kernel_result(const struct bpf_insn *code, uint32_t count, uint32_t *result)
{
    static const uint8_t packet[64];
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
    attributes.insns = (uintptr_t)code;
    attributes.insn_cnt = count;
    attributes.license = (uintptr_t) "GPL";
    int fd = kernel_call(BPF_PROG_LOAD, &attributes);
    if (fd < 0)
        return false;
    memset(&attributes, 0, sizeof attributes);
    attributes.test.prog_fd = (uint32_t)fd;
    attributes.test.data_in = (uintptr_t)packet;
    attributes.test.data_size_in = sizeof packet;
    int error = kernel_call(BPF_PROG_TEST_RUN, &attributes);
    *result = attributes.test.retval;
    close(fd);
    return !error;
}

static void test_arithmetic_as_the_kernel(void **state)
{
    (void)state;
    NEED_ROOT();
    unsigned compared = 0;
    for (unsigned i = 0; i < 400; i++) {
        struct bpf_insn code[64];
        uint32_t count = random_program(code, i & 1), expected;
        code[count] = EXIT;
        if (!kernel_result(code, count + 1, &expected))
            continue;
        compared++;
        assert_int_equal((uint32_t)result_of(code, count), expected);
    }
    printf("          %u random programs agree\n", compared);
    assert_true(compared > 200);
}

/* ---- maps ---- */

enum { KEYS = 40, ROOM = 16, VALUE = 24 };

static int kernel_map(const struct image_map *map)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_type = map->type;
    attributes.key_size = map->key_size;
    attributes.value_size = map->value_size;
    attributes.max_entries = map->max_entries;
    return kernel_call(BPF_MAP_CREATE, &attributes);
}

static int kernel_map_call(int command, int fd, const void *key, void *value, uint64_t flags)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_fd = (uint32_t)fd;
    attributes.key = (uintptr_t)key;
    attributes.value = (uintptr_t)value;
    attributes.flags = flags;
    return kernel_call(command, &attributes);
}

static int count_element(void *state, const uint8_t *key, const uint8_t *values)
{
    (void)key, (void)values;
    ++*(unsigned *)state;
    return 0;
}

/* The same random operations on both maps give the same answers and the same contents. */
static void compare_maps(struct image_map map)
{
    struct vm_fixture f;
    int fd = kernel_map(&map);
    assert_true(fd >= 0);
    fixture_open(&f, &map, 1);
    struct vm_map *mine = &f.vm->maps[0];
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t key[16] = {0}, value[VALUE], theirs[VALUE] = {0};
        uint32_t number = (uint32_t)(random_word() % KEYS);
        memcpy(key + (map.key_size > 4 ? map.key_size - 4 : 0), &number, sizeof number);
        for (unsigned k = 0; k < VALUE; k++)
            value[k] = (uint8_t)random_word();
        switch (random_word() % 4) {
        case 0:
        case 1: {
            uint64_t flags = random_word() % 4; /* 3 is no valid flag */
            assert_int_equal(vm_map_update(mine, key, value, flags),
                             kernel_map_call(BPF_MAP_UPDATE_ELEM, fd, key, value, flags));
            break;
        }
        case 2:
            assert_int_equal(vm_map_delete(mine, key),
                             kernel_map_call(BPF_MAP_DELETE_ELEM, fd, key, NULL, 0));
            break;
        default: {
            uint8_t *found = vm_map_find(mine, key);
            int error = kernel_map_call(BPF_MAP_LOOKUP_ELEM, fd, key, theirs, 0);
            assert_int_equal(found ? 0 : -ENOENT, error);
            if (found)
                assert_memory_equal(found, theirs, map.value_size);
        }
        }
    }
    unsigned elements = 0, expected = 0;
    f.host->operations->map_each(f.host, 0, count_element, &elements);
    uint8_t key[16], next[16];
    for (int error = kernel_map_call(BPF_MAP_GET_NEXT_KEY, fd, NULL, next, 0); !error; expected++) {
        memcpy(key, next, sizeof key);
        error = kernel_map_call(BPF_MAP_GET_NEXT_KEY, fd, key, next, 0);
    }
    assert_int_equal(elements, expected);
    close(fd);
    fixture_close(&f);
}

static void test_maps_as_the_kernel(void **state)
{
    (void)state;
    NEED_ROOT();
    static const uint32_t key_sizes[] = {4, 8, 12, 16};
    for (size_t i = 0; i < 4; i++)
        compare_maps((struct image_map){.name = "hash",
                                        .type = BPF_MAP_TYPE_HASH,
                                        .key_size = key_sizes[i],
                                        .value_size = VALUE,
                                        .max_entries = i % 2 ? ROOM : KEYS});
    compare_maps((struct image_map){.name = "array",
                                    .type = BPF_MAP_TYPE_ARRAY,
                                    .key_size = 4,
                                    .value_size = VALUE,
                                    .max_entries = ROOM});
}

static void test_lru(void **state)
{
    (void)state;
    struct image_map map = {
        .name = "lru", .type = BPF_MAP_TYPE_LRU_HASH, .key_size = 8, .value_size = 8, .max_entries = 8};
    struct vm_fixture f;
    fixture_open(&f, &map, 1);
    struct vm_map *mine = &f.vm->maps[0];
    uint64_t wanted = 1;
    for (uint64_t key = 1; key <= 1000; key++) {
        assert_int_equal(vm_map_update(mine, &key, &key, BPF_ANY), 0);
        assert_non_null(vm_map_find(mine, &wanted)); /* the key is used all the time, so it stays */
    }
    unsigned count = 0;
    f.host->operations->map_each(f.host, 0, count_element, &count);
    assert_int_equal(count, 8);
    fixture_close(&f);
}

static void test_map_that_cannot_be(void **state)
{
    (void)state;
    struct image_map maps[] = {
        {.name = "storage", .type = BPF_MAP_TYPE_TASK_STORAGE, .key_size = 4, .value_size = 8},
        {.name = "large",
         .type = BPF_MAP_TYPE_HASH,
         .key_size = 1 << 29,
         .value_size = 1 << 29,
         .max_entries = UINT32_MAX},
        {.name = "none", .type = BPF_MAP_TYPE_HASH, .key_size = 0, .value_size = 8, .max_entries = 1},
    };
    for (size_t i = 0; i < 3; i++) {
        struct vm_fixture f = {0};
        assert_int_equal(fixture_try(&f, &maps[i], 1), -EOPNOTSUPP);
        assert_int_equal(f.diagnostics.errors, 1);
        fixture_close(&f);
    }
}

/* ---- hostile programs ---- */

static int run_code(const struct bpf_insn *code, uint32_t count)
{
    struct vm_fixture f;
    fixture_open(&f, NULL, 0);
    fixture_program(&f, code, count, NULL, 0);
    int error = vm_run(f.vm, 0, NULL);
    fixture_close(&f);
    return error;
}
#define RUN(...)                                                                                             \
    run_code((const struct bpf_insn[]){__VA_ARGS__},                                                         \
             sizeof((const struct bpf_insn[]){__VA_ARGS__}) / sizeof(struct bpf_insn))

static void test_memory_of_others(void **state)
{
    (void)state;
    assert_int_equal(RUN(R(BPF_LDX | BPF_MEM | BPF_DW, 0, 2, 0, 0), EXIT), -EFAULT); /* address 0 */
    assert_int_equal(RUN(R(BPF_LDX | BPF_MEM | BPF_B, 0, 1, -1, 0), EXIT),
                     -EFAULT); /* before the first byte */
    assert_int_equal(RUN(R(BPF_ST | BPF_MEM | BPF_DW, 1, 0, 0, 1), EXIT), 0);
    assert_int_equal(RUN(R(BPF_LD | BPF_IMM | BPF_DW, 2, 0, 0, -8), R(0, 0, 0, 0, -1),
                         R(BPF_STX | BPF_MEM | BPF_DW, 2, 1, 0, 0), EXIT),
                     -EFAULT);
    assert_int_equal(RUN(R(BPF_STX | BPF_ATOMIC | BPF_DW, 2, 1, 8, BPF_ADD), EXIT), -EFAULT);
    /* not an atomic operation */
    assert_int_equal(RUN(R(BPF_STX | BPF_ATOMIC | BPF_W, 1, 1, 0, 0x77), EXIT), -EFAULT);
    /* Helpers get a key at no address, a map that is none, and a destination at no address. */
    assert_int_equal(RUN(R(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem), EXIT), -EFAULT);
    assert_int_equal(
        RUN(MOVE(1, 0), MOVE(2, 16), MOVE(3, 0), R(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_probe_read), EXIT),
        -EFAULT);
    assert_int_equal(RUN(MOVE(1, 5), MOVE(2, 7), MOVE(3, 0), MOVE(4, 0),
                         R(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_loop), EXIT),
                     -EFAULT);
    assert_int_equal(RUN(R(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_submit), EXIT), -EFAULT);
}

static void test_no_end(void **state)
{
    (void)state;
    struct vm_fixture f = {.options.budget = 1000};
    const struct bpf_insn cycle[] = {R(BPF_JMP | BPF_JA, 0, 0, -1, 0), EXIT};
    const struct bpf_insn calls[] = {R(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, -1), EXIT};
    fixture_open(&f, NULL, 0);
    fixture_program(&f, cycle, 2, NULL, 0);
    assert_int_equal(vm_run(f.vm, 0, NULL), -ELOOP);
    assert_int_equal(vm_run(f.vm, 0, NULL), -ELOOP);
    fixture_close(&f);
    f.options.budget = 1000;
    fixture_open(&f, NULL, 0);
    fixture_program(&f, calls, 2, NULL, 0);
    assert_int_equal(vm_run(f.vm, 0, NULL), -ELOOP);
    fixture_close(&f);
    assert_int_equal(RUN(MOVE(0, 1)), -EINVAL); /* runs behind its end */
    assert_int_equal(RUN(R(BPF_JMP | BPF_JA, 0, 0, 100, 0), EXIT), -EINVAL);
    assert_int_equal(RUN(R(BPF_ALU64 | BPF_MOV | BPF_K, 10, 0, 0, 1), EXIT),
                     -EINVAL); /* r10, the frame's address, cannot be written */
    assert_int_equal(RUN(R(0xff, 15, 15, -1, -1), EXIT), -EINVAL);
}

static void test_helper_that_is_not_there(void **state)
{
    (void)state;
    struct vm_fixture f;
    const struct bpf_insn code[] = {R(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_stack), EXIT};
    fixture_open(&f, NULL, 0);
    assert_int_equal(fixture_try_program(&f, code, 2, NULL, 0), -EOPNOTSUPP);
    assert_non_null(strstr(f.diagnostics.items[0].message, "get_stack"));
    fixture_close(&f);
}

static void test_random_programs(void **state)
{
    (void)state;
    unsigned finished = 0;
    for (unsigned i = 0; i < 20000; i++)
        finished += fixture_run_random(random_word);
    printf("          %u of 20000 random programs came to their end\n", finished);
}

/* ---- events ---- */

static bool give_text(void *state, unsigned which, struct vm_text *text)
{
    (void)state;
    *text = (struct vm_text){"recorded text", 8}; /* the bytes behind the text are not part of it */
    return which == 3;
}

static int64_t read_text(uint64_t address, uint32_t size, char out[64])
{
    struct vm_fixture f;
    struct vm_event event = {.time = 5, .text = give_text};
    const struct bpf_insn code[] = {
        R(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0),
        R(BPF_ALU64 | BPF_ADD | BPF_K, 1, 0, 0, 16),
        MOVE(2, (int32_t)size),
        R(BPF_LD | BPF_IMM | BPF_DW, 3, 0, 0, (int32_t)address),
        R(0, 0, 0, 0, (int32_t)(address >> 32)),
        R(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_probe_read_user_str),
        R(BPF_STX | BPF_MEM | BPF_DW, 6, 0, 0, 0),
        EXIT,
    };
    fixture_open(&f, NULL, 0);
    fixture_program(&f, code, 8, NULL, 0);
    vm_event(f.vm, &event);
    memset(vm_context(f.vm), 'x', sizeof(struct image_event));
    assert_int_equal(vm_run(f.vm, 0, NULL), 0);
    memcpy(out, (char *)vm_context(f.vm) + 16, 64);
    int64_t result = (int64_t)vm_context(f.vm)->time;
    fixture_close(&f);
    return result;
}

static void test_texts(void **state)
{
    (void)state;
    char out[64];
    assert_int_equal(read_text(vm_text_address(3), 32, out), 9);
    assert_string_equal(out, "recorded");
    assert_int_equal(read_text(vm_text_address(3) + 2, 32, out), 7);
    assert_string_equal(out, "corded");
    assert_int_equal(read_text(vm_text_address(3), 4, out), 4);
    assert_string_equal(out, "rec");
    assert_int_equal(out[4], 'x');
    assert_int_equal(read_text(vm_text_address(3) + 8, 32, out), 1);
    assert_int_equal(read_text(vm_text_address(3) + 9, 32, out), -EFAULT);
    assert_int_equal(read_text(vm_text_address(4), 32, out), -EFAULT);
    assert_int_equal(read_text(0, 32, out), -EFAULT);
    assert_int_equal(read_text((uint64_t)(uintptr_t) "of this process", 32, out), -EFAULT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_arithmetic_as_the_kernel),
        cmocka_unit_test(test_maps_as_the_kernel),
        cmocka_unit_test(test_lru),
        cmocka_unit_test(test_map_that_cannot_be),
        cmocka_unit_test(test_memory_of_others),
        cmocka_unit_test(test_no_end),
        cmocka_unit_test(test_helper_that_is_not_there),
        cmocka_unit_test(test_random_programs),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
