# SPDX-License-Identifier: BSD-3-Clause
"""Drives a browser, Chromium (chromium.py) or Firefox (firefox.py):

    with start_browser(program, directory) as browser:
        browser.open("file:///…")
        browser.value("document.title")

The browser's files are below the directory, and its processes are gone when the block is left."""
import contextlib
import os
import signal
import time


class BrowserError(Exception):
    """The browser refused a command, died, or a condition did not come true."""


def start_browser(program, *arguments, **options):
    if "firefox" in os.path.basename(program):
        from firefox import Firefox as kind
    else:
        from chromium import Chromium as kind
    return kind(program, *arguments, **options)


class Browser:
    PATIENCE = 60  # seconds, for what should take no time: a machine may be busy
    name = "Chromium"

    def __init__(self, directory):
        self.problems = []  # console errors and exceptions
        self.requests = []  # addresses that the page asked for
        self.log_path = os.path.join(directory, "browser.log")
        self.log = open(self.log_path, "wb")
        self.process = None  # the leader of a group that has all processes of the browser

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if kind and issubclass(kind, BrowserError):
            with open(self.log_path, encoding="utf-8", errors="replace") as log:
                error.args = (f"{error}; the browser's log: {log.read()[-1500:]}",)
        self.close()

    def close(self):
        """Ends every process of the browser, and waits until they are gone."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        with contextlib.suppress(ProcessLookupError):
            while True: # those that others of the group had started are reaped by init
                os.killpg(self.process.pid, 0)
                time.sleep(0.01)
        self.log.close()

    def value(self, expression):
        """What an expression, or the promise that it gives, comes to."""
        raise NotImplementedError

    def until(self, expression):
        """Waits until an expression comes to something true, which it returns."""
        deadline = time.monotonic() + self.PATIENCE
        while True:
            value = self.value(expression)
            if value:
                return value
            if time.monotonic() > deadline:
                raise BrowserError(f"it did not come true: {expression}; problems: {self.problems}")
            time.sleep(0.02)
