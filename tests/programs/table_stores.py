# SPDX-License-Identifier: BSD-3-Clause
"""Runs the statements of a document in DuckDB and ClickHouse: table_stores.py DOCUMENT, in a directory with web0.spoor to web9.spoor
and what `report --stats -j` says of each, web0.stats. Prints "ok …", "not ok …", "skip …: why"."""
import glob, json, math, os, re, shutil, socket, subprocess, sys, time
from collections import Counter, defaultdict


def say(what, check):
    try:
        check()
        print("ok " + what, flush=True)
    except AssertionError as why:
        print("not ok %s\n%s" % (what, why), flush=True)


def blocks(text, section):
    """The code below a heading: (language, text)."""
    found = re.search(r"^#+ %s\n(.*?)(?=^#+ |\Z)" % section, text, re.M | re.S)
    return re.findall(r"^```(\w+)\n(.*?)^```", found[1], re.M | re.S)


def statements(blocks):
    """{name: [statement]}: a comment in front of them names them."""
    named = defaultdict(list)
    for language, text in blocks:
        for part in re.split(r"^-- ", text, flags=re.M)[1:] if language == "sql" else ():
            head, body = part.split("\n", 1)
            named[head.split(":")[0]] += [s.strip() for s in body.split(";\n") if s.strip()]
    return named


# ---- what is true ----

class Truth:
    def __init__(self):
        self.steps, self.lives, self.counts, self.keys, self.errors = {}, {}, {}, Counter(), Counter()
        self.slowest, self.missing = [], []
        for path in sorted(glob.glob("web*.spoor")):
            host = path.split(".")[0]
            stats = json.load(open(host + ".stats"))
            events = [json.loads(line) for line in open(host + ".events.ndjson")]
            objects = [json.loads(line) for line in open(host + ".objects.ndjson")]
            values, lives = defaultdict(list), defaultdict(list)
            for row in events:
                if "step_ns" in row:
                    values[row["step_from"], row["tracepoint"]].append(row["step_ns"])
            for row in objects:
                if "life_ns" in row:
                    lives[row["object_type"]].append(row["life_ns"])
                self.keys[row.get("arg_offset")] += 1
                if row.get("arg_status"):
                    self.errors[host, row.get("arg_type"), row["arg_status"]] += 1
            for entry in stats["latencies"]:
                if "from" in entry:
                    self.steps[host, entry["from"], entry["to"]] = entry, sorted(values[entry["from"], entry["to"]])
                else:
                    name = {"i": "bdev_io", "r": "tcp_req"}[entry["object"]]
                    self.lives[host, name] = entry, sorted(lives[name])
            for entry in stats["tracepoints"]:
                self.counts[host, entry["group"], entry["name"]] = entry["count"]
            self.slowest += [(-row["life_ns"], host, row["object_number"]) for row in objects
                             if row["object_type"] == "tcp_req" and "life_ns" in row]
            if json.load(open(host + ".events.csv.schema.json"))["missing"]:
                self.missing.append(path)
        del self.keys[None]


def need_latencies(rows, wanted, parts):
    got = {tuple(row[:parts]): row[parts:] for row in rows}
    assert len(got) == len(rows) and set(got) == set(wanted), "other keys: %s" % (set(got) ^ set(wanted))
    for key, (count, mean, p99, largest) in got.items():
        stats, values = wanted[key]
        assert int(count) == stats["count"] == len(values), (key, count, stats)
        assert abs(float(mean) - stats["mean_us"]) < 0.001 and abs(float(largest) - stats["max"]) < 0.001, (key, mean, largest, stats)
        rank = math.ceil(0.99 * len(values))  # stores differ by one in what they call it
        near = values[max(rank - 2, 0):rank + 1]
        assert round(float(p99) * 1000) in near, (key, p99, near)
        assert abs(stats["p99"] * 1000 - values[rank - 1]) <= values[rank - 1] / 64 + 1, (key, stats, values[rank - 1])


def judge(store, answers, truth):
    def counts():
        got = {tuple(row[:3]): int(row[3]) for row in answers["counts"]}
        assert got == truth.counts, got

    def keys():
        best = sorted(truth.keys.items(), key=lambda item: (-item[1], item[0]))[:10]
        assert [(int(key), int(count)) for key, count in answers["keys"]] == best, (answers["keys"], best)

    def errors():
        got = {(host, kind, int(status)): int(count) for host, kind, status, count in answers["errors"]}
        assert got == truth.errors and got, got

    def slowest():
        got = [(-int(life), host, int(number)) for host, number, life, *_ in answers["slowest"]]
        assert got == sorted(truth.slowest)[:10], got
        assert all(int(step) + int(other) <= int(life) for _, _, life, step, other in answers["slowest"]), answers["slowest"]
    say(store + ": p99 of each step and host", lambda: need_latencies(answers["steps"], truth.steps, 3))
    say(store + ": p99 of whole lives", lambda: need_latencies(answers["lives"], truth.lives, 2))
    for name, check in (("counts of tracepoints", counts), ("top keys", keys), ("errors", errors), ("slowest objects", slowest)):
        say("%s: %s" % (store, name), check)


