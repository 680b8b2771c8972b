# SPDX-License-Identifier: BSD-3-Clause
# The parts of dashboard.sh: dashboard.py ROOT BUILD.
import json
import os
import re
import shutil
import subprocess
import sys
import time

from prometheus import Prometheus, free_port
from waiting import until

root, build = sys.argv[1:3]
SCRIPTS = {
    "steps": """
        interval:ms:10 { @us["read"] = hist(100); @us["write"] = hist(10000); @calls["often"] = count(); }
        interval:ms:50 { @calls["seldom"] = count(); $x = nsecs - nsecs; @ = 1 / $x; }""",
    # More than a ring of a page takes, in one go.
    "loses": """config = { perf_rb_pages = 1 } interval:ms:50 { for ($i : 0..200) { printf("%s\\n", "WIDE"); } }""".replace("WIDE", "x" * 150),
}
with open(root + "/packaging/grafana/spoor.json") as file:
    board = json.load(file)
panels = {panel["title"].split(":")[0]: panel for panel in board["panels"]}
variables = {variable["name"]: variable for variable in board["templating"]["list"]}


def result(name, problem=None):
    print(f"not ok {name}: {problem}" if problem else "ok " + name, flush=True)


# ---- its form ----
kinds = {"heatmap", "table", "bargauge", "timeseries"}
ids = [panel["id"] for panel in board["panels"]]
cells = [(x, y) for panel in board["panels"] for at in [panel["gridPos"]]
         for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])]
names = set(re.findall(r"[$]\{?(\w+)", json.dumps([board["panels"], board["templating"]]))) - {"__rate_interval", "__all"}
result("five panels, each of a kind that Grafana has, in places of their own", None if len(ids) == len(set(ids)) == 5 and len(cells) == len(set(cells)) and
       {panel["type"] for panel in board["panels"]} <= kinds and all(0 <= x < 24 for x, _ in cells) else board["panels"])
result("its variables are those that it uses", None if names == set(variables) else (names, set(variables)))
result("no source of data and no address is built in", None if "http" not in json.dumps(board) and
       {target["datasource"]["uid"] for panel in board["panels"] for target in panel["targets"]} == {"${datasource}"} else board)

# ---- its queries ----
for need, why in (shutil.which("prometheus"), "there is no prometheus"), (os.getuid() == 0, "needs root"):
    if not need:
        print("skip queries: " + why)
        sys.exit()
os.mkdir("scripts")
for name, text in SCRIPTS.items():
    with open(f"scripts/{name}.bt", "w") as file:
        file.write(text)
port = free_port()
served = subprocess.Popen([build + "/spoor", "serve", "--openmetrics", f":{port}", "scripts"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=open("err", "w"))
server = Prometheus("prometheus", port)
chosen = {"histogram": "spoor_steps_us_bucket", "counter": "spoor_steps_calls_total", "instance": ".*", "script": ".*", "__rate_interval": "3s"}


def asked(text):
    return re.sub(r"[$]\{?(\w+)\}?", lambda found: chosen[found[1]], text)


def answers(title, number=0):
    return server.ask_all(asked(panels[title]["targets"][number]["expr"]))


def values_of(name):
    """What Grafana offers for a variable: label_values([SERIES, ]LABEL)."""
    series, label = re.fullmatch(r"label_values\((.+), (\w+)\)", variables[name]["query"]["query"]).groups()
    return server.data(f"label/{label}/values", **{"match[]": asked(series)}) or []


try:
    begun = until(lambda: all(answers(title, number) for title, panel in panels.items() for number in range(len(panel["targets"]))))
    result("each query has an answer", None if begun else [(title, number, answers(title, number)) for title, panel in panels.items() for number in range(len(panel["targets"]))])
    offered = {name: values_of(name) for name in ("instance", "script", "histogram", "counter")}
    result("variables offer what there is", None if offered == {
        "instance": [f"127.0.0.1:{port}"], "script": ["loses", "steps"], "histogram": ["spoor_steps_us_bucket"],
        "counter": ["spoor_steps_calls_total"]} else offered)
    rows = {labels["le"]: number for labels, number in answers("Latency")}
    result("latency: rows", None if set(rows) >= {"127.0", "16383.0", "+Inf"} and 0 < rows["127.0"] < rows["16383.0"] * 0.6 and rows["16383.0"] == rows["+Inf"] else rows)
    slowest = answers("Slowest")
    result("slowest: keys by their percentiles", None if [labels["key0"] for labels, _ in slowest] == ["write", "read"] and
           8191 < slowest[0][1] <= 16383 and 63 < slowest[1][1] <= 127 else slowest)
    often = answers("Most often")
    result("most often: keys by their rates", None if [labels["key0"] for labels, _ in often] == ["often", "seldom"] and often[0][1] > 2 * often[1][1] > 0 else often)
    lost = answers("Lost events and errors"), answers("Lost events and errors", 1)
    result("lost events and errors, by script and reason", None if [labels["script"] + labels["reason"] for labels, _ in lost[0]] == ["losesring"] and
           ("steps", "division") in [(labels["script"], labels["error"]) for labels, _ in lost[1]] else lost)
    cost = answers("Cost of tracing"), answers("Cost of tracing", 1)
    result("cost: of probes and of spoor, by script", None if all({labels["script"] for labels, _ in part} == {"loses", "steps"} and all(0 < number < 2 for _, number in part) for part in cost)
           else cost)
finally:
    server.end()
    served.terminate()
    served.wait(30)
