// SPDX-License-Identifier: BSD-3-Clause
// The same in Rust.
use std::arch::asm;

trait Shop {
    fn sell(&self, count: i64) -> i64;
}

struct Counter;

impl Shop for Counter {
    #[inline(never)]
    fn sell(&self, count: i64) -> i64 {
        fire(count) + 1
    }
}

#[inline(never)]
fn fire(count: i64) -> i64 {
    let mut result: i64 = 121;
    unsafe { asm!("syscall", inlateout("rax") result, in("rdi") 4711, out("rcx") _, out("r11") _) };
    result + count
}

fn main() {
    std::process::exit((std::hint::black_box(Counter).sell(std::hint::black_box(3)) == 4711) as i32);
}
