# SPDX-License-Identifier: BSD-3-Clause
"""Checks the tables of `spoor report --export csv|ndjson` against `spoor report -j` and --stats of the same events.

  tables.py events FORMAT TABLE JSON [STATS]
  tables.py objects FORMAT TABLE JSON [STATS]
  tables.py strings CSV NDJSON WANTED      one column of texts, as a program recorded them
  tables.py same CSV NDJSON                both say the same
  tables.py schema TABLE                   the file beside it fits

TABLE may be compressed. Prints what it saw; the first difference ends it."""
import csv, gzip, io, json, math, os, re, sys
from collections import Counter, defaultdict


def need(condition, *what):
    if not condition:
        sys.exit(" ".join(map(str, what)))


def content(path):
    data = open(path, "rb").read()
    return gzip.decompress(data) if path.endswith(".gz") else data


def schema_of(path):
    return json.loads(open(path + ".schema.json", "rb").read().decode("utf-8", "strict"))


# ---- tables ----

def csv_fields(text):
    """Rows of fields by RFC 4180, None for one that is empty and has no quotes."""
    rows, row, at = [], [], 0
    while at < len(text):
        if text[at] == '"':
            end, value = at + 1, []
            while True:
                quote = text.index('"', end)
                value.append(text[end:quote])
                if text[quote + 1:quote + 2] != '"':
                    break
                value.append('"')
                end = quote + 2
            row.append("".join(value))
            at = quote + 1
        else:
            match = re.compile(r'[^",\r\n]*').match(text, at)
            row.append(match[0] or None)
            if match[0]:
                need(re.fullmatch(r"-?[0-9.e+-]+|true|false|-?inf|nan", match[0]), "without quotes:", match[0])
            at = match.end()
        need(text[at] in ",\n", "behind a field:", repr(text[at:at + 20]))
        if text[at] == "\n":
            rows.append(row)
            row = []
        at += 1
    need(not row, "the last line has no end")
    return rows


def typed(value, field):
    kind = field["type"]
    if value is None:
        return None
    return (value if kind == "string" else value == "true" if kind == "boolean" else
            float(value) if kind == "number" else int(value))


def read(form, path):
    """The rows as dictionaries of what is not NULL."""
    text = content(path).decode("utf-8", "strict")
    fields = {f["name"]: f for f in schema_of(path)["fields"]}
    if form == "ndjson":
        rows = []
        for line in text.split("\n")[:-1]:
            pairs = json.loads(line, object_pairs_hook=lambda pairs: pairs)
            need(len(dict(pairs)) == len(pairs), "a name twice:", line)
            need([name for name, _ in pairs] == [name for name in fields if name in dict(pairs)], "order:", line)
            rows.append(dict(pairs))
        need(text == "" or text.endswith("\n"), "the last line has no end")
        return rows
    parsed = csv_fields(text)
    plain = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    need(plain == [[value or "" for value in row] for row in parsed], "Python's csv reads something else")
    need(parsed[0] == list(fields), "the head is not the schema's", parsed[0])
    need(all(len(row) == len(fields) for row in parsed), "a row has another number of fields")
    names = list(fields.items())
    return [{name: typed(value, field) for (name, field), value in zip(names, row) if value is not None}
            for row in parsed[1:]]


# ---- what -j says ----

class Recording:
    def __init__(self, path):
        document = json.load(open(path))
        self.tracepoints = {t["id"]: t for t in document["tpoints"]}
        self.entries = [e for e in document["entries"] if "tpoint" in e]


def same(got, wanted, argument):
    if argument["type"] == 3 and wanted is None:
        return got is None or not math.isfinite(got)
    if got is None or wanted is None:
        return got is None and wanted is None
    if isinstance(wanted, bool) or isinstance(got, bool):
        return got is wanted
    if argument["type"] == 2:
        return got in (wanted, wanted + "..")
    if isinstance(got, str):  # the name of a number, or its digits
        return not re.fullmatch("-?[0-9]+", got) or int(got) == int(wanted)
    return got == (int(wanted) if isinstance(wanted, str) else wanted)


def columns_of(schema):
    """(group, tracepoint, argument, how many of that name before it) -> column"""
    columns = {}
    for field in schema["fields"]:
        for a in field.get("of", []):
            columns.setdefault((a["group"], a["tracepoint"], field["argument"]), []).append(field["name"])
    return columns


def arguments(entry, tracepoint, columns):
    seen = Counter()
    for argument, value in zip(tracepoint["args"], entry.get("args", [])):
        key = tracepoint["group"], tracepoint["name"], argument["name"]
        yield columns[key][seen[key]], argument, value
        seen[key] += 1


