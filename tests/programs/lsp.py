# SPDX-License-Identifier: BSD-3-Clause
"""Speaks the language server protocol with `spoor lsp`, which is in the PATH, in a directory that has the program "calls". Prints "ok …"
and "not ok …".
"""
import json, os, random, select, signal, subprocess, sys, time

failed = False
PATIENCE = 20  # seconds that an answer may take
MESSAGE_MAX = 16 << 20


def say(is_right, what, why=""):
    global failed
    print(("ok " if is_right else "not ok ") + what, flush=True)
    if not is_right:
        failed = True
        print(str(why)[:2000], flush=True)


def frame(body):
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


class Server:
    def __init__(self, *options, initialize={"capabilities": {}}):
        self.process = subprocess.Popen(["spoor", "lsp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.bytes, self.got, self.id = b"", [], 0
        if initialize is not None:
            self.capabilities = self.ask("initialize", initialize)["result"]["capabilities"]
            self.notify("initialized", {})

    def send(self, raw):
        """Also what is more than a pipe takes, while the server answers."""
        descriptor = self.process.stdin.fileno()
        os.set_blocking(descriptor, False)
        end = time.monotonic() + 3 * PATIENCE
        while raw:
            readable, writable, _ = select.select([self.process.stdout], [descriptor], [], 1)
            if readable and not self.read():
                return
            if writable:
                try:
                    raw = raw[os.write(descriptor, raw[:65536]):]
                except BrokenPipeError:
                    return
            if time.monotonic() > end:
                raise TimeoutError("the server does not read")

    def read(self):
        piece = os.read(self.process.stdout.fileno(), 1 << 20)
        self.bytes += piece
        while b"\r\n\r\n" in self.bytes:
            head, rest = self.bytes.split(b"\r\n\r\n", 1)
            length = int(head.split(b":")[1])
            if len(rest) < length:
                break
            self.got.append(json.loads(rest[:length].decode()))
            self.bytes = rest[length:]
        return piece

    def wait(self, fits):
        """Returns the first message that fits, and forgets it; None when the server has ended."""
        end = time.monotonic() + PATIENCE
        while True:
            for message in self.got:
                if fits(message):
                    self.got.remove(message)
                    return message
            if time.monotonic() > end:
                raise TimeoutError("no such message in %s" % self.got)
            if select.select([self.process.stdout], [], [], 1)[0] and not self.read():
                return None

    def notify(self, method, params):
        self.send(frame({"jsonrpc": "2.0", "method": method, "params": params}))

    def request(self, method, params):
        self.id += 1
        self.send(frame({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}))
        return self.id

    def answer(self, id):
        return self.wait(lambda message: message.get("id") == id and "method" not in message)

    def ask(self, method, params):
        return self.answer(self.request(method, params))

    def open(self, text, uri="file:///nowhere/script.bt", version=1):
        self.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "bpftrace", "version": version, "text": text}})

    def change(self, text, version, uri="file:///nowhere/script.bt"):
        self.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]})

    def diagnostics(self, version=1, uri="file:///nowhere/script.bt"):
        """Those of a version of the document; None: of one that is closed."""
        return self.wait(lambda message: message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri and
                         message["params"].get("version") == version)["params"]["diagnostics"]

    def at(self, method, line, character, uri="file:///nowhere/script.bt"):
        return self.ask("textDocument/" + method, {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}})["result"]

    def fixes(self, start, end, uri="file:///nowhere/script.bt"):
        place = {"start": {"line": start[0], "character": start[1]}, "end": {"line": end[0], "character": end[1]}}
        return self.ask("textDocument/codeAction", {"textDocument": {"uri": uri}, "range": place, "context": {"diagnostics": []}})["result"]

    def lives(self):
        return self.ask("no/method", {})["error"]["code"] == -32601

    def end(self):
        """Returns the exit status."""
        self.process.stdin.close()
        try:
            while self.process.stdout.read(1 << 20):
                pass
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "does not end"
        finally:
            self.errors = self.process.stderr.read()
            self.process.stdout.close()
            self.process.stderr.close()


