# SPDX-License-Identifier: BSD-3-Clause
# A receiver of OpenTelemetry's protocol, and what is in the requests that it gets.
import gzip
import http.server
import os
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from protobuf import BYTES, FIXED64, VARINT, numbers, wired_fields  # noqa: E402


# ---- the protocol: a decoder that knows nothing of the writer ----
ATTRIBUTE = {1: ("key", "text"), 2: ("value", {1: ("stringValue", "text"), 2: ("boolValue", "bool"), 3: ("intValue", "signed"), 4: ("doubleValue", "real")})}
EVENT = {1: ("timeUnixNano", "fixed"), 2: ("name", "text"), 3: ("attributes", [ATTRIBUTE])}
LINK = {1: ("traceId", "id"), 2: ("spanId", "id"), 4: ("attributes", [ATTRIBUTE])}
SPAN = {1: ("traceId", "id"), 2: ("spanId", "id"), 4: ("parentSpanId", "id"), 5: ("name", "text"), 6: ("kind", "small"),
        7: ("startTimeUnixNano", "fixed"), 8: ("endTimeUnixNano", "fixed"), 9: ("attributes", [ATTRIBUTE]), 11: ("events", [EVENT]),
        12: ("droppedEventsCount", "small"), 13: ("links", [LINK]), 14: ("droppedLinksCount", "small"),
        15: ("status", {2: ("message", "text"), 3: ("code", "small")})}
SCOPE = {1: ("scope", {1: ("name", "text"), 2: ("version", "text")}), 2: ("spans", [SPAN])}
REQUEST = {1: ("resourceSpans", [{1: ("resource", {1: ("attributes", [ATTRIBUTE])}), 2: ("scopeSpans", [SCOPE])}])}


POINT = {2: ("startTimeUnixNano", "fixed"), 3: ("timeUnixNano", "fixed")}
NUMBER = {**POINT, 4: ("asDouble", "real"), 7: ("attributes", [ATTRIBUTE])}
BUCKETS = {1: ("offset", "zigzag"), 2: ("bucketCounts", "numbers")}
EXPONENTIAL = {**POINT, 1: ("attributes", [ATTRIBUTE]), 4: ("count", "fixed"), 6: ("scale", "zigzag"), 7: ("zeroCount", "fixed"), 8: ("positive", BUCKETS), 9: ("negative", BUCKETS)}
HISTOGRAM = {**POINT, 4: ("count", "fixed"), 6: ("bucketCounts", "fixeds"), 7: ("explicitBounds", "reals"), 9: ("attributes", [ATTRIBUTE])}
SUMMARY = {**POINT, 4: ("count", "fixed"), 5: ("sum", "real"), 7: ("attributes", [ATTRIBUTE])}
ABOUT = {2: ("aggregationTemporality", "small"), 3: ("isMonotonic", "bool")}
METRIC = {1: ("name", "text"), 2: ("description", "text"), 3: ("unit", "text"), 5: ("gauge", {1: ("dataPoints", [NUMBER])}), 7: ("sum", {1: ("dataPoints", [NUMBER]), **ABOUT}),
          9: ("histogram", {1: ("dataPoints", [HISTOGRAM]), **ABOUT}), 10: ("exponentialHistogram", {1: ("dataPoints", [EXPONENTIAL]), **ABOUT}), 11: ("summary", {1: ("dataPoints", [SUMMARY])})}
METRICS = {1: ("resourceMetrics", [{1: ("resource", {1: ("attributes", [ATTRIBUTE])}), 2: ("scopeMetrics", [{1: ("scope", {1: ("name", "text"), 2: ("version", "text")}), 2: ("metrics", [METRIC])}])}])}
RECORD = {1: ("timeUnixNano", "fixed"), 2: ("severityNumber", "small"), 3: ("severityText", "text"), 5: ("body", {1: ("stringValue", "text")}), 11: ("observedTimeUnixNano", "fixed")}
LOGS = {1: ("resourceLogs", [{1: ("resource", {1: ("attributes", [ATTRIBUTE])}), 2: ("scopeLogs", [{1: ("scope", {1: ("name", "text"), 2: ("version", "text")}), 2: ("logRecords", [RECORD])}])}])}