def number(text):
    return int(text[1:]) if "@" not in text else None


def events(form, path, recording, stats):
    rows, schema = read(form, path), schema_of(path)
    columns = columns_of(schema)
    need(len(rows) == len(recording.entries) == schema["count"], len(rows), "rows,", len(recording.entries), "events")
    fixed = {f["name"] for f in schema["fields"] if "argument" not in f}
    newest = 0
    for row, entry in zip(rows, recording.entries):
        newest = max(newest, int(entry["time_ns"]))  # times of a damaged recording may go back, those of a table do not
        tracepoint = recording.tracepoints[entry["tpoint"]]
        wanted = {"time_ns": newest, "thread_id": entry["lcore"], "tracepoint": tracepoint["name"],
                  "tracepoint_group": tracepoint["group"], "size": entry.get("size", 0),
                  "lost": int(entry.get("lost_before", 0)), "thread": entry.get("thread"),
                  "owner_id": entry.get("owner_id"), "owner": entry.get("owner")}
        own = entry.get("object")
        wanted["object_id"] = int(own["value"]) if own else None
        wanted["object_number"] = number(own["id"]) if own and "id" in own else None
        for name, value in wanted.items():
            need(row.get(name) == value, name, "is", row.get(name), "not", value, "in", entry)
        need(("object_type" in row) == bool(own), "object_type in", row)
        need(("age_ns" in row) == bool(own and "id" in own), "age_ns in", row)
        need(("step_ns" in row) == ("step_from" in row), "step in", row)
        related = (entry.get("related", "") + " " + entry.get("related_unknown", "")).split()
        if related and "related_number" in row:
            need(row["related_number"] == number(related[0]), "related in", row, entry)
        need(bool(related) == ("related_id" in row), "related_id in", row)
        has = set()
        for column, argument, value in arguments(entry, tracepoint, columns):
            need(same(row.get(column), value, argument), column, "is", row.get(column), "not", value)
            has.add(column)
        need(set(row) - fixed <= has, "arguments that", tracepoint["name"], "does not have:", set(row) - fixed - has)
    if stats:
        counts = Counter((row["tracepoint_group"], row["tracepoint"]) for row in rows)
        need(counts == {(t["group"], t["name"]): t["count"] for t in stats["tracepoints"]}, "counts:", counts)
        steps = defaultdict(list)
        for row in rows:
            if "step_ns" in row:
                steps[row["step_from"], row["tracepoint"]].append(row["step_ns"])
        need_latencies(steps, {(s["from"], s["to"]): s for s in stats["latencies"] if "from" in s})
    print(len(rows), "rows,", len(schema["fields"]), "columns")


def need_latencies(got, wanted):
    need(set(got) == set(wanted), "steps:", set(got) ^ set(wanted))
    for key, values in got.items():
        stats = wanted[key]
        need(len(values) == stats["count"], key, len(values), "times, not", stats["count"])
        need(abs(sum(values) / len(values) / 1000 - stats["mean_us"]) < 0.001, key, "mean")
        need(abs(max(values) / 1000 - stats["max"]) < 0.001, key, "largest")