def places(diagnostics):
    return [[item["range"][end][part] for end in ("start", "end") for part in ("line", "character")] for item in diagnostics]


def labels(completion):
    return [item["label"] for item in completion["items"]]


# ---- what a client sees ----

def check_life():
    server = Server(initialize=None)
    say(server.ask("textDocument/hover", {})["error"]["code"] == -32002, "nothing is answered before initialize")
    result = server.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})["result"]
    say(result["capabilities"]["positionEncoding"] == "utf-16" and result["serverInfo"]["name"] == "spoor", "initialize", result)
    say(server.ask("initialize", {})["error"]["code"] == -32600, "initialize comes once")
    say(server.ask("shutdown", None)["result"] is None, "shutdown")
    say(server.ask("textDocument/hover", {})["error"]["code"] == -32600, "nothing is answered after shutdown")
    server.notify("exit", None)
    say(server.process.wait(PATIENCE) == 0 and server.end() == 0, "exit after shutdown: status 0")
    server = Server()
    server.notify("exit", None)
    say(server.end() == 1, "exit without shutdown: status 1")
    server = Server()
    say(server.end() == 1, "the end of the input ends the server")


def check_diagnostics():
    text = 'begin { $count = 1; printf("ä😀 %d\\n", $coutn); }\r\n/* ✓ */\rinterval:s:1 { print(nosuch); }\n'
    for encoding, columns in (("utf-16", (39, 45)), ("utf-8", (42, 48))):
        offered = {"general": {"positionEncodings": ["utf-32", encoding]}}
        server = Server(initialize={"capabilities": offered})
        server.open(text, version=7)
        got = server.diagnostics(7)
        say(places(got) == [[0, columns[0], 0, columns[1]], [2, 21, 2, 27]], "places in %s, whatever ends lines" % encoding, got)
        say(got[0]["severity"] == 1 and got[0]["source"] == "spoor" and got[0]["message"].endswith("did you mean '$count'?"), "the message with its hint, in %s" % encoding, got)
        fixes = server.fixes((0, columns[0]), (0, columns[0]))
        edit = fixes[0]["edit"]["changes"]["file:///nowhere/script.bt"] if fixes else None
        say(len(fixes) == 1 and edit == [{"range": got[0]["range"], "newText": "$count"}] and fixes[0]["diagnostics"] == [got[0]], "the fix, in %s" % encoding, fixes)
        say(server.fixes((2, 0), (2, 5)) == [], "no fix elsewhere, in %s" % encoding)
        server.end()
    server = Server()
    server.open("begin { exit(); return; @ = 1; }")
    say([item["severity"] for item in server.diagnostics()] == [2], "a warning")
    server.change("begin { exit() }", 2)
    say(server.diagnostics(2) == [], "a right text has no diagnostics")
    for version in range(3, 40):
        server.change("begin { print(nosuch%d); }" % version, version)
    got = server.diagnostics(39)
    say(len(got) == 1 and "nosuch39" in got[0]["message"], "the last of many changes counts", got)
    server.notify("textDocument/didClose", {"textDocument": {"uri": "file:///nowhere/script.bt"}})
    say(server.diagnostics(None) == [], "closing takes diagnostics away")
    server.open("begin { system(\"true\"); }")
    say(server.diagnostics() == [], "what needs --unsafe is right")
    server.open("begin { print($1 + $2); config }", uri="untitled:one")
    say(server.diagnostics(uri="untitled:one") != [], "a document without a file")
    server.end()


