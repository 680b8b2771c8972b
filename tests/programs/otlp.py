# SPDX-License-Identifier: BSD-3-Clause
# The parts of otlp.sh: otlp.py ROOT BUILD [PART].
import argparse
import gzip
import json
import os
import re
import resource
import shutil
import signal
import ssl
import subprocess
import threading
import time

from otlp_receiver import Receiver, attributes, close_in_the_middle, garbage, never_answer, spans_of, without_empty
from otlp_testing import lines_of, record, report, result, root, run_parts, spoor
from waiting import until


def sorted_spans(spans):
    return sorted(without_empty(spans), key=lambda span: span["spanId"])


def sent(file, *script, options=()):
    """(report's result, what the receiver got, seconds)."""
    with Receiver(*script) as receiver:
        begin = time.monotonic()
        done = report("-f", file, "--otlp", receiver.url, *options)
        return done, receiver, time.monotonic() - begin


# ---- what was recorded ----
def expected(file):
    """The spans of a recording, by the id of the object, as `report -j` has them."""
    model = json.loads(report("-f", file, "-j").stdout)
    points, objects = {point["id"]: point for point in model["tpoints"]}, {}
    for entry in model["entries"]:
        if "object" not in entry:
            continue
        point = points[entry["tpoint"]]
        span = objects.setdefault(entry["object"]["id"], {"events": [], "start": entry["time_ns"], "related": entry.get("related")})
        span["end"] = entry["time_ns"]
        span["events"].append((point["name"], int(entry["time_ns"]), dict(zip((a["name"] for a in point["args"]), entry.get("args", [])))))
    return objects


def is_same(got, wanted):
    """Whether a value of an attribute is that of the recording's JSON, where pointers are numbers and enums are."""
    if isinstance(got, str) and got.startswith("0x"):
        return int(got, 16) == int(wanted)
    return got == wanted or isinstance(got, str) and not isinstance(wanted, str) or str(got) == wanted


def compare(spans, objects):
    """What differs between spans and the objects of the recording."""
    by_start, ids = {}, {span["spanId"]: span for span in spans}
    if len(spans) != len(objects) or len(ids) != len(spans):
        return f"{len(spans)} spans, {len(ids)} ids, {len(objects)} objects"
    for span in spans:
        first = span["events"][0]
        by_start[(first["name"], int(first["timeUnixNano"]), attributes(span)["spoor.object"])] = span
    offsets, found = set(), {}
    for name, item in objects.items():
        item["key"] = item["events"][0][0], item["events"][0][1]
    all_starts = sorted(int(span["events"][0]["timeUnixNano"]) for span in spans)
    offset = all_starts[0] - min(item["events"][0][1] for item in objects.values())
    for key, span in by_start.items():
        found.setdefault((key[0], key[1] - offset), []).append(span)
    for name, item in objects.items():
        candidates = found.get(item["key"], [])
        right = [span for span in candidates if [event["name"] for event in span["events"]] == [event[0] for event in item["events"]]
                 and all(int(event["timeUnixNano"]) - offset == was[1] and all(is_same(attributes(event)[key], value) for key, value in was[2].items() if value is not None)
                         for event, was in zip(span["events"], item["events"]))]
        if not right:
            return f"{name} {item} is no span: {candidates[:1]}"
        item["span"] = right[0]
        offsets.add(int(right[0]["startTimeUnixNano"]) - int(item["start"]))
        if int(right[0]["endTimeUnixNano"]) - offset != int(item["end"]):
            return f"{name} ends at another time: {right[0]}"
    for name, item in objects.items():
        parent = item["span"].get("parentSpanId")
        wanted = objects[item["related"].split()[0]]["span"] if item["related"] else None
        if parent != (wanted["spanId"] if wanted else None) or wanted and wanted["traceId"] != item["span"]["traceId"]:
            return f"{name} has the parent {parent}, and not {wanted}"
    if offsets != {offset}:
        return f"times are off: {offsets}"
    wall = time.time_ns() - all_starts[0]
    return None if 0 < wall < 600 * 10**9 else f"the first was {wall} ns ago"