def objects(form, path, recording, stats):
    """Object by object, from the events alone. Rows come in the order of ends; those without one are the last."""
    rows, schema = read(form, path), schema_of(path)
    columns = columns_of(schema)
    need(len(rows) == schema["count"], len(rows), "rows are not the schema's", schema["count"])
    explicit = {t["object"] for t in recording.tracepoints.values() if t["ends_object"]}
    lives, done = {}, []
    for entry in recording.entries:
        tracepoint = recording.tracepoints[entry["tpoint"]]
        own = entry.get("object")
        if not own:
            continue
        key = tracepoint["object"], int(own["value"])
        life = lives.get(key)
        if life and (tracepoint["new_object"] or life["number"] != own.get("id")):
            if tracepoint["object"] not in explicit:
                life["ends"] = life["number"] is not None
            done.append(lives.pop(key))
            life = None
        time = int(entry["time_ns"])
        if not life:
            life = lives[key] = {"number": own.get("id"), "id": key[1], "first": time, "steps": {}, "arguments": {},
                                 "events": 0, "begins": tracepoint["new_object"], "ends": False, "entry": entry}
        if life["events"]:
            life["steps"][life["name"]][1] += time - life["last"]
            life["steps"][life["name"]][2] = True
        life["name"] = tracepoint["name"]
        life["steps"].setdefault(tracepoint["name"], [time, 0, False])
        life["last"] = time
        life["events"] += 1
        for column, argument, value in arguments(entry, tracepoint, columns):
            life["arguments"][column] = argument, value
        if tracepoint["ends_object"]:
            life["ends"] = True
            done.append(lives.pop(key))
    by_key = defaultdict(list)
    for row in rows:
        by_key[row["object_id"], row.get("object_number"), row["events"]].append(row)
    wanted = done + list(lives.values())
    need(len(wanted) == len(rows), len(rows), "rows,", len(wanted), "objects")
    for life in wanted:
        found = by_key[life["id"], number(life["number"]) if life["number"] else None, life["events"]]
        need(found, "no row for", life)
        row = found.pop(0)
        entry = life["entry"]
        need(row["begins"] == life["begins"], "begins in", row, life)
        if life in done:
            need(row["ends"] == life["ends"], "ends in", row, life)
        if life["begins"]:
            need(row["time_ns"] == life["first"], "time_ns in", row, life)
        need(row["seen_ns"] == life["last"] - life["first"], "seen_ns in", row, life)
        need(row["thread_id"] == entry["lcore"] and row.get("owner_id") == entry.get("owner_id"), "who in", row)
        if life["begins"] and life["ends"]:
            need(row.get("life_ns") == life["last"] - life["first"], "life_ns in", row, life)
        for name, (first, total, has_next) in life["steps"].items():
            need(row["at_%s_ns" % name] == first - row["time_ns"], "at", name, row)
            need(row.get("step_%s_ns" % name) == (total if has_next else None), "step", name, row, life)
        need(sum(name.startswith("at_") for name in row) == len(life["steps"]), "steps that are not there:", row)
        for column, (argument, value) in life["arguments"].items():
            need(same(row.get(column), value, argument), column, "is", row.get(column), "not", value)
    if stats:
        got = defaultdict(list)
        for row in rows:
            if "life_ns" in row:
                got[row["object_type"][:1] if len(row["object_type"]) == 1 else row["object_type"]].append(row["life_ns"])
        wanted = [s for s in stats["latencies"] if "from" not in s]
        need(sorted(map(len, got.values())) == sorted(s["count"] for s in wanted), "lives:", {t: len(l) for t, l in got.items()})
        means = sorted(sum(lives) / len(lives) / 1000 for lives in got.values())
        need(all(abs(one - other) < 0.001 for one, other in zip(means, sorted(s["mean_us"] for s in wanted))), "means:", means)
    print(len(rows), "rows,", len(schema["fields"]), "columns")


# ---- texts ----

def repaired(data):
    """As documented: U+FFFD for each byte that is no UTF-8, and for NUL."""
    text, at = "", 0
    while at < len(data):
        for length in (1, 2, 3, 4):
            try:
                character = data[at:at + length].decode("utf-8", "strict")
            except UnicodeDecodeError:
                continue
            if len(character) == 1 and character != "\0":
                text += character
                at += length
                break
        else:
            text += "\ufffd"
            at += 1
    return text


def strings(of_csv, of_ndjson, wanted):
    want = [None if line == b"NULL" else repaired(bytes.fromhex(line.decode()[1:])) for line in open(wanted, "rb").read().split()]
    for form, path in (("csv", of_csv), ("ndjson", of_ndjson)):
        got = [row.get("arg_text") for row in read(form, path)]
        for one, other in zip(got, want):
            need(one == other, form, "has", ascii(one), "not", ascii(other))
        need(len(got) == len(want), form, len(got), "rows,", len(want), "texts")
    print(len(want), "texts")


def alike(one, other):
    return one == other or one is None and isinstance(other, float) and not math.isfinite(other)


def main():
    what, arguments = sys.argv[1], sys.argv[2:]
    if what in ("events", "objects"):
        stats = json.load(open(arguments[3])) if len(arguments) > 3 else None
        {"events": events, "objects": objects}[what](arguments[0], arguments[1], Recording(arguments[2]), stats)
    elif what == "strings":
        strings(*arguments)
    elif what == "same":
        of_csv, of_ndjson = read("csv", arguments[0]), read("ndjson", arguments[1])
        need(len(of_csv) == len(of_ndjson), len(of_csv), "and", len(of_ndjson), "rows")
        for one, other in zip(of_csv, of_ndjson):
            need(all(alike(other.get(name), one.get(name)) for name in {*one, *other}), one, "and", other)
        print(len(of_csv), "rows")
    elif what == "schema":
        schema = schema_of(arguments[0])
        names = [field["name"] for field in schema["fields"]]
        need(len({name.lower() for name in names}) == len(names), "names are not unique:", names)
        need(list(schema["duckdb"]) == names, "duckdb:", schema["duckdb"])
        need({field["type"] for field in schema["fields"]} <= {"string", "integer", "number", "boolean"}, "types")
        need(all(field["description"] for field in schema["fields"]), "a column without a description")
        print(len(names), "columns")


main()
