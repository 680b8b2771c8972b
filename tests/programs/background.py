# SPDX-License-Identifier: BSD-3-Clause
import subprocess


class Background:
    """A process beside the test, whose output is in the files out and err. It ends with the block that it is made in."""

    def __init__(self, words, output=None, **options):
        self.out, self.err = open("out", "w+"), open("err", "w+")
        self.process = subprocess.Popen(words, stdout=output or self.out, stderr=self.err, stdin=subprocess.DEVNULL, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.out.close()
        self.err.close()