def recording_of_another_machine():
    """A recording says where it was made: in a namespace with another name."""
    own = ["unshare", "--uts", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if subprocess.run([*own, "true"], capture_output=True).returncode:
        print("skip a recording of another machine: no namespace can be made here")
        return
    file = record(*own, "sh", "-c", 'echo elsewhere >/proc/sys/kernel/hostname && exec "$@"', "sh", "./recording", "far", "1", "1", "0")
    done = report("-f", file, "--otlp", "far.json")
    about = attributes(lines_of("far.json")[0]["resourceSpans"][0]["resource"])
    result("its spans are of the machine where it was made", None if about["host.name"] == "elsewhere" != os.uname().nodename else (about, done.stderr))
    terminal, stream = os.openpty()
    subprocess.run([spoor, "report", "-f", file], stdout=stream, timeout=60)
    result("which is told on a terminal", None if b": ./recording far 1 1 0, process " in (said := os.read(terminal, 4096)) and b" on elsewhere, from " in said else said)
    os.close(terminal)
    os.close(stream)


def part_recording():
    file = record("./recording", "small", "300", "3", "0")
    objects = expected(file)
    done = report("-f", file, "--otlp", "small.json")
    requests = lines_of("small.json")
    spans = spans_of(requests)
    result("a file has the spans of the recording", done.returncode or compare(spans, objects) or len(spans) != 1800 and len(spans))
    resource = {key: value for key, value in attributes(requests[0]["resourceSpans"][0]["resource"]).items()}
    model_pid = int(re.search(r"process (\d+)|pid[_ .]?(\d+)|-(\d+)", os.path.basename(file) + "-0")[0].strip("-pidprocess. ") or 0)
    result("the resource is the program", None if resource["service.name"] == "small" and resource["process.command_line"] == "./recording small 300 3 0"
           and resource["host.name"] == os.uname().nodename and isinstance(resource["process.pid"], int) else (resource, model_pid))
    recording_of_another_machine()
    result("the scope is spoor", None if requests[0]["resourceSpans"][0]["scopeSpans"][0]["scope"]["name"] == "spoor" else requests[0])
    result("its events about nothing are told", None if "900 events are about no object" in done.stderr else done.stderr)
    result("requests are bounded", None if len(requests) > 1 and all(len(spans_of([request])) <= 512 for request in requests) else len(requests))
    first = next(span for span in spans if span["name"] == "bdev_io")
    values = attributes(first)
    result("types are kept", None if isinstance(values["offset"], int) and values["type"] == "IO_READ" and values["ctx"].startswith("0x") and values["status"] == 0 else values)

    done, receiver, _ = sent(file)
    same = sorted_spans(spans_of(receiver.requests())) == sorted_spans(spans)
    result("a receiver gets the same", None if same and not done.returncode else done.stderr)
    result("it is told how", None if set(receiver.paths) == {"/v1/traces"} and receiver.headers[0]["Content-Type"] == "application/x-protobuf"
           and receiver.headers[0]["Content-Encoding"] == "gzip" else str(receiver.headers[0]))
    result("and how many arrived is said", None if "NOTE: 1800 spans arrived" in done.stderr else done.stderr)

    decoder = os.environ.get("OTEL_DECODER")
    if decoder and os.path.exists(decoder):
        names = []
        for index, body in enumerate(receiver.taken):
            names.append(f"body.{index}")
            with open(names[-1], "wb") as out:
                out.write(gzip.decompress(body))
        decoded = subprocess.run(["node", root + "/tests/programs/otlp_decode.js", decoder, *names], capture_output=True, text=True, timeout=60)
        theirs = [json.loads(line) for line in decoded.stdout.splitlines()]
        same = sorted_spans(spans_of(theirs)) == sorted_spans([{**span, "kind": span["kind"]} for span in spans])
        result("OpenTelemetry's decoder reads the same", decoded.stderr or (None if same else (spans_of(theirs)[:1], spans[:1])))
        result("and the same parents, names and attributes", compare(spans_of(theirs), objects))
    else:
        print("skip OpenTelemetry's decoder: npm did not bring it")

    report("-f", file, "--otlp", "again.json")
    result("twice gives the same ids", None if spans_of(lines_of("again.json")) == spans else "other spans")
    shutil.copyfile(file, "copy.spoor")
    report("-f", "copy.spoor", "--otlp", "copied.json")
    result("a copy has the same ids", None if spans_of(lines_of("copied.json")) == spans else "other spans")
    restarted = record("./recording", "small", "300", "3", "0")
    report("-f", restarted, "--otlp", "restarted.json")
    other = spans_of(lines_of("restarted.json"))
    ids = {span["spanId"] for span in spans} | {span["traceId"] for span in spans}
    result("a restart has other ids", None if len(other) == 1800 and not ids & ({s["spanId"] for s in other} | {s["traceId"] for s in other}) else "the same ids")

    report("-f", file, "--tracepoint", "BDEV_*", "--otlp", "filtered.json")
    filtered = {span["spanId"]: span for span in spans_of(lines_of("filtered.json"))}
    whole = {span["spanId"]: span for span in spans if span["name"] == "bdev_io"}
    result("filters choose spans, which stay whole", None if filtered == whole else f"{len(filtered)} of {len(whole)}")
    lossy = record("./recording", "lossy", "4000", "2", "0", "64")
    done = report("-f", lossy, "--otlp", "lossy.json")
    broken = spans_of(lines_of("lossy.json"))
    begun = [span for span in broken if not attributes(span).get("spoor.begin_is_missing")]
    result("objects whose beginning was overwritten say so", None if 0 < len(begun) <= len(broken) and done.returncode == 0 else done.stderr)
    taken = report("-f", file, "--otlp", "small.json")
    result("what exists is not overwritten", None if taken.returncode == 1 and "File exists" in taken.stderr else taken.stderr)


def part_relations():
    file = record("./otlp_writer")
    done = report("-f", file, "--otlp", "relations.json")
    spans = spans_of(lines_of("relations.json"))
    by_name = {}
    for span in spans:
        by_name.setdefault(span["name"], []).append(span)
    requests, steps, jobs, both = (by_name[name] for name in ("request", "step", "job", "both"))
    request = next(span for span in requests if "status" in span)
    plain = next(span for span in requests if "status" not in span)
    result("a text traceparent joins the application's trace", None if request["traceId"] == "0af7651916cd43dd8448eb211c80319c" and request["parentSpanId"] == "b7ad6b7169203331" else request)
    result("what is none does not", None if "parentSpanId" not in plain and plain["traceId"] != request["traceId"] else plain)
    result("three numbers join it too", None if jobs[0]["traceId"] == "0102030405060708090a0b0c0d0e0f10" and jobs[0]["parentSpanId"] == "1112131415161718" else jobs)
    result("what is below is in the same trace", None if all(span["traceId"] == request["traceId"] and span["parentSpanId"] == request["spanId"] for span in steps) else steps)
    wrong = next(span for span in steps if "status" in span)
    right = next(span for span in steps if "status" not in span)
    result("a further relation is a link", None if [(link["traceId"], link["spanId"]) for link in wrong["links"]] == [(right["traceId"], right["spanId"])] and not right["links"] else steps)
    result("errors are told", None if request["status"] == {"message": "PROBLEM_DISK_FULL", "code": 2} and wrong["status"] == {"message": 'it "broke"', "code": 2} else (request, wrong))
    result("an event about nothing is the one's that it names", None if [event["name"] for event in request["events"]] == ["REQUEST_NEW", "NOTE_ABOUT", "REQUEST_DONE"] else request["events"])
    result("large numbers stay exact", None if attributes(request)["big"] == str(2**64 - 1) and attributes(request)["load"] == 0.5 and attributes(plain)["load"] == 1e300
           and attributes(jobs[0])["small"] == -3 else attributes(request))
    child = [span for span in both if "parentSpanId" in span]
    parent = [span for span in both if "parentSpanId" not in span]
    result("no circles", None if len(child) == 1 and child[0]["parentSpanId"] == parent[0]["spanId"] and parent[0]["links"][0]["spanId"] == child[0]["spanId"] else both)
    result("what never ends", None if len(spans) == 7 and not any("spoor.end_is_missing" in attributes(span) for span in both) else both)
    result("what is alone is told", None if "1 events are about no object" in done.stderr else done.stderr)
    _, receiver, _ = sent(file)
    result("protocol buffers have the same", None if sorted_spans(spans_of(receiver.requests())) == sorted_spans([json.loads(json.dumps(span).replace("\\u00ff", "?")) for span in spans]) else "other spans")


def part_slowest():
    file = record("./recording", "slow", "500", "2", "0")
    report("-f", file, "--otlp", "all.json")
    spans = spans_of(lines_of("all.json"))
    for options, kind in ((["3", "tcp_req"], "tcp_req"), (["2", "i"], "bdev_io"), (["5"], None)):
        done = report("-f", file, "--slowest", *options, "--otlp", "chosen.json")
        chosen = spans_of(lines_of("chosen.json"))
        os.unlink("chosen.json")
        lives = sorted((int(span["startTimeUnixNano"]) - int(span["endTimeUnixNano"]) for span in spans if kind in (None, span["name"])))
        limit = lives[int(options[0]) - 1]
        traces = {span["traceId"] for span in chosen}
        slow = {span["traceId"] for span in spans if kind in (None, span["name"]) and int(span["startTimeUnixNano"]) - int(span["endTimeUnixNano"]) < limit}
        whole = [span for span in spans if span["traceId"] in traces]
        result("--slowest " + " ".join(options), None if slow <= traces and 0 < len(traces) <= int(options[0]) and sorted_spans(whole) == sorted_spans(chosen) and not done.returncode else done.stderr)
    for percentile, kind in (("p99", "tcp_req"), ("p90", "i"), ("p50", None), ("p99.95", None), ("p0.5", "bdev_io")):
        wanted = {"i": "bdev_io"}.get(kind, kind)
        done = report("-f", file, "--slowest", percentile, *([kind] if kind else []), "--otlp", "chosen.json")
        chosen = spans_of(lines_of("chosen.json"))
        os.unlink("chosen.json")
        traces, slow, most = {span["traceId"] for span in chosen}, set(), 0
        for name in {span["name"] for span in spans if wanted in (None, span["name"])}:
            lives = sorted((int(span["startTimeUnixNano"]) - int(span["endTimeUnixNano"]), span["traceId"]) for span in spans if span["name"] == name)
            above = -(-len(lives) * (100000 - round(float(percentile[1:]) * 1000)) // 100000)
            slow |= {trace for life, trace in lives if life < lives[above - 1][0]}
            most += above
        whole = [span for span in spans if span["traceId"] in traces]
        result(f"--slowest {percentile} {kind}", None if slow <= traces and 0 < len(traces) <= most and sorted_spans(whole) == sorted_spans(chosen) and not done.returncode else (len(slow), len(traces), most, done.stderr))
    for wrong in "p0", "p100", "p", "p9x", "p99.9999", "p99.", "p-1", "x", "0", "1001", "p99999999999999999999":
        done = report("-f", file, "--slowest", wrong, "--otlp", "chosen.json")
        result(f"--slowest takes no {wrong}", None if done.returncode == 1 and "takes a number from 1 to 1000, or a percentile such as p99, not" in done.stderr and not os.path.exists("chosen.json") else done.stderr)
    done = report("-f", file, "--slowest", "p99")
    result("a percentile is for --otlp", None if done.returncode == 1 and "is for --otlp" in done.stderr else done.stderr)
    file = record("./otlp_writer")
    report("-f", file, "--slowest", "p99", "job", "--otlp", "errors.json")
    names = sorted(span["name"] for span in spans_of(lines_of("errors.json")))
    result("traces with errors beside a percentile", None if names == ["job", "request", "step", "step"] else names)
    os.unlink("errors.json")
    report("-f", file, "--slowest", "1", "job", "--otlp", "errors.json")
    names = sorted(span["name"] for span in spans_of(lines_of("errors.json")))
    result("traces with errors leave the machine too", None if names == ["job", "request", "step", "step"] else names)
    done = report("-f", file, "--slowest", "1", "nothing", "--otlp", "none.json")
    result("a type that is none is refused", None if done.returncode == 1 and "no type of objects is called 'nothing'" in done.stderr else done.stderr)


def count_of(done, what):
    found = re.search(r"(\d+) of (\d+) spans did not arrive", done.stderr)
    return found and (int(found[1]), int(found[2]))


def part_faults():
    file = record("./recording", "faulty", "600", "2", "0")  # 2400 spans, 5 requests
    done, receiver, _ = sent(file, 503, 200)
    result("503, then 200", None if not done.returncode and len(spans_of(receiver.requests())) == 2400 and "it answers 503" in done.stderr else done.stderr)
    for status in 429, 502, 504:
        done, receiver, _ = sent(file, status, 200)
        result(f"{status}, then 200", None if not done.returncode and len(spans_of(receiver.requests())) == 2400 else done.stderr)
    for status in 400, 401, 413, 500, 302:
        done, receiver, _ = sent(file, status, 200)
        missing = count_of(done, status)
        result(f"{status} is not tried again", None if done.returncode == 1 and missing and missing == (2400 - len(spans_of(receiver.requests())), 2400) and len(receiver.bodies) == 5 else done.stderr)
    done, receiver, _ = sent(file, lambda handler: handler.answer(400, b"\x12\x0cno such key!"))
    result("the receiver's reason is shown", None if "it answers 400, no such key!" in done.stderr else done.stderr)

    done, receiver, seconds = sent(file, lambda handler: handler.answer(503, Retry_After="1"), 200)
    result("Retry-After is honoured", None if not done.returncode and len(spans_of(receiver.requests())) == 2400 and seconds >= 1 and
           min(moment - receiver.times[0] for moment in receiver.times[1:] if moment - receiver.times[0] > 0.2) >= 0.95 else (seconds, receiver.times, done.stderr))
    for hostile in "99999999999999999999999999", "-5", "soon", "1e9", "Fri, 31 Dec 9999 23:59:59 GMT", "\x01\x02", "86400":
        done, receiver, seconds = sent(file, lambda handler: handler.answer(503, Retry_After=hostile), options=["--otlp-wait", "0.3s"])
        result(f"a Retry-After of {ascii(hostile)}", None if done.returncode == 1 and count_of(done, 0) == (2400, 2400) and seconds < 10 else (seconds, done.stderr))

    partial = lambda handler: handler.answer(200, b"\x0a\x0c\x08\x07\x12\x08too many")
    done, receiver, _ = sent(file, partial, 200)
    result("what a receiver rejects is counted", None if done.returncode == 1 and count_of(done, 0) == (7, 2400) and "too many" in done.stderr else done.stderr)
    for name, body in (("nonsense", os.urandom(64)), ("a length beyond the end", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), ("more rejected than sent", b"\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
                       ("fewer than none", b"\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), ("a terminal's commands", b"\x0a\x0a\x08\x01\x12\x06\x1b[2J\n\x07"), ("far too much", b"\x0a\x80\x80\x80\x08" + bytes(16 << 20))):
        done, receiver, _ = sent(file, lambda handler: handler.answer(200, body))
        raw = re.search("[\x00-\x08\x0b-\x1f\x7f]", done.stderr)
        result("an answer of " + name, None if done.returncode in (0, 1) and not raw and re.search("spans (arrived|did not arrive)", done.stderr) else ascii(done.stderr))

    for name, fault in (("closes in the middle", close_in_the_middle), ("never answers", never_answer)):
        done, receiver, seconds = sent(file, fault, options=["--otlp-wait", "0.5s"])
        result(f"a receiver that {name}", None if done.returncode == 1 and count_of(done, 0) == (2400, 2400) and seconds < 10 else (seconds, done.stderr))
        done, receiver, seconds = sent(file, fault, 200, options=["--otlp-wait", "2s"])
        result(f"a receiver that {name} once", None if not done.returncode and len(spans_of(receiver.requests())) == 2400 else (seconds, done.stderr))
    done, receiver, seconds = sent(file, garbage, options=["--otlp-wait", "0.5s"])
    result("a receiver that sends garbage", None if done.returncode == 1 and count_of(done, 0) == (2400, 2400) and seconds < 10 else (seconds, done.stderr))
    with Receiver() as receiver:
        url = receiver.url
    begin = time.monotonic()
    done = report("-f", file, "--otlp", url, "--otlp-wait", "0.5s")
    result("a receiver that is down", None if done.returncode == 1 and count_of(done, 0) == (2400, 2400) and time.monotonic() - begin < 10 else done.stderr)

    release = threading.Event()
    def wait(handler):
        release.wait(30)
        handler.answer(200)
    with Receiver(wait) as receiver:
        child = subprocess.Popen([spoor, "report", "-f", file, "--otlp", receiver.url], stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 20
        while not receiver.bodies and time.monotonic() < end:
            time.sleep(0.01)
        begin = time.monotonic()
        child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=30)[1]
        result("Ctrl-C ends the waiting, and what was sent is said", None if child.returncode == 1 and time.monotonic() - begin < 5 and re.search(r"spans did not arrive at .*: it was interrupted", said) else said)
        release.set()
    limits = ["bash", "-c", 'ulimit -v 400000; exec "$@"', "bash"] if not os.environ.get("SAN") else []
    large = record("./recording", "large", "20000", "2", "0", "16384")
    with Receiver() as receiver:
        done = subprocess.run([*limits, spoor, "report", "-f", large, "--otlp", receiver.url], capture_output=True, text=True, timeout=120)
        result("memory is bounded", None if not done.returncode and receiver.count() == 80000 else (receiver.count(), done.stderr))


def part_options():
    file = record("./recording", "options", "10", "1", "0")
    with Receiver() as receiver:
        done = report("-f", file, "--otlp", receiver.url, "--otlp-header", "x-own=1", env={**os.environ, "OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b%3D, X-Own=2"})
        headers = receiver.headers[0] if receiver.headers else {}
        result("headers of the environment, but for those that were given", None if not done.returncode and headers["api-key"] == "a b=" and headers.get_all("x-own") == ["1"] else (done.stderr, str(headers)))
        done = report("-f", file, "--otlp", receiver.url, env={**os.environ, "OTEL_EXPORTER_OTLP_HEADERS": "api-key=secret,secret"})
        result("what is no header in the environment is said, and not shown", None if done.returncode == 1 and "OTEL_EXPORTER_OTLP_HEADERS: member 2 is no header" in done.stderr and "secret" not in done.stderr and len(receiver.headers) == 1 else done.stderr)
    done, receiver, _ = sent(file, options=["--otlp-header", "X-Key=a=b c", "--otlp-header", "x-empty="])
    result("headers", None if not done.returncode and receiver.headers[0]["X-Key"] == "a=b c" and receiver.headers[0]["x-empty"] == "" else done.stderr)
    with Receiver() as receiver:
        done = report("-f", file, "--otlp", receiver.url + "/my/path?x=1")
        result("a path is kept", None if receiver.paths == ["/my/path?x=1"] else receiver.paths)
    for header in "no equals", "=x", "a b=c", "x=a\r\nY: z":
        done = report("-f", file, "--otlp", "http://127.0.0.1:9", "--otlp-header", header)
        result("no header: " + ascii(header), None if done.returncode == 1 and "is no header" in done.stderr else done.stderr)
    for url in "ftp://x", "http://", "://", "file:///etc/passwd", "http://a b", "http://x\n":
        done = report("-f", file, "--otlp", url)
        result("no address: " + ascii(url), None if done.returncode == 1 and "is no address" in done.stderr else done.stderr)
    done = report("-f", file, "--otlp-wait", "1s")
    result("--otlp-wait needs --otlp", None if done.returncode == 1 and "needs --otlp" in done.stderr else done.stderr)
    done = report("-f", file, "--otlp", "-")
    result("standard output", None if len(spans_of([json.loads(line) for line in done.stdout.splitlines()])) == 20 else done.stderr)


def part_https():
    if not shutil.which("openssl"):
        print("skip https: there is no openssl to make a certificate")
        return
    for name in "own", "other":
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", name + ".key", "-out", name + ".pem", "-days", "2",
                        "-subj", "/CN=receiver", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    file = record("./recording", "https", "10", "1", "0")
    with Receiver() as receiver:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("own.pem", "own.key")
        receiver.server.socket = context.wrap_socket(receiver.server.socket, server_side=True)
        url = receiver.url.replace("http:", "https:")
        trusts = lambda certificate: report("-f", file, "--otlp", url, env={**os.environ, "OTEL_EXPORTER_OTLP_CERTIFICATE": certificate})
        for name, certificate in ("nobody vouches", ""), ("another certificate vouches", "other.pem"):
            done = trusts(certificate)
            result(f"a receiver for which {name}", None if done.returncode == 1 and count_of(done, 0) == (20, 20) and "certificate" in done.stderr and not receiver.bodies else done.stderr)
        done = trusts("own.pem")
        result("a receiver whose certificate is trusted", None if not done.returncode and len(spans_of(receiver.requests())) == 20 else done.stderr)
        done = trusts("missing.pem")
        result("a file of certificates that is missing", None if done.returncode == 1 and "OTEL_EXPORTER_OTLP_CERTIFICATE: cannot read 'missing.pem': No such file" in done.stderr else done.stderr)


def part_full():
    """Writes of at most 64 KiB in a file, which they feel as they feel a full disk."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
    file = record("./recording", "full", "600", "2", "0")
    done = report("-f", file, "--otlp", "full.json", preexec_fn=limit)
    result("a disk that is full is said, once", None if done.returncode == 1 and done.stderr.count("ERROR") == 1 and "full.json: File too large" in done.stderr else done.stderr)
    result("and nothing is left that looks whole", None if not os.path.exists("full.json") else os.path.getsize("full.json"))


def part_live():
    program = subprocess.Popen(["./recording", "live", "0", "1", "1000"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    file = program.stdout.readline().strip()
    with Receiver() as receiver:
        child = subprocess.Popen([spoor, "report", "-f", file, "--follow", "--otlp", receiver.url], stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 20
        while not len(receiver.taken) > 2 and time.monotonic() < end:
            time.sleep(0.01)
        early = len(spans_of(receiver.requests()))
        program.kill()
        program.wait()
        said = child.communicate(timeout=30)[1]
        spans = spans_of(receiver.requests())
        result("--follow sends spans while the program runs", None if early and child.returncode == 0 and len({span["spanId"] for span in spans}) == len(spans) > early else (early, len(spans), said))


def running(*arguments):
    program = subprocess.Popen(["./recording", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return program, program.stdout.readline().strip()


def without_times(spans):
    """What the clock's calibration cannot change, which is another when a recording is read again."""
    return sorted((span["spanId"], span.get("parentSpanId"), span["name"], [event["name"] for event in span["events"]], sorted(attributes(span).items(), key=str)) for span in spans)


def part_record():
    def recorder(*arguments):
        return subprocess.Popen([spoor, "record", *arguments], stderr=subprocess.PIPE, text=True)

    program, file = running("recorded", "0", "2", "1000")
    with Receiver() as receiver:
        child = recorder("-f", file, "-o", "recorded.spoor", "--otlp", receiver.url)
        until(lambda: len(receiver.taken) > 3)
        early = len(spans_of(receiver.requests()))
        program.kill()
        program.wait()
        said = child.communicate(timeout=30)[1]
        spans = spans_of(receiver.requests())
    report("-f", "recorded.spoor", "--otlp", "recorded.json")
    same = without_times(spans) == without_times(spans_of(lines_of("recorded.json")))
    result("record sends objects as they end, and the file has the same", None if same and 0 < early < len(spans) and child.returncode == 0 and f"NOTE: {len(spans)} spans arrived" in said and "0 were overwritten" in said else
           (same, early, len(spans), len(spans_of(lines_of("recorded.json"))), said))

    program, file = running("recorded", "0", "1", "1000")
    with Receiver() as receiver:
        child = recorder("-f", file, "--otlp", receiver.url)
        until(lambda: len(receiver.taken) > 1)
        child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=30)[1]
        spans = spans_of(receiver.requests())
        result("without a file, until Ctrl-C, and what was recorded arrives", None if child.returncode == 0 and f"NOTE: {len(spans)} spans arrived" in said and len({span["spanId"] for span in spans}) == len(spans) else (len(spans), said))
    child = recorder("-f", file, "--duration", "0.3s", "--otlp", "live.json")
    said = child.communicate(timeout=30)[1]
    spans = spans_of(lines_of("live.json"))
    result("to a file", None if child.returncode == 0 and spans and f"NOTE: live.json has {len(spans)} spans" in said else (child.returncode, len(spans), said))
    hurried, fast = running("hurried", "0", "1", "0")  # when the time is over there is more to read
    child = recorder("-f", fast, "--duration", "0.1s", "--otlp", "hurried.json")
    said = child.communicate(timeout=60)[1]
    hurried.kill()
    hurried.wait()
    with open("hurried.json", "rb") as written: # so many that they are not decoded
        spans = sum(line.count(b'"startTimeUnixNano":') for line in written)
    result("to a file, of a program that never pauses", None if child.returncode == 0 and spans and f"NOTE: hurried.json has {spans} spans" in said else (child.returncode, spans, said))
    # All is recorded before, so that what is converted and what is written end with the same event.
    quiet, whole = running("quiet", "2000", "1", "0", "16384")
    quiet.stdout.readline()
    for name, fault in (("is down", None), ("never answers", never_answer), ("answers 503", 503), ("closes in the middle", close_in_the_middle)):
        output = "faulty %s.spoor" % name
        with Receiver(fault) as receiver:
            if not fault:
                receiver.server.server_close()
            begin = time.monotonic()
            child = recorder("-f", whole, "-o", output, "--duration", "1s", "--otlp", receiver.url, "--otlp-wait", "0.3s")
            said = child.communicate(timeout=30)[1]
            seconds = time.monotonic() - begin
        missing = count_of(child_result(said), 0)
        report("-f", output, "--otlp", output + ".json")
        written = len(spans_of(lines_of(output + ".json")))
        result("a recording whose receiver " + name, None if child.returncode == 1 and missing and missing[0] == missing[1] > 0 and "0 were overwritten" in said and written == missing[0] and seconds < 10 else
               (seconds, missing, written, said))
    quiet.kill()
    quiet.wait()
    with Receiver(503, 503, 200) as receiver:
        child = recorder("-f", file, "--duration", "1s", "--otlp", receiver.url)
        said = child.communicate(timeout=30)[1]
        result("a recording whose receiver is well again", None if child.returncode == 0 and f"NOTE: {len(spans_of(receiver.requests()))} spans arrived" in said else said)
    release = threading.Event()
    with Receiver(lambda handler: release.wait(30)) as receiver:
        child = recorder("-f", file, "--otlp", receiver.url)
        until(lambda: receiver.bodies)
        child.send_signal(signal.SIGINT)
        try:
            child.wait(0.5)
        except subprocess.TimeoutExpired:
            pass
        waited = child.poll() is None
        begin = time.monotonic()
        child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=30)[1]
        result("Ctrl-C waits for the receiver, and once more does not", None if waited and child.returncode == 1 and time.monotonic() - begin < 5 and "it was interrupted" in said else (waited, said))
        release.set()
    program.kill()
    program.wait()
    child = recorder("-f", file, "--otlp", "ended.json")
    said = child.communicate(timeout=30)[1]
    report("-f", file, "--otlp", "reported.json")
    result("of a program that has ended", None if child.returncode == 0 and without_times(spans_of(lines_of("ended.json"))) == without_times(spans_of(lines_of("reported.json"))) else said)
    report("-f", record("./recording", "sampled", "4000", "2", "0", "16384"), "--otlp", "ended.jsonl")
    everything = {span["spanId"]: span for span in spans_of(lines_of("ended.jsonl"))}
    child = recorder("-s", "sampled", "--slowest", "p90", "--otlp", "sampled.json")
    said = child.communicate(timeout=30)[1]
    sample = spans_of(lines_of("sampled.json"))
    life = lambda span: int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])
    kinds = {name: [span for span in everything.values() if span["name"] == name] for name in {span["name"] for span in everything.values()}}
    longest = [max(spans, key=life)["spanId"] for spans in kinds.values()]
    median = {name: sorted(map(life, spans))[len(spans) // 2] for name, spans in kinds.items()}
    below = sum(life(span) < median[span["name"]] for span in sample)
    result("a percentile of what has ended so far", None if child.returncode == 0 and set(longest) <= {span["spanId"] for span in sample} <= set(everything) and len(sample) < 0.25 * len(everything) and below < 0.2 * len(sample) + 20
           and f"NOTE: {len(everything) - len(sample)} spans below the percentile were not sent" in said else (len(sample), len(everything), below, said))
    child = recorder("-s", "sampled", "--slowest", "p90", "i", "--otlp", "of_a_type.json")
    said = child.communicate(timeout=30)[1]
    of_a_type = spans_of(lines_of("of_a_type.json")) if os.path.exists("of_a_type.json") else []
    same = sorted(span["spanId"] for span in sample if span["name"] == "bdev_io")
    result("a percentile of one type", None if child.returncode == 0 and same and len(same) < len(sample) and sorted(span["spanId"] for span in of_a_type) == same
           and f"NOTE: {len(everything) - len(same)} spans" in said else (len(of_a_type), len(same), len(sample), said))
    child = recorder("-f", record("./otlp_writer"), "--slowest", "p99.9", "step", "--otlp", "wrong.json")
    said = child.communicate(timeout=30)[1]
    wrong = sorted(span["name"] for span in spans_of(lines_of("wrong.json")) if "status" in span) if os.path.exists("wrong.json") else []
    result("spans of other types with errors are sent, too", None if wrong == ["request", "step"] else (wrong, said))
    if os.path.exists("wrong.json"):
        os.unlink("wrong.json")
    child = recorder("-f", record("./otlp_writer"), "--slowest", "p99.9", "--otlp", "wrong.json")
    said = child.communicate(timeout=30)[1]
    wrong = sorted(span["name"] for span in spans_of(lines_of("wrong.json")) if "status" in span)
    result("spans with errors are sent whatever their life", None if wrong == ["request", "step"] else (wrong, said))
    before = os.listdir(".")
    for arguments, wanted in ((["-f", file], "where to? -o FILE, or --otlp URL"), (["-f", file, "--otlp", "x.json", "--rotate-size", "1M"], "needs -o"), (["-f", file, "-o", "x.spoor", "--otlp", "ftp://x"], "is no address"),
                              (["-f", file, "-o", "recorded.spoor", "--otlp", "x.json"], "recorded.spoor"), (["-f", file, "-o", "x.spoor", "--otlp-wait", "1s"], "needs --otlp"),
                              (["-f", file, "-o", "x.spoor", "--slowest", "p99"], "needs --otlp"), (["-f", file, "--otlp", "x.json", "--slowest", "5"], "takes a percentile such as p99, not '5'"),
                              (["-f", file, "--otlp", "x.json", "--slowest", "p99", "nothing"], "no type of objects is called 'nothing'"), (["-f", file, "--otlp", "x.json", "--slowest", "p99", "i", "more"], "what is 'more'")):
        child = recorder(*arguments)
        said = child.communicate(timeout=30)[1]
        result("no: record " + " ".join(arguments[2:]), None if child.returncode == 1 and wanted in said and "arrived" not in said and os.listdir(".") == before else (said, sorted(set(os.listdir(".")) - set(before))))


def child_result(said):
    return argparse.Namespace(stderr=said)


run_parts(globals())
