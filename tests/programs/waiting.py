# SPDX-License-Identifier: BSD-3-Clause
# How tests wait: for a condition, and not for a time.
import time


def until(condition, seconds=30):
    """What the condition is as soon as it holds, or when the time is over."""
    end = time.monotonic() + seconds
    while True:
        holds = condition()
        if holds or time.monotonic() >= end:
            return holds
        time.sleep(0.02)