def check_other_files():
    with open("part.bt", "w") as part:
        part.write("macro part(x) { nosuch(x) }\nmacro whole() { 1 + }\n")
    uri = "file://%s/main.bt" % os.getcwd()
    server = Server()
    server.open('import "part.bt";\nbegin { print(1); }', uri=uri)
    got = server.diagnostics(uri=uri)
    related = got[0]["relatedInformation"]
    say(places(got)[0] == [0, 0, 0, 0] and related[0]["location"]["uri"].endswith("/part.bt") and related[0]["location"]["range"]["start"]["line"] == 1,
        "a mistake in an imported file says where it is", got)
    with open("part.bt", "w") as part:
        part.write("macro part(x) { nosuch(x) }\n")
    server.change('import "part.bt";\nbegin { print(part(1)); }', 2, uri=uri)
    got = server.diagnostics(2, uri=uri)
    say(places(got) == [[1, 14, 1, 21]] and got[0]["relatedInformation"][0]["location"]["uri"].endswith("/part.bt"), "in a macro of another file: where it is called", got)
    server.end()


def check_completion():
    server = Server()
    server.open("fn twice($x : int64) : int64 { return $x; }\nbegin { @counts = 1; @other = 2; $value = 1; print(@c); strft; $v }\nuprobe:./calls:calls_a { }\nkp")
    say(labels(server.at("completion", 1, 53)) == ["@counts"], "completion of a map")
    item = server.at("completion", 1, 53)["items"][0]
    say(item["textEdit"] == {"range": {"start": {"line": 1, "character": 51}, "end": {"line": 1, "character": 53}}, "newText": "@counts"}, "completion says what it replaces", item)
    got = server.at("completion", 1, 61)["items"]
    say([item["label"] for item in got][:1] == ["strftime"] and "(" in got[0]["detail"], "completion of a builtin", got)
    say("$value" in labels(server.at("completion", 1, 65)), "completion of a variable")
    say("calls_add" in "".join(labels(server.at("completion", 2, 22))), "completion of a function of a program", server.at("completion", 2, 22))
    server.change("uprobe:./calls:calls_add { print(args.s", 7)
    got = server.at("completion", 0, 39)["items"]
    say([(item["label"], item.get("detail")) for item in got] == [("second", "int64_t second")], "completion of an argument, with its type", got)
    server.change("\n\n\nkp", 8)
    say("kprobe:" in labels(server.at("completion", 3, 2)), "completion of a kind of probe")
    server.change("fn twice($x : int64) : int64 { return $x; }\nbegin { print(tw", 2)
    say("twice" in labels(server.at("completion", 1, 16)), "completion of a function of the script", server.at("completion", 1, 16))
    server.change('begin { printf("strft', 2)
    say(labels(server.at("completion", 0, 21)) == [], "no completion in a string")
    say(labels(server.at("completion", 99, 99)) == [], "no completion behind the end")
    server.end()


def check_hover():
    server = Server()
    server.open("uprobe:./calls:calls_add { @sum[pid] = sum(args.first); $x = comm; print($x); }")
    for what, column, wanted in (("a probe", 3, "calls_add"), ("the probe's arguments", 3, " first\n"), ("args", 45, " first\n"), ("a field", 50, "args.first: int"),
                                 ("a builtin", 40, "sum("), ("a variable", 74, "$x: string"), ("a map", 28, "@sum[uint32]: sum")):
        got = server.at("hover", 0, column)
        say(got and wanted in got["contents"]["value"], "hover over %s" % what, got)
    say(server.at("hover", 0, 26) is None, "nothing over a blank")
    server.change("begin { strftime $", 2)
    got = server.at("hover", 0, 10)
    say(got and "strftime(" in got["contents"]["value"], "hover over a builtin of a script that is wrong", got)
    server.end()


def check_limits():
    server = Server("--limit", "1us")
    server.open("begin { %s }" % ("@x[comm, pid] = count(); " * 25000)) # seconds
    say("too long" in server.diagnostics()[0]["message"], "a compiler that takes too long is ended")
    answer = server.ask("textDocument/hover", {"textDocument": {"uri": "file:///nowhere/script.bt"}, "position": {"line": 0, "character": 0}})
    say(answer["error"]["code"] == -32803, "so is one that answers a request", answer)
    server.end()
    server = Server()
    server.open("begin { exit() }")
    place = {"textDocument": {"uri": "file:///nowhere/script.bt"}, "position": {"line": 0, "character": 0}}
    hover = {"jsonrpc": "2.0", "id": "a", "method": "textDocument/hover", "params": place}
    server.send(frame(hover) + frame({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "a"}}))
    answer = server.answer("a")
    say(answer["error"]["code"] == -32800, "a request that is cancelled", answer)
    server.send(b"".join(frame({**hover, "id": number}) for number in range(1000, 1100)))
    say(all("result" in server.answer(number) for number in range(1000, 1100)), "a hundred requests at once are all answered")
    server.end()
    check_crash()


