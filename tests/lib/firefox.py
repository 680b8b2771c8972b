# SPDX-License-Identifier: BSD-3-Clause
"""Firefox, by WebDriver BiDi over a WebSocket on the loopback: no package."""
import base64
import itertools
import json
import os
import re
import socket
import subprocess
import time

from browser import Browser, BrowserError

# What a profile has to say so that Firefox talks to nobody but the test.
PREFERENCES = {
    "app.normandy.enabled": False, "app.update.enabled": False, "browser.shell.checkDefaultBrowser": False,
    "browser.newtabpage.enabled": False, "browser.startup.homepage_override.mstone": "ignore", "browser.startup.page": 0,
    "browser.topsites.contile.enabled": False, "datareporting.policy.dataSubmissionEnabled": False,
    "dom.min_background_timeout_value": 0, "extensions.getAddons.cache.enabled": False, "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False, "network.dns.disablePrefetch": True, "services.settings.server": "data:,",
    "toolkit.telemetry.reportingpolicy.firstRun": False, "ui.prefersReducedMotion": 1,
}
# Keys have code points of their own: WebDriver, "Keyboard actions".
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Shift": "\ue008", "End": "\ue010", "Home": "\ue011", "ArrowLeft": "\ue012", "ArrowUp": "\ue013",
        "ArrowRight": "\ue014", "ArrowDown": "\ue015"}
BUTTONS = {"mousePressed": "pointerDown", "mouseReleased": "pointerUp"}


