/* SPDX-License-Identifier: BSD-3-Clause */
/* Where instructions begin, in code of both machines, and when the process that decodes them lies or dies. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sym/apart.h"
#include "sym/instruction.h"

/* endbr64; push %rbp; mov %rsp,%rbp; mov $1,%eax; pop %rbp; ret */
static const uint8_t code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0xb8, 1, 0, 0, 0, 0x5d, 0xc3};

static void expect(enum machine machine, uint64_t offset, uint64_t below, uint64_t above)
{
    struct instruction_bounds bounds = {0};
    assert_int_equal(instruction_around(machine, code, sizeof code, offset, &bounds), 0);
    assert_int_equal(bounds.below, below);
    assert_int_equal(bounds.above, above);
}

static void test_aarch64(void **state)
{
    (void)state;
    expect(MACHINE_AARCH64, 0, 0, 0);
    expect(MACHINE_AARCH64, 1, 0, 4);
    expect(MACHINE_AARCH64, 3, 0, 4);
    expect(MACHINE_AARCH64, 4, 4, 4);
    expect(MACHINE_AARCH64, 4098, 4096, 4100); /* the code is not looked at */
    assert_true(instruction_has_decoder(MACHINE_AARCH64));
}

static void test_x86_64(void **state)
{
    static const uint8_t starts[] = {0, 4, 5, 8, 13, 14, 15};
    (void)state;
    if (!instruction_has_decoder(MACHINE_X86_64))
        fail_msg("there is no libcapstone: tools/setup check installs it");
    for (size_t i = 0; i + 1 < sizeof starts; i++) {
        expect(MACHINE_X86_64, starts[i], starts[i], starts[i]);
        for (uint64_t at = starts[i] + 1u; at < starts[i + 1]; at++)
            expect(MACHINE_X86_64, at, starts[i], starts[i + 1]);
    }
    expect(MACHINE_X86_64, sizeof code, sizeof code, sizeof code);
}

static void test_untold(void **state)
{
    static const uint8_t data[] = {0x90, 0x06, 0x90, 0x90}; /* 06 was an instruction of 32 bits */
    struct instruction_bounds bounds = {7, 7};
    (void)state;
    assert_int_equal(instruction_around(MACHINE_X86_64, data, sizeof data, 3, &bounds), -EILSEQ);
    assert_int_equal(instruction_around(MACHINE_X86_64, code, 4, 5, &bounds), -EILSEQ);  /* it ends before */
    assert_int_equal(instruction_around(MACHINE_X86_64, code, 10, 9, &bounds), -EILSEQ); /* and is cut */
    assert_int_equal(instruction_around(MACHINE_X86_64, code, 0, UINT64_MAX, &bounds), -EILSEQ);
    assert_int_equal(instruction_around(MACHINE_X86_64, code, (size_t)INSTRUCTION_CODE_MAX + 1, 1, &bounds),
                     -EFBIG);
    assert_int_equal(instruction_around(MACHINE_OTHER, code, sizeof code, 4, &bounds), -ENOTSUP);
    assert_int_equal(bounds.below, 7);
    assert_int_equal(instruction_around(MACHINE_X86_64, data, sizeof data, 1, &bounds), 0);
}

static void say_beyond(struct text *answer)
{
    const uint64_t far = UINT64_MAX;
    memcpy(answer->bytes + answer->length - sizeof far, &far, sizeof far);
}

static void say_before(struct text *answer)
{
    memset(answer->bytes, 0, answer->length);
}

static void say_half(struct text *answer)
{
    text_truncate(answer, answer->length / 2);
}

static void die(struct text *answer)
{
    (void)answer;
    _exit(1);
}

static void test_lies(void **state)
{
    void (*const changes[])(struct text *) = {say_beyond, say_before, say_half, die};
    struct instruction_bounds bounds;
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        instruction_end();
        apart_answers_change(changes[i]);
        assert_int_equal(instruction_around(MACHINE_X86_64, code, sizeof code, 6, &bounds), -EBADMSG);
    }
    apart_answers_change(NULL);
    instruction_end();
    expect(MACHINE_X86_64, 6, 5, 8);
    instruction_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aarch64),
        cmocka_unit_test(test_x86_64),
        cmocka_unit_test(test_untold),
        cmocka_unit_test(test_lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