def check_crash():
    """Kills the child that compiles."""
    server, version = Server(), 1
    slow = "begin { %s }\n" % ("@x = count(); " * 2000)
    server.open(slow)
    end, got = time.monotonic() + PATIENCE, None
    children = "/proc/%d/task/%d/children" % (server.process.pid, server.process.pid)
    while not got and time.monotonic() < end:
        child = open(children).read().split()
        if child:
            try:
                os.kill(int(child[0]), signal.SIGKILL)
            except ProcessLookupError:
                pass
        got = [item["message"] for item in server.diagnostics(version) if "gave up" in item["message"]]
        version += 1
        server.change(slow, version)
    say(got and server.lives(), "the server outlives a compiler that crashes", got)
    server.end()
    say(not os.path.exists(children), "nothing is left of a server that has ended")


# ---- what no client should send ----

def check_broken_heads():
    for what, raw in (("no length", b"Content-Type: x\r\n\r\n{}"), ("no head", b"\r\n\r\n"), ("a negative length", b"Content-Length: -1\r\n\r\n{}"),
                      ("a length that is too large for any number", b"Content-Length: 99999999999999999999999\r\n\r\n"), ("a length that is no number", b"Content-Length: 1x\r\n\r\n{}"),
                      ("a line without a colon", b"Content-Length 5\r\n\r\n{}"), ("a head without an end", b"X: " + b"y" * 100000), ("noise", bytes(random.Random(1).randrange(256) for _ in range(65536))),
                      ("a body that is longer than said", frame(b'{"jsonrpc": "2.0"}')[:-4].replace(b"18", b"3") + b'"x"}\r\n\r\n'), ("JSON without a head", b'{"id": 1}\n' * 1000)):
        server = Server()
        try:
            server.send(raw)
            status = server.end()
        except (TimeoutError, ValueError) as error:
            status = error
        say(status == 1 and b"ERROR: the input is not the language server protocol" in server.errors, "the end: " + what, (status, server.errors))
    for what, raw in (("a head that does not end", b"Content-Len"), ("a body that does not come", b"Content-Length: 100\r\n\r\n{"), ("a message of which nothing comes", b"Content-Length: 99999999999\r\n\r\n{")):
        server = Server()
        server.send(raw)
        say(server.end() == 1 and not server.errors, "the end of the input within " + what, server.errors)


def check_broken_bodies():
    server = Server()
    deep = b'{"jsonrpc": "2.0", "id": 1, "method": "x", "params": ' + b"[" * 1000000 + b"]" * 1000000 + b"}"
    for what, body, code in (("no JSON", b"{", -32700), ("nothing", b"", -32700), ("an array", b"[]", -32700), ("a number", b"1", -32700), ("noise", os.urandom(1000), -32700), ("a NUL", b"{}\0", -32700),
                             ("deep nesting", deep, -32700), ("no method", b'{"jsonrpc": "2.0"}', -32600), ("an id that is an object", b'{"id": {}, "method": "x"}', -32600),
                             ("an id of null", b'{"id": null, "method": "x"}', -32600), ("a long id", b'{"id": "%s", "method": "x"}' % (b"x" * 1000), -32600),
                             ("a message that is too long", b" " * (MESSAGE_MAX + 1), -32600)):
        server.send(frame(body))
        answer = server.answer(None)
        say(answer["error"]["code"] == code and server.lives(), "an error, and it goes on: " + what, answer)
    server.send(frame({"jsonrpc": "2.0", "id": 5, "result": {}}) + frame({"jsonrpc": "2.0", "method": "$/unknown"}) + frame({"jsonrpc": "2.0", "method": "nonsense", "params": [1]}))
    say(server.lives() and not server.got, "answers and unknown notifications are passed over", server.got)
    server.send(b"content-length:  2 \r\nContent-Type: a; b\r\n\r\n[]")
    say(server.answer(None)["error"]["code"] == -32700, "a head in other letters")
    server.end()


