// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/* A device that exists for its tracepoints. Writing a number N to /sys/module/spoor_device/parameters/rounds
 * does N rounds: round i receives 1 + i % 3 packets of 1024 bytes and transmits i % 4 of 100 bytes (a
 * transmission of no packet is none). */
#include <linux/module.h>

#define CREATE_TRACE_POINTS
#include "spoor_device.h"

enum { MOST_ROUNDS = 1000000 };

static int spoor_device_rounds(const char *text, const struct kernel_param *parameter)
{
	unsigned int rounds, i;
	int error = kstrtouint(text, 0, &rounds);

	if (error)
		return error;
	if (rounds > MOST_ROUNDS)
		return -EINVAL;
	for (i = 0; i < rounds; i++) {
		trace_spoor_device_receive(1 + i % 3, (1 + i % 3) * 1024);
		if (i % 4)
			trace_spoor_device_transmit(i % 4, i % 4 * 100);
	}
	return 0;
}

static const struct kernel_param_ops spoor_device_operations = {
	.set = spoor_device_rounds,
};
module_param_cb(rounds, &spoor_device_operations, NULL, 0200);
MODULE_PARM_DESC(rounds, "rounds to do at once");

static int __init spoor_device_begin(void)
{
	return 0;
}

static void __exit spoor_device_end(void)
{
}

module_init(spoor_device_begin);
module_exit(spoor_device_end);
MODULE_DESCRIPTION("Tracepoints with known arguments");
MODULE_LICENSE("Dual BSD/GPL");