# ---- DuckDB ----

def duckdb(text, truth):
    modules = [path for path in glob.glob("/usr/lib/node_modules") + glob.glob("/usr/local/lib/node_modules")
               if os.path.isdir(path + "/@duckdb/node-api")]
    if not modules or not shutil.which("node"):
        print("skip DuckDB: npm did not bring it")
        return
    named = statements(blocks(text, "DuckDB"))
    order = [(name, statement) for name, all_of_it in named.items() for statement in all_of_it]
    script = os.path.join(os.path.dirname(__file__), "table_stores.mjs")
    ran = subprocess.run(["node", script, modules[0]], input=json.dumps([statement for _, statement in order]), text=True,
                         capture_output=True)
    if ran.returncode:
        print("not ok DuckDB: %s" % ran.stderr[-2000:])
        return
    answers = {name: rows for (name, _), rows in zip(order, json.loads(ran.stdout))}
    judge("DuckDB", answers, truth)

    def missing():
        assert [row[0] and os.path.basename(row[0]) for row in answers["missing"]] == truth.missing != [], answers["missing"]
    say("DuckDB: recordings that are not whole", missing)


# ---- ClickHouse ----

CONFIGURATION = """<yandex>
<logger><level>warning</level><log>{here}/server.log</log><errorlog>{here}/server.errors</errorlog></logger>
<tcp_port>{port}</tcp_port><listen_host>127.0.0.1</listen_host><path>{here}/data/</path><tmp_path>{here}/data/tmp/</tmp_path>
<users_config>{here}/users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>5000000</mark_cache_size></yandex>"""
USERS = """<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default><password></password>
<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start_clickhouse():
    """A server on a port of its own, or None if it does not start. The client in bin/ asks it."""
    here, port = os.getcwd(), free_port()
    open("config.xml", "w").write(CONFIGURATION.format(here=here, port=port))
    open("users.xml", "w").write(USERS)
    os.makedirs("bin", exist_ok=True)
    open("bin/clickhouse-client", "w").write(
        '#!/bin/sh\nexec %s --host 127.0.0.1 --port %d "$@"\n' % (shutil.which("clickhouse-client"), port))
    os.chmod("bin/clickhouse-client", 0o755)
    server = subprocess.Popen(["clickhouse-server", "--config-file=" + here + "/config.xml"], stdout=open("server.out", "w"),
                              stderr=subprocess.STDOUT)
    for _ in range(600):
        if subprocess.run(["bin/clickhouse-client", "--query", "SELECT 1"], capture_output=True).returncode == 0:
            return server
        if server.poll() is not None:
            break
        time.sleep(0.05)
    server.kill()
    server.wait()
    return None


def clickhouse(text, truth):
    if not shutil.which("clickhouse-server") or not shutil.which("clickhouse-client") or not shutil.which("jq"):
        print("skip ClickHouse: it is not installed")
        return
    server = start_clickhouse()
    if not server:
        print("not ok ClickHouse starts\n" + open("server.out").read()[-2000:])
        return
    environment = {**os.environ, "PATH": os.getcwd() + "/bin:" + os.environ["PATH"]}
    try:
        code = blocks(text, "ClickHouse")
        for language, script in code:
            if language == "sh":
                ran = subprocess.run(["bash", "-euc", script], env=environment, capture_output=True, text=True)
                if ran.returncode:
                    print("not ok ClickHouse: its tables are made\n" + ran.stderr[-2000:])
                    return
        answers = {}
        for name, all_of_it in statements(code).items():
            for statement in all_of_it:
                ran = subprocess.run(["bin/clickhouse-client", "--format", "JSONCompact", "--query", statement], capture_output=True,
                                     text=True)
                answers[name] = json.loads(ran.stdout)["data"] if ran.returncode == 0 else []
                if ran.returncode:
                    print("not ok ClickHouse: %s\n%s" % (name, ran.stderr[-2000:]))
        judge("ClickHouse", answers, truth)
    finally:
        server.terminate()
        server.wait()


text = open(sys.argv[1]).read()
for _, script in blocks(text, "Tables"):
    ran = subprocess.run(["bash", "-euc", script], capture_output=True, text=True)
    if ran.returncode:
        sys.exit(print("not ok tables are made\n" + ran.stderr[-2000:]))
everything = Truth()
duckdb(text, everything)
clickhouse(text, everything)