def decode(data, message):
    found = {}
    for number, wire, value in wired_fields(data):
        name, kind = message[number]
        wanted = {"bool": VARINT, "signed": VARINT, "zigzag": VARINT, "small": VARINT, "real": FIXED64, "fixed": FIXED64}.get(kind if isinstance(kind, str) else None, BYTES)
        assert wire == wanted, f"{name} has the wire type {wire}"
        if kind == "text":
            value = value.decode()
        elif kind == "id":
            value = value.hex()
        elif kind == "bool":
            value = bool(value)
        elif kind == "signed":
            value = str(value - (1 << 64) if value >> 63 else value)
        elif kind == "zigzag":
            value = value >> 1 ^ -(value & 1)
        elif kind == "fixeds":
            value = [str(number) for number in struct.unpack("<%dQ" % (len(value) // 8), value)]
        elif kind == "reals":
            value = list(struct.unpack("<%dd" % (len(value) // 8), value))
        elif kind == "numbers":
            value = [str(one) for one in numbers(value)]
        elif kind == "real":
            value = struct.unpack("<d", value)[0]
        elif kind == "fixed":
            value = str(struct.unpack("<Q", value)[0])
        elif isinstance(kind, dict):
            value = decode(value, kind)
        elif isinstance(kind, list):
            found.setdefault(name, []).append(decode(value, kind[0]))
            continue
        assert name not in found, name + " is there twice"
        found[name] = value
    return found


def without_empty(value):
    """Lists that are empty have no bytes in protocol buffers; numbers are as exact as JSON has them."""
    if isinstance(value, dict):
        return {key: without_empty(item) for key, item in value.items() if item != []}
    if isinstance(value, list):
        return [without_empty(item) for item in value]
    return value


def spans_of(requests):
    return [span for request in requests for resource in request.get("resourceSpans", []) for scope in resource["scopeSpans"] for span in scope["spans"]]


def attributes(item):
    found = {}
    for attribute in item.get("attributes", []):
        assert attribute["key"] not in found, "twice: " + attribute["key"]
        (kind, value), = attribute["value"].items()
        found[attribute["key"]] = int(value) if kind == "intValue" else value
    return found


# ---- what is in requests ----
def metrics_of(requests):
    return {metric["name"]: metric for request in requests[-1:] for resource in request["resourceMetrics"] for scope in resource["scopeMetrics"] for metric in scope["metrics"]}


def points(metric):
    """{attributes: the point without them and without times}"""
    data = next(metric[kind] for kind in ("gauge", "sum", "histogram", "exponentialHistogram", "summary") if kind in metric)
    return {tuple(attributes(point).values()): {key: value for key, value in point.items() if key not in ("attributes", "startTimeUnixNano", "timeUnixNano")} for point in data["dataPoints"]}


def records_of(requests):
    return [record for request in requests for resource in request["resourceLogs"] for scope in resource["scopeLogs"] for record in scope["logRecords"]]


def severities_of(requests):
    """[(number, name, the first line of the body)]"""
    return [(record["severityNumber"], record["severityText"], record["body"]["stringValue"].split("\n")[0]) for record in records_of(requests)]


def bodies_of(requests):
    return [record["body"]["stringValue"] for record in records_of(requests)]


# ---- a receiver ----
class Receiver:
    """Answers as the script says: one item for each request, the last one for all that follow. An item is a status, or a
    function that is given the handler, or has these by the last word of the path, where 200 is what is missing."""

    def __init__(self, *script):
        outer = self
        self.script, self.bodies, self.headers, self.paths, self.times = list(script) or [200], [], [], [], []
        self.taken, self.taken_paths = [], []
        lock = threading.Lock()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with lock:
                    outer.times.append(time.monotonic())
                    outer.bodies.append(body)
                    outer.headers.append(self.headers)
                    outer.paths.append(self.path)
                    step = outer.script.pop(0) if len(outer.script) > 1 else outer.script[0]
                    if isinstance(step, dict):
                        step = step.get(os.path.basename(self.path), 200)
                if callable(step):
                    step(self)
                    return
                if step == 200:
                    outer.taken.append(body)
                    outer.taken_paths.append(self.path)
                self.answer(step)

            def answer(self, status, body=b"", **headers):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, address):
                pass  # who does not wait for the answer is no error

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.server.shutdown()
        self.server.server_close()

    def count(self):
        """How many spans came, without a look into them."""
        parts = [gzip.decompress(body) for body in self.taken]
        for number in 1, 2, 2:  # of each request its resources, of these the scopes, of these the spans
            parts = [value for part in parts for found, _, value in wired_fields(part) if found == number]
        return len(parts)

    def requests(self, message=REQUEST):
        """Those that have come by now: more come meanwhile, and may come faster than they are decoded."""
        taken = list(zip(self.taken_paths, self.taken))
        return [decode(gzip.decompress(body), message) for path, body in taken if ("/v1/logs" in path) == (message is LOGS)]


# ---- receivers that do harm ----
def close_in_the_middle(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
    handler.wfile.flush()
    handler.connection.shutdown(2)
    handler.close_connection = True


def never_answer(handler):
    handler.rfile.read(1)  # until the other side has had enough
    handler.close_connection = True


def garbage(handler):
    handler.wfile.write(os.urandom(100) + b"\r\n\r\n")
    handler.wfile.flush()
    handler.close_connection = True