def check_wrong_parameters():
    server = Server()
    server.open("begin { exit() }")
    server.diagnostics()
    odd = [None, 1, -1, 1.5, "x", [], {}, [[]], True, 2 ** 80, "\ud800", "file:///%zz%", {"uri": 1}, {"line": -1}]
    uri = {"uri": "file:///nowhere/script.bt"}
    bad = []
    for method in ("initialize", "shutdown?", "textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "textDocument/completion", "textDocument/hover", "textDocument/codeAction",
                   "$/cancelRequest", "textDocument/" + "x" * 10000):
        shapes = [value for value in odd]
        shapes += [{"textDocument": value} for value in odd] + [{"textDocument": {"uri": value, "text": value, "version": value}} for value in odd]
        shapes += [{"textDocument": uri, "position": value, "range": value, "contentChanges": value} for value in odd]
        shapes += [{"textDocument": uri, "position": {"line": value, "character": value}, "range": {"start": value, "end": value}, "contentChanges": [{"text": value}], "id": value} for value in odd]
        if method == "textDocument/didClose":
            shapes = [shape for shape in shapes if not (isinstance(shape, dict) and shape.get("textDocument") == uri)]
        for shape in shapes:
            server.notify(method, shape)
            answer = server.ask(method, shape)
            if answer is None:
                bad.append((method, shape))
                server = Server()
                server.open("begin { exit() }")
    say(not bad and server.lives(), "parameters of any shape", bad[:3])
    answer = server.ask("textDocument/hover", {"textDocument": {"uri": "file:///other"}, "position": {"line": 0, "character": 0}})
    say(answer["error"]["code"] == -32602, "a document that is not open", answer)
    server.end()


def check_texts():
    """Texts that no script is."""
    server, version = Server(), 1
    server.open("")
    server.diagnostics(1)
    for what, text in (("a NUL", "begin\0 { }"), ("half a character", "begin { print(\"\ud83d\") }"), ("only closing braces", "}" * 100000), ("only opening braces", "begin " + "{" * 100000),
                       ("five megabytes", "begin { }\n" * 500000), ("a line without an end", "begin { $x = " + "1 + " * 200000), ("many mistakes", "begin { print(nosuch); }\n" * 2000)):
        version += 1
        server.change(text, version)
        got = server.diagnostics(version)
        server.at("completion", 2 ** 62, 2 ** 62)
        server.at("hover", 0, 7)
        server.fixes((0, 0), (2 ** 40, 2 ** 40))
        say((got or what == "half a character") and server.lives(), "diagnostics of a text: " + what, got)
    body = b'{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {"uri": "file:///nowhere/script.bt", "version": 99}, "contentChanges": [{"text": "begin { print(\xff\xc3) }"}]}}'
    server.send(frame(body))
    say(server.diagnostics(99), "bytes that are no UTF-8")
    for number in range(1100):
        server.open("begin { exit() }", uri="file:///many/%d" % number)
    refused = server.wait(lambda message: message.get("method") == "window/showMessage")
    say(refused and server.lives(), "more documents than may be", refused)
    with open("/proc/%d/status" % server.process.pid) as status:
        peak = int([line for line in status if line.startswith("VmHWM")][0].split()[1]) // 1024
    say(peak < 150 or os.environ.get("SAN"), "the server's memory stays bounded: %d MB at most" % peak)
    server.end()


check_life()
check_diagnostics()
check_other_files()
check_completion()
check_hover()
check_limits()
check_broken_heads()
check_broken_bodies()
check_wrong_parameters()
check_texts()
sys.exit(failed)
