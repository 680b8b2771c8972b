# SPDX-License-Identifier: BSD-3-Clause
# The parts of otlp_trace.sh: otlp_trace.py ROOT BUILD [PART].
import gzip
import json
import os
import re
import subprocess
import time

from otlp_receiver import LOGS, METRICS, Receiver, bodies_of, close_in_the_middle, garbage, metrics_of, never_answer, points, records_of, severities_of, spans_of, without_empty
from otlp_testing import lines_of, record, report, result, root, run_parts, spoor


KINDS = """
// How often.
begin {
    @calls["a", 1] = count(); @calls["a", 1] = count(); @calls["b", 2] = count();
    @size_bytes = sum(5); @size_bytes = sum(7); @signed = sum((int64)-5);
    @wait["x"] = avg(3); @wait["x"] = avg(-4); @least = min(-3);
    @power = hist(0); @power = hist(5); @power = hist(7); @power = hist(100); @power = hist(-9);
    @steps["r"] = lhist(5, 0, 20, 10); @steps["r"] = lhist(500, 0, 20, 10); @steps["w"] = lhist(-5, 0, 20, 10);
    @fine = llhist(1000); @["\\xff"] = count();
    exit();
}
"""


def trace(script, place, *options, host="vm"):
    with open("script.bt", "w") as file:
        file.write(script)
    return subprocess.run([spoor, "--host", host, "-q", "--otlp", place, *options, "script.bt"], capture_output=True, text=True, errors="replace", timeout=60)


def timeless(requests):
    """Metrics of the script, without times."""
    found = json.loads(json.dumps([metric for name, metric in sorted(metrics_of(requests).items()) if name.startswith("spoor_script")]))
    for metric in found:
        for data in metric.values():
            for point in data["dataPoints"] if isinstance(data, dict) else []:
                del point["timeUnixNano"], point["startTimeUnixNano"]
    return without_empty(found)


def part_metrics():
    with Receiver() as receiver:
        done = trace(KINDS, receiver.url)
    metrics = metrics_of(receiver.requests(METRICS))
    wanted = {
        "calls": ("sum", {("a", "1"): {"asDouble": 2.0}, ("b", "2"): {"asDouble": 1.0}}),
        "size_bytes": ("sum", {(): {"asDouble": 12.0}}), "signed": ("sum", {(): {"asDouble": -5.0}}),
        "wait": ("summary", {("x",): {"count": "2", "sum": -1.0}}), "least": ("gauge", {(): {"asDouble": -3.0}}),
        "power": ("exponentialHistogram", {(): {"count": "5", "scale": 0, "zeroCount": "1", "positive": {"offset": 2, "bucketCounts": ["2", "0", "0", "0", "1"]}}}),
        "steps": ("histogram", {("r",): {"count": "2", "bucketCounts": ["0", "1", "0", "1"], "explicitBounds": [-1.0, 9.0, 19.0]},
                                ("w",): {"count": "1", "bucketCounts": ["1", "0", "0", "0"], "explicitBounds": [-1.0, 9.0, 19.0]}}),
        "fine": ("exponentialHistogram", {(): {"count": "1", "scale": 5, "zeroCount": "0", "positive": {"offset": 318, "bucketCounts": ["1"]}}}),
    }
    for name, (kind, expected_points) in wanted.items():
        metric = metrics.get("spoor_script_" + name, {})
        got = points(metric) if kind in metric else metric
        for point in got.values() if kind in metric else []:
            point.pop("negative", None)
        result(f"@{name} is a {kind}", done.stderr or (None if got == expected_points else (got, expected_points)))
    result("counters only grow", None if metrics["spoor_script_calls"]["sum"].get("isMonotonic") and not metrics["spoor_script_signed"]["sum"].get("isMonotonic")
           and metrics["spoor_script_calls"]["sum"]["aggregationTemporality"] == 2 else metrics["spoor_script_calls"])
    result("comments, units, paths", None if metrics["spoor_script_size_bytes"]["unit"] == "By" and set(receiver.paths) == {"/v1/metrics"} and "spoor_trace_events" in str(metrics.keys()) else receiver.paths)
    # A value of 1000 lies in the bucket that the scale and the offset say.
    base = 2 ** (2 ** -5)
    result("exponential buckets are where their values are", None if base ** 318 < 1000 <= base ** 319 else base ** 318)
    trace(KINDS, "metrics.json")
    result("a file has the same", None if timeless(lines_of("metrics.json")) == timeless(receiver.requests(METRICS)) else (timeless(lines_of("metrics.json")), timeless(receiver.requests(METRICS))))
    decoder = os.environ.get("OTEL_DECODER")
    if decoder:
        with open("metrics.body", "wb") as out:
            out.write(gzip.decompress(receiver.taken[-1]))
        decoded = subprocess.run(["node", root + "/tests/programs/otlp_decode.js", decoder, "metrics.body"], capture_output=True, text=True, timeout=60)
        result("OpenTelemetry's decoder reads the same metrics", decoded.stderr or (None if timeless([json.loads(decoded.stdout)]) == timeless(receiver.requests(METRICS)) else decoded.stdout))
    else:
        print("skip OpenTelemetry's decoder: npm did not bring it")

    done = trace(KINDS, "metrics.json")
    result("metrics overwrite nothing", None if done.returncode == 1 and "File exists" in done.stderr else done.stderr)
    done = trace(KINDS, "http://127.0.0.1:9", "--openmetrics", "x.prom")
    result("either --otlp or --openmetrics", None if done.returncode == 1 and "--openmetrics" in done.stderr else done.stderr)