class WebSocket:
    """The client's end of RFC 6455, as far as messages of text need it."""

    def __init__(self, port, path, patience):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=patience)
        self.buffer = b""
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        while b"\r\n\r\n" not in self.buffer:
            self.receive()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n", 1)[0]:
            raise BrowserError(f"no WebSocket: {head!r}")

    def receive(self):
        try:
            more = self.socket.recv(1 << 20)
        except TimeoutError:
            raise BrowserError("the browser does not answer") from None
        if not more:
            raise BrowserError("the browser has ended")
        self.buffer += more

    def take(self, length):
        while len(self.buffer) < length:
            self.receive()
        taken, self.buffer = self.buffer[:length], self.buffer[length:]
        return taken

    def send(self, text):
        self.send_frame(1, text.encode())

    def send_frame(self, kind, data):
        length = len(data)
        head = bytes([0x80 | kind]) + (bytes([0x80 | length]) if length < 126 else b"\xfe" + length.to_bytes(2, "big") if length < 1 << 16 else
                                       b"\xff" + length.to_bytes(8, "big"))
        mask = os.urandom(4)
        masked = int.from_bytes(data, "big") ^ int.from_bytes((mask * (length // 4 + 1))[:length], "big")
        self.socket.sendall(head + mask + masked.to_bytes(length, "big"))

    def message(self):
        """The next message, of as many frames as it has."""
        text = b""
        while True:
            first, length = self.take(2)
            if length >= 126:
                length = int.from_bytes(self.take(2 if length == 126 else 8), "big")
            data = self.take(length)
            if first & 15 == 9:  # ping
                self.send_frame(10, data)
            elif first & 15 == 8:
                raise BrowserError("the browser has closed the connection")
            else:
                text += data
                if first & 128:
                    return text.decode()

    def close(self):
        self.socket.close()


def plain(value):
    """A value of BiDi as one of Python."""
    kind = value["type"]
    if kind in ("array", "set"):
        return [plain(item) for item in value.get("value", [])]
    if kind == "object":
        return {key: plain(item) for key, item in value.get("value", [])}
    return value.get("value") if kind in ("string", "number", "boolean", "bigint") else None


class Firefox(Browser):
    name = "Firefox"

    def __init__(self, program, directory, width=1280, height=800):
        super().__init__(directory)
        self.numbers = itertools.count(1)
        self.socket = None
        profile = os.path.join(directory, "profile.firefox")
        os.makedirs(profile)
        with open(os.path.join(profile, "user.js"), "w", encoding="utf-8") as file:
            for name, value in PREFERENCES.items():
                print(f"user_pref({json.dumps(name)}, {json.dumps(value)});", file=file)
        environment = {**os.environ, "HOME": directory, "XDG_CONFIG_HOME": directory, "XDG_CACHE_HOME": directory, "TMPDIR": directory,
                       "MOZ_HEADLESS_WIDTH": str(width), "MOZ_HEADLESS_HEIGHT": str(height)}
        self.process = subprocess.Popen([program, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0", "about:blank"],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True, env=environment, cwd=directory)
        try:
            self.socket = WebSocket(self.port(), "/session", self.PATIENCE)
            self.send("session.new", capabilities={})
            self.send("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
            self.context = self.send("browsingContext.getTree")["contexts"][0]["context"]
            self.resize(width, height)
        except BaseException:
            self.close()
            raise

    def port(self):
        """Where Firefox listens, which it says when it does."""
        deadline = time.monotonic() + self.PATIENCE
        while time.monotonic() < deadline and self.process.poll() is None:
            with open(self.log_path, encoding="utf-8", errors="replace") as log:
                found = re.search(r"BiDi listening on ws://127\.0\.0\.1:(\d+)\n", log.read())
            if found:
                return int(found[1])
            time.sleep(0.02)
        raise BrowserError("the browser does not listen")

    def close(self):
        if self.socket:
            self.socket.close()
        super().close()

    def see(self, method, event):
        if method == "log.entryAdded" and event["level"] in ("error", "warn"):
            self.problems.append(str(event.get("text"))[:600])
        elif method == "network.beforeRequestSent":
            self.requests.append(event["request"]["url"])

    def send(self, method, **parameters):
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.message())
            if message["type"] == "event":
                self.see(message["method"], message["params"])
            elif message["id"] == number:
                if message["type"] == "error":
                    raise BrowserError(f"{method}: {message['error']}: {message['message']}")
                return message["result"]

    def value(self, expression):
        """What an expression, or the promise that it gives, comes to."""
        result = self.send("script.evaluate", expression=expression, awaitPromise=True, target={"context": self.context},
                           serializationOptions={"maxDomDepth": 0, "maxObjectDepth": None}, userActivation=True)
        if result["type"] == "exception":
            raise BrowserError(f"{expression}: {result['exceptionDetails'].get('text')}")
        return plain(result["result"])

    def open(self, url):
        self.send("browsingContext.navigate", context=self.context, url="about:blank", wait="complete")
        self.requests.clear()
        self.send("browsingContext.navigate", context=self.context, url=url, wait="none")

    def dark(self, is_dark):
        """Firefox decides by its start: pages stay light."""

    def resize(self, width, height):
        self.send("browsingContext.setViewport", context=self.context, viewport={"width": width, "height": height})

    def act(self, kind, actions, shift=False):
        """Does what a device does, one thing after the other."""
        devices = [{"type": kind, "id": kind, "actions": actions}]
        if shift:
            pauses = [{"type": "pause"}] * len(actions)
            devices[0]["actions"] = [{"type": "pause"}, *actions, {"type": "pause"}]
            devices.insert(0, {"type": "key", "id": "shift", "actions": [{"type": "keyDown", "value": KEYS["Shift"]}, *pauses,
                                                                         {"type": "keyUp", "value": KEYS["Shift"]}]})
        self.send("input.performActions", context=self.context, actions=devices)

    def move(self, x, y):
        return {"type": "pointerMove", "x": round(x), "y": round(y)}

    def mouse(self, kind, x, y, shift=False, **_):
        self.act("pointer", [self.move(x, y)] if kind == "mouseMoved" else [self.move(x, y), {"type": BUTTONS[kind], "button": 0}], shift)

    def click(self, x, y):
        self.act("pointer", [self.move(x, y), {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}])

    def drag(self, x0, y0, x1, y1, shift=False):
        moves = [self.move(x0 + (x1 - x0) * part / 5, y0 + (y1 - y0) * part / 5) for part in range(1, 6)]
        self.act("pointer", [self.move(x0, y0), {"type": "pointerDown", "button": 0}, *moves, {"type": "pointerUp", "button": 0}], shift)

    def wheel(self, x, y, down, shift=False):
        self.act("wheel", [{"type": "scroll", "x": round(x), "y": round(y), "deltaX": 0, "deltaY": down}], shift)

    def key(self, key):
        self.act("key", [{"type": kind, "value": KEYS.get(key, key)} for kind in ("keyDown", "keyUp")])

    def type(self, text):
        for letter in text:
            self.key(letter)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.send("browsingContext.captureScreenshot", context=self.context)["data"]))
