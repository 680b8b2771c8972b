# SPDX-License-Identifier: BSD-3-Clause
"""Chromium, through its DevTools over a pair of pipes: no package, no socket, no port."""
import base64
import fcntl
import itertools
import json
import os
import select
import subprocess
import time

from browser import Browser, BrowserError


def high_pipe():
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in ends]
    for end in ends:
        os.close(end)
    return high


class Chromium(Browser):
    def __init__(self, program, directory, width=1280, height=800):
        super().__init__(directory)
        self.numbers = itertools.count(1)
        self.buffer = b""
        # The browser reads commands from descriptor 3 and answers on 4; the shell puts them there, from higher ones.
        (here_in, there_out), (there_in, here_out) = high_pipe(), high_pipe()
        arguments = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
                     "--hide-scrollbars", "--force-device-scale-factor=1", "--lang=en", "--user-data-dir=" + os.path.join(directory, "profile"),
                     f"--window-size={width},{height}", "about:blank"]
        script = f'exec 3<&{there_in} 4>&{there_out} {there_in}<&- {there_out}>&-; exec "$@"'
        environment = {**os.environ, "HOME": directory, "XDG_CONFIG_HOME": directory, "XDG_CACHE_HOME": directory, "TMPDIR": "."}  # a socket's path is short
        self.process = subprocess.Popen(["bash", "-c", script, "browser", *arguments], pass_fds=(there_in, there_out), stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, start_new_session=True, env=environment, cwd=directory)
        os.close(there_in)
        os.close(there_out)
        self.input, self.output = here_in, here_out
        self.session = None
        try:
            target = self.send("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in "Page", "Runtime", "Network", "Log":
                self.send(domain + ".enable")
            self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        except BaseException:
            self.close()
            raise

    def close(self):
        super().close()
        for descriptor in self.input, self.output:
            os.close(descriptor)

    def message(self, deadline):
        while b"\0" not in self.buffer:
            if not select.select([self.input], [], [], max(0, deadline - time.monotonic()))[0]:
                raise BrowserError("the browser does not answer")
            more = os.read(self.input, 1 << 20)
            if not more:
                raise BrowserError("the browser has ended")
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line)
        if message.get("method"):
            self.see(message["method"], message.get("params", {}))
        return message

    def see(self, method, event):
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(event["exceptionDetails"])[:600])
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning", "assert"):
            self.problems.append(json.dumps(event["args"])[:600])
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            self.problems.append(event["entry"]["text"] + " " + event["entry"].get("url", ""))
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])

    def send(self, method, **parameters):
        number = next(self.numbers)
        command = {"id": number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data):]
        deadline = time.monotonic() + self.PATIENCE
        while True:
            message = self.message(deadline)
            if message.get("id") == number:
                if "error" in message:
                    raise BrowserError(f"{method}: {message['error']}")
                return message["result"]

    def value(self, expression):
        """What an expression, or the promise that it gives, comes to."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise BrowserError(f"{expression}: {json.dumps(result['exceptionDetails'])[:600]}")
        return result["result"].get("value")

    def open(self, url):
        self.send("Page.navigate", url="about:blank")
        self.requests.clear()
        self.send("Page.navigate", url=url)

    def dark(self, is_dark):
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])

    def resize(self, width, height):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def mouse(self, kind, x, y, shift=False, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, modifiers=8 if shift else 0, **more)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def drag(self, x0, y0, x1, y1, shift=False):
        self.mouse("mouseMoved", x0, y0, shift)
        self.mouse("mousePressed", x0, y0, shift, button="left", buttons=1, clickCount=1)
        for part in range(1, 6):
            self.mouse("mouseMoved", x0 + (x1 - x0) * part / 5, y0 + (y1 - y0) * part / 5, shift, button="left", buttons=1)
        self.mouse("mouseReleased", x1, y1, shift, button="left", clickCount=1)

    def wheel(self, x, y, down, shift=False):
        self.mouse("mouseWheel", x, y, shift, deltaX=0, deltaY=down)

    def key(self, key):
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, **({"windowsVirtualKeyCode": 13} if key == "Enter" else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))
