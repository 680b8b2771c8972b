/* SPDX-License-Identifier: BSD-3-Clause */
/* instructions: functions whose instructions lie where their probes say, and which have no more: called once each. */

/* `counted` has instructions at 0 and 4 bytes, on x86-64 the first has 4, too. In `jumps` data lies between instructions
 * that x86-64 does not have, at 2 bytes; at 4 the code goes on. */
__asm__(".text\n"
        ".globl counted, jumps\n"
        ".type counted, %function\n"
        "counted:\n"
#ifdef __x86_64__
        "    lea 7(%rdi), %rax\n"
#else
        "    add x0, x0, #7\n"
#endif
        "    ret\n"
        ".size counted, . - counted\n"
        ".type jumps, %function\n"
        "jumps:\n"
#ifdef __x86_64__
        "    jmp 1f\n"
        "    .byte 0x06, 0x06\n"
        "1:\n"
#else
        "    nop\n"
#endif
        "    ret\n"
        ".size jumps, . - jumps\n");

long counted(long value);
void jumps(void);

int main(void)
{
    jumps();
    return counted(3) != 10;
}