def part_trace():
    if os.geteuid():
        print("skip a running trace: needs root")
        return
    ticks = 'begin { @n = count(); } interval:ms:20 { if (@n > 50) { exit(); } else { @n = count(); printf("line %d\\n", @n); } }'
    lines = "".join(f"line {number}\n" for number in range(2, 52))
    with Receiver() as receiver:
        done = trace(ticks, receiver.url, "--openmetrics-period", "0.1s", host="kernel")
        values = [next(iter(points(metrics_of([request])["spoor_script_n"]).values()))["asDouble"] for request in receiver.requests(METRICS)]
        result("they are sent again and again", None if len(values) > 2 and values == sorted(values) and values[-1] == 51 and done.returncode == 0 else (values, done.stderr))
    own = {**os.environ, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=of-the-command"}
    for what, variables, key, kept in (("its own headers, which are the receiver's, too", {}, "of-the-command", True),
                                       ("its own headers, and not those of spoor alone", {"SPOOR_OTLP_HEADERS": "x-key=secret"}, "secret", True),
                                       ("no headers if only spoor has some", {"SPOOR_OTLP_HEADERS": "x-key=secret", "OTEL_EXPORTER_OTLP_HEADERS": ""}, "secret", False)):
        with Receiver() as receiver:
            done = subprocess.run([spoor, "-q", "--otlp", receiver.url, "-e", "interval:s:60 { @n = count(); }", "-c", "/usr/bin/env"], capture_output=True, text=True, timeout=60, env={**own, **variables})
            got = ("PATH=" in done.stdout, "OTEL_EXPORTER_OTLP_HEADERS=x-key=of-the-command" in done.stdout, "secret" in done.stdout, receiver.headers[0].get("x-key") if receiver.headers else None)
            result("the command gets " + what, None if got == (True, kept, False, key) else (got, done.stderr))
    wrong = subprocess.run([spoor, "-q", "--otlp", "http://127.0.0.1:9", "-e", "begin { exit(); }"], capture_output=True, text=True, timeout=60, env={**own, "SPOOR_OTLP_HEADERS": "secret"})
    result("what is no header of spoor's is said by its name, and not shown", None if wrong.returncode == 1 and "SPOOR_OTLP_HEADERS: member 1 is no header" in wrong.stderr and "secret" not in wrong.stderr else wrong.stderr)
    for name, fault in (("never answers", never_answer), ("answers 503", 503), ("closes in the middle", close_in_the_middle), ("sends garbage", garbage)):
        with Receiver(fault) as receiver:
            begin = time.monotonic()
            done = trace(ticks, receiver.url, "--openmetrics-period", "0.1s", "--otlp-wait", "0.3s", host="kernel")
            seconds = time.monotonic() - begin
        result(f"a trace whose receiver {name}", None if done.stdout.lstrip("\n").startswith(lines) and done.returncode == 1 and seconds < 10 and "the last ones among them" in done.stderr else (seconds, done.returncode, done.stdout[:200], done.stderr))
    with Receiver(503, 503, 200) as receiver:
        done = trace(ticks, receiver.url, "--openmetrics-period", "0.1s", host="kernel")
        last = points(metrics_of(receiver.requests(METRICS))["spoor_script_n"])
        result("a receiver that is well again has all of it", None if done.returncode == 0 and last == {(): {"asDouble": 51.0}} else (last, done.stderr))


def missing_lines(done):
    found = re.search(r"(\d+) of (\d+) lines did not arrive", done.stderr)
    return found and (int(found[1]), int(found[2]))


LINES = """
begin {
    printf("half "); printf("a line\\n"); printf("two\\nlines\\n"); printf("\\n"); print((1, "x"));
    @m["key"] = count(); print(@m); printf("no end");
    exit();
}
end { printf(" yet\\nlast"); }
"""
LINES_SENT = ["half a line", "two", "lines", "(1, x)", "no end yet", "last"]


def part_lines():
    with Receiver() as receiver:
        before = time.time_ns()
        done = trace(LINES, receiver.url)
        records, after = records_of(receiver.requests(LOGS)), time.time_ns()
    plain = subprocess.run([spoor, "--host", "vm", "-q", "script.bt"], capture_output=True, text=True, timeout=60)
    result("lines are log records, and maps are none", None if bodies_of(receiver.requests(LOGS)) == LINES_SENT and done.returncode == 0 and not done.stderr else (bodies_of(receiver.requests(LOGS)), done.stderr))
    result("they are printed as without --otlp", None if done.stdout == plain.stdout and "@m[key]: 1" in done.stdout else (done.stdout, plain.stdout))
    times = [int(record["timeUnixNano"]) for record in records]
    result("they have their times", None if times == sorted(times) and all(before < moment < after for moment in times) and all(before < int(record["observedTimeUnixNano"]) < after for record in records) else (before, times, after))
    request = receiver.requests(LOGS)[0]["resourceLogs"][0]
    result("their resource and scope are those of metrics", None if {**request["resource"], **request["scopeLogs"][0]["scope"]} == {**receiver.requests(METRICS)[0]["resourceMetrics"][0]["resource"],
           **receiver.requests(METRICS)[0]["resourceMetrics"][0]["scopeMetrics"][0]["scope"]} else request)
    done = trace(LINES, "lines.json")
    written = lines_of("lines.json")
    result("a file has metrics and lines", None if bodies_of(line for line in written if "resourceLogs" in line) == LINES_SENT and [line for line in written if "resourceMetrics" in line] and not done.returncode else (written, done.stderr))
    decoder = os.environ.get("OTEL_DECODER")
    if decoder:
        with open("logs.body", "wb") as out:
            out.write(gzip.decompress(receiver.taken[receiver.taken_paths.index("/v1/logs")]))
        decoded = subprocess.run(["node", root + "/tests/programs/otlp_decode.js", decoder, "logs.body"], capture_output=True, text=True, timeout=60)
        result("OpenTelemetry's decoder reads the same lines", decoded.stderr or (None if without_empty(json.loads(decoded.stdout)) == without_empty(receiver.requests(LOGS)[0]) else decoded.stdout))
    else:
        print("skip OpenTelemetry's decoder: npm did not bring it")
    with Receiver() as receiver:
        done = trace(LINES, receiver.url, "--html", "lines.html", "-f", "json")
        bodies = bodies_of(receiver.requests(LOGS))
        result("-f json, beside --html", None if [json.loads(body) for body in bodies] == [json.loads(line) for line in done.stdout.splitlines() if json.loads(line)["type"] != "map"] and bodies
               and os.path.getsize("lines.html") > 1000 else (bodies, done.stdout, done.stderr))

    for path, wanted in (("/", "/v1/logs"), ("/v1/metrics", "/v1/logs"), ("/base/v1/metrics?key=1", "/base/v1/logs?key=1")):
        with Receiver() as receiver:
            done = trace(LINES, receiver.url + path)
            result("lines of an address with " + path, None if wanted in receiver.paths and bodies_of(receiver.requests(LOGS)) == LINES_SENT and not done.returncode else (receiver.paths, done.stderr))
    for path in "/own", "/v1/metrics/", "/xv1/metrics", "/v1/traces?a=/v1/metrics":
        with Receiver() as receiver:
            done = trace(LINES, receiver.url + path)
            result("nothing says where lines go with " + path, None if set(receiver.paths) == {path} and done.returncode == 0 and "NOTE: 6 lines were not sent: " + receiver.url in done.stderr else (receiver.paths, done.stderr))

    file = record("./recording", "lines", "20000", "1", "0", "16384")
    events = {int(event["timeUnixNano"]) for span in (report("-f", file, "--otlp", "spans.json"), spans_of(lines_of("spans.json")))[1] for event in span["events"]}
    with Receiver() as receiver:
        done = trace('trace:BDEV_IO_START { printf("%llu\\n", nsecs); }', receiver.url, "-f", file)
        records = records_of(receiver.requests(LOGS))
        times = [int(record["timeUnixNano"]) for record in records]
        near = min(events) - 10**9 < min(times, default=0) <= max(times, default=0) < max(events) + 10**9
        result("over recordings all lines arrive, with the times of their events", None if sorted(record["body"]["stringValue"] for record in records) == sorted(done.stdout.split()) and len(records) >= 20000 and near else
               (len(records), len(done.stdout.split()), near, done.stderr))


PROBLEMS = """
begin {
    $minus = (int64)-1;
    printf("half "); warnf("careful"); errorf("bad %d", 5); if ($minus > (uint64)5) { printf("a line\\n"); }
    printf("%d\\n", 6 / @zero); warnf("%s", "\\x1b[31mred");
    exit();
}
begin { @zero = 0; }
"""
SIGNS = "comparison of integers of different signs: 'int64' and 'uint64' can lead to undefined behavior"
BY_ZERO = "Divide or modulo by 0 detected. This can lead to unexpected results. 1 is being used as the result."
PROBLEMS_SENT = [(13, "WARN", "script.bt:4:64-84: WARNING: " + SIGNS), (13, "WARN", "script.bt:4:22-38: WARNING: careful"), (17, "ERROR", "script.bt:4:40-59: ERROR: bad 5"), (9, "INFO", "half 1"),
                 (13, "WARN", "script.bt:5:32-58: WARNING: \\x1b[31mred"), (13, "WARN", "script.bt:5:20-29: WARNING: " + BY_ZERO + " in begin")]


def part_problems():
    os.environ["BPFTRACE_COLOR"] = "always"  # log records have no colours all the same
    with Receiver() as receiver:
        done = trace(PROBLEMS, receiver.url)
        found, bodies = severities_of(receiver.requests(LOGS)), bodies_of(receiver.requests(LOGS))
    del os.environ["BPFTRACE_COLOR"]
    result("warnings and errors are log records with their severity", None if found == PROBLEMS_SENT and done.returncode == 0 else (found, done.stderr))
    result("with the line of the script", None if bodies[2].split("\n")[1:] == PROBLEMS.split("\n")[3:4] + [" " * 39 + "~" * 19] else bodies[2])
    said = [re.sub("\x1b\\[[0-9]*m", "", line) for line in done.stderr.split("\n")]
    result("and are said in colours as without --otlp", None if "\x1b[31mERROR:\x1b[0m bad 5" in done.stderr and [line for line in said if line.startswith("script.bt")] == [text for _, kind, text in PROBLEMS_SENT if kind != "INFO"] else done.stderr)
    with Receiver() as receiver:
        done = trace(PROBLEMS, receiver.url, "-f", "json")
        found = severities_of(receiver.requests(LOGS))
    kinds = [(number, json.loads(body)["type"] if body.startswith("{") else body[:9]) for number, _, body in found]
    result("so are those in lines of JSON", None if kinds == [(13, "script.bt"), (9, "printf"), (13, "warnf"), (17, "errorf"), (9, "printf"), (13, "warnf"), (13, "runtime_error")] else (found, done.stderr))
    done = trace(PROBLEMS, "problems.json", "--no-warnings")
    found = severities_of([line for line in lines_of("problems.json") if "resourceLogs" in line])
    result("a file has them, too; --no-warnings leaves warnings out", None if found == [item for item in PROBLEMS_SENT if item[1] != "WARN"] else (found, done.stderr))

    broken = "begin { @x = ; }"
    with Receiver() as receiver:
        done = trace(broken, receiver.url)
        found = severities_of(receiver.requests(LOGS))
    result("a receiver is told why a script does not run", None if found == [(17, "ERROR", "script.bt:1:14-15: ERROR: syntax: expected an expression, found ';'")] and done.returncode == 1 else (found, done.stderr))
    done = trace(broken, "broken.json")
    result("no file is made for it", None if done.returncode == 1 and not os.path.exists("broken.json") else done.stderr)
    with Receiver() as receiver:
        done = trace(broken, receiver.url, "--check")
        result("nor is a receiver told by --check", None if done.returncode == 1 and not receiver.paths else (receiver.paths, done.stderr))
    several = 'begin { warnf("one"); warnf("two"); printf("three\\n"); exit(); }'
    with Receiver({"logs": never_answer}) as receiver:
        done = trace(several, receiver.url, "--otlp-wait", "0.3s")
        result("they are counted with the lines that do not arrive", None if missing_lines(done) == (3, 3) and done.returncode == 1 else done.stderr)


def part_lines_faults():
    for status in 404, 405, 501:
        with Receiver({"logs": status}) as receiver:
            done = trace(LINES, receiver.url)
            said = done.stderr.count(f"takes no log records (it answers {status}): they are not sent"), done.stderr.count("NOTE: 6 lines were not sent")
            result(f"a receiver of metrics alone answers {status}", None if done.returncode == 0 and said == (1, 1) and receiver.paths.count("/v1/logs") == 1 and metrics_of(receiver.requests(METRICS)) else (receiver.paths, done.returncode, done.stderr))
    with Receiver({"logs": 400}) as receiver:
        done = trace(LINES, receiver.url)
        result("400 is no reason to take none", None if done.returncode == 1 and missing_lines(done) == (6, 6) and metrics_of(receiver.requests(METRICS)) else done.stderr)
    with Receiver({"logs": 503}, {"logs": 503}, 200) as receiver:
        done = trace(LINES, receiver.url)
        result("lines are tried again", None if done.returncode == 0 and bodies_of(receiver.requests(LOGS)) == LINES_SENT else done.stderr)
    for name, fault in (("never answers", never_answer), ("answers 503", 503), ("closes in the middle", close_in_the_middle), ("sends garbage", garbage)):
        with Receiver({"logs": fault}) as receiver:
            begin = time.monotonic()
            done = trace(LINES, receiver.url, "--otlp-wait", "0.3s")
            seconds = time.monotonic() - begin
            result(f"a receiver of lines that {name}", None if done.returncode == 1 and missing_lines(done) == (6, 6) and "the last ones among them" in done.stderr and seconds < 10 and "no end yet\nlast" in done.stdout
                   and metrics_of(receiver.requests(METRICS)) and "data points" not in done.stderr else (seconds, done.returncode, done.stderr))
    with Receiver() as receiver:
        url = receiver.url
    done = trace(LINES, url, "--otlp-wait", "0.3s")
    result("lines of a receiver that is down", None if done.returncode == 1 and missing_lines(done) == (6, 6) and "last" in done.stdout else done.stderr)
    partial = lambda handler: handler.answer(200, b"\x0a\x0c\x08\x03\x12\x08too many")
    with Receiver({"logs": partial}) as receiver:
        done = trace(LINES, receiver.url)
        result("lines that a receiver rejects are counted", None if missing_lines(done) == (3, 6) and "too many" in done.stderr else done.stderr)
    many = 'begin { for ($i : 0..30000) { printf("line %d\\n", $i); } exit(); }'
    with Receiver({"logs": never_answer}) as receiver:
        done = trace(many, receiver.url, "--otlp-wait", "0.3s")
        printed = done.stdout.count("line")
        result("what the queue has no room for is counted, and printed", None if done.returncode == 1 and printed > 20000 and missing_lines(done) == (printed, printed) else (printed, done.stderr))


run_parts(globals())
