# SPDX-License-Identifier: BSD-3-Clause
"""Checks what `spoor report --export` and --merge wrote against `spoor report -j` of the same events.

  export.py perfetto FILE JSON | ctf DIRECTORY JSON BEGIN END | folded FILE JSON | merged JSON LINES
  export.py memory COMMAND...      the most memory that the command needed, KiB

The formats are decoded here by what their documents say; CTF by babeltrace2. BEGIN, END: seconds since 1970 between
which the program ran; 0 0: the times are not absolute. Prints what it saw; the first difference ends it."""
import json, math, os, re, resource, struct, subprocess, sys
from collections import Counter, defaultdict

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from protobuf import fields  # noqa: E402


def need(condition, *what):
    if not condition:
        sys.exit(" ".join(map(str, what)))


class Recording:
    def __init__(self, path):
        document = json.load(open(path))
        self.tracepoints = {t["id"]: t for t in document["tpoints"]}
        self.owners = {(o.get("type", ""), o["id"]): o["description"] for o in document["owner_history"]}
        self.entries = [e for e in document["entries"] if "tpoint" in e]
        self.merged = [e for e in document["entries"] if "tpoint" not in e]
        self.all = document["entries"]
        self.host = document.get("host", "")
        for entry in self.entries:
            tracepoint = self.tracepoints[entry["tpoint"]]
            entry["time"] = int(entry["time_ns"])
            entry["name"], entry["group"] = tracepoint["name"], tracepoint["group"]
            entry["ends"], entry["begins"] = tracepoint["ends_object"], tracepoint["new_object"]
            entry["arguments"] = list(zip((a["name"] for a in tracepoint["args"]), entry.get("args", [])))
            owner = entry.get("poller", "")
            description = self.owners.get((owner[:1], entry.get("owner_id")), "")
            entry["owner_label"] = (owner + " " + description).strip()
            if "object" in entry:
                value = int(entry["object"]["value"])
                letter = tracepoint["object"]
                entry["object_id"] = value
                entry["label"] = entry["object"].get("id", "%s@%x" % (letter, value))
                entry["letter"] = letter
            entry["relations"] = (entry.get("related", "") + " " + entry.get("related_unknown", "")).split()
        self.letters_that_end = {t["object"] for t in self.tracepoints.values() if t["ends_object"]}


# ---- Perfetto ----

def annotation(data, names):
    name = value = None
    for number, content in fields(data):
        if number == 1:
            name = names[content]
        elif number == 10:
            name = content.decode()
        elif number == 2:
            value = bool(content)
        elif number in (3, 7):
            value = content
        elif number == 4:
            value = content - (1 << 64) if content >> 63 else content
        elif number == 5:
            value = struct.unpack("<d", content)[0]
        elif number == 6:
            value = content.decode()
    return name, value


def same(got, wanted):
    if wanted is None:
        return got == "(null)" or isinstance(got, float) and not math.isfinite(got)
    if isinstance(wanted, str) and not isinstance(got, str):
        return got == int(wanted)  # too large for a double: quoted
    if isinstance(got, str) and isinstance(wanted, int):
        return True  # an enumerator: compared where its number is there too
    return got == wanted


def perfetto(path, recording):
    categories, names, annotations, tracks = {}, {}, {}, {}
    events, cleared = [], False
    for number, packet in fields(open(path, "rb").read()):
        need(number == 1, "not a packet:", number)
        parts = defaultdict(list)
        for key, value in fields(packet):
            parts[key].append(value)
        need(parts[10] == [1], "sequence")
        flags = parts[13][0]
        cleared |= bool(flags & 1)
        need(not flags & 2 or cleared, "needs state that was never begun")
        for interned in parts[12]:
            for key, value in fields(interned):
                entry = dict(fields(value))
                into = {1: categories, 2: names, 3: annotations}[key]
                need(entry[1] not in into, "interned twice")
                into[entry[1]] = entry[2].decode()
        for track in parts[60]:
            entry = dict(fields(track))
            need(entry[1] not in tracks, "a track twice")
            need(5 not in entry or entry[5] in tracks, "a parent that is not there")
            tracks[entry[1]] = entry
        for event in parts[11]:
            entry = {"time": parts[8][0], "annotations": {}, "flows": [], "name": None, "recorded": False}
            for key, value in fields(event):
                if key == 9:
                    entry["type"] = value
                elif key == 11:
                    entry["track"] = value
                elif key == 3:
                    entry["category"] = categories[value]
                elif key == 10:
                    entry["name"], entry["recorded"] = names[value], True
                elif key == 23:
                    entry["name"] = value.decode()
                elif key == 4:
                    name, content = annotation(value, annotations)
                    entry["annotations"][name] = content
                elif key in (47, 48):
                    entry["flows"].append((struct.unpack("<Q", value)[0], key == 48))
            need(entry["track"] in tracks, "a track that is not there")
            events.append(entry)

    machines = [dict(fields(track[3])).get(8, b"").decode() for track in tracks.values() if 3 in track]
    need(machines in ([recording.host], []), "the machine", machines)

    # Every recorded event once, in order, with everything that it says.
    recorded = [e for e in events if e["recorded"]]
    need(len(recorded) == len(recording.entries), "events:", len(recorded), "for", len(recording.entries))
    for got, wanted in zip(recorded, recording.entries):
        need((got["time"], got["name"], got["category"]) == (wanted["time"], wanted["name"], wanted["group"]),
             got, wanted)
        for name, value in wanted["arguments"]:
            need(same(got["annotations"][name], value), name, got, wanted)
        need(got["annotations"]["thread"] == wanted["lcore"], "thread", got, wanted)
        need(got["annotations"].get("owner", "") == wanted["owner_label"], "owner", got, wanted)
        need(got["annotations"].get("size", 0) == wanted.get("size", 0), "size", got, wanted)
        need((got["type"] == 3) == (wanted["ends"] or "object" not in wanted), "type", got, wanted)
        if wanted["owner_label"] and "object" in wanted:
            got["wanted"] = wanted

    # Slices: as a viewer sorts them. Objects hold stages and nothing else.
    spans, stages, flows, open_slices = Counter(), Counter(), defaultdict(list), defaultdict(list)
    ends = {}
    for event in sorted(events, key=lambda e: e["time"]):
        stack = open_slices[event["track"]]
        if event["type"] == 1:
            need(len(stack) == event["recorded"], "nesting:", event, stack)
            stack.append(event)
        elif event["type"] == 2:
            need(stack, "an end of nothing:", event)
            begun = stack.pop()
            (stages if begun["recorded"] else spans)[begun["name"]] += 1
            if not begun["recorded"]:
                ends[begun["name"]] = begun["time"], event["time"]
        for flow in event["flows"]:
            flows[flow[0]].append((flow[1], event, stack[0]["name"] if stack else None))
    first, last, ended = {}, {}, set()
    for place, entry in enumerate(recording.entries):
        entry["place"] = place
        if "object" in entry:
            first.setdefault(entry["label"], entry)
            last[entry["label"]] = entry
    alive = {b["name"] for s in open_slices.values() for b in s if not b["recorded"]}
    need(set(ends) | alive == set(first), "objects:", len(ends), len(alive), len(first))
    for label, (begun, over) in ends.items():
        need((begun, over) == (first[label]["time"], last[label]["time"]), "the life of", label)
    for label in alive:
        need(label[0] in recording.letters_that_end and not last[label]["ends"], label, "should have ended")
    objects = [e for e in recording.entries if "object" in e]
    need(sum(stages.values()) + sum(b["recorded"] for s in open_slices.values() for b in s) ==
         sum(not e["ends"] for e in objects), "stages")

    # Arrows: two ends each, at one time, on two tracks, one of them the related object's, which came before: of two events at
    # one time that is the one that stands first.
    pairs = Counter()
    for entry in objects:
        for related in entry["relations"]:
            if related in first and first[related]["place"] <= entry["place"]:
                pairs[entry["time"], entry["label"], related] += 1
    drawn = Counter()
    for flow, found in flows.items():
        need([f[0] for f in found] == [False, True], "a flow has a beginning and an end:", found)
        (_, a, one), (_, b, other) = found
        need(a["time"] == b["time"] and a["track"] != b["track"], "flow", a, b)
        if b["recorded"]:
            one, other = other, one
        drawn[a["time"], one, other] += 1
    if not any(x is None for key in drawn for x in key):
        need(drawn == pairs, "arrows:", sum(drawn.values()), "for", sum(pairs.values()), (drawn - pairs, pairs - drawn))
    else:
        need(sum(drawn.values()) == sum(pairs.values()), "arrows:", sum(drawn.values()), sum(pairs.values()))
    print(len(recorded), "events", len(first), "objects", sum(stages.values()), "stages", len(flows), "arrows",
          len(tracks), "tracks")


# ---- the Common Trace Format ----

def braces(text):
    """{ a = 1, b = "x" } as pairs; a number as int, an enumerator as (label, number)."""
    pattern = re.compile(r'(\w+) = (?:\( (?:"((?:[^"\\]|\\.)*)"|<unknown>) : container = (-?\w+) \)|"((?:[^"\\]|\\.)*)"|([^ ,]+))')
    for found in pattern.finditer(text):
        name, label, number, string, plain = found.groups()
        if number is not None:
            yield name, (label, int(number, 0))
        elif string is not None:
            yield name, string.replace('\\"', '"').replace("\\\\", "\\")
        else:
            yield name, float(plain) if re.search(r"[.en]", plain) and "x" not in plain else int(plain, 0)


def ctf(path, recording, begin, end):
    done = subprocess.run(["babeltrace2", "--clock-seconds", "--no-delta", path], capture_output=True, text=True)
    need(done.returncode == 0 and "ERROR" not in done.stderr, done.stderr)
    machine = re.search(r'\thostname = "(.*)";', open(path + "/metadata").read())
    need((machine[1] if machine else "") == recording.host, "the machine", machine)
    lines = done.stdout.splitlines()
    need(len(lines) == len(recording.entries), "events:", len(lines), "for", len(recording.entries))
    discarded = sum(int(n) for n in re.findall(r"discarded (\d+) event", done.stderr))
    need(discarded == sum(int(e.get("lost_before", 0)) for e in recording.entries), "discarded", discarded)
    got, wanted = defaultdict(list), defaultdict(list)
    times = []
    for line in lines:
        found = re.match(r"\[(\d+)\.(\d{9})\] (?:\S+ )?(\S+): (\{.*?\}), (\{.*\})$", line) or \
            re.match(r"\[(\d+)\.(\d{9})\] (?:\S+ )?(\S+): (\{.*\})()$", line)
        need(found, "a line:", line)
        seconds, rest, name, context, arguments = found.groups()
        times.append(int(seconds) * 1000000000 + int(rest))
        entry = dict(braces(context))
        got[entry["thread"]].append((times[-1], name, entry, list(braces(arguments))))
    for entry in recording.entries:
        wanted[entry["lcore"]].append(entry)
    need(times == sorted(times), "order of time")
    shift = times[0] - recording.entries[0]["time"]
    need(times == [e["time"] + shift for e in recording.entries], "times")
    if end:
        need(begin * 10**9 <= times[0] and times[-1] <= end * 10**9, "not when it ran:", times[0], times[-1])
    else:
        need(shift == 0, "shift", shift)
    for thread, entries in wanted.items():
        for (time, name, context, arguments), entry in zip(got[thread], entries):
            need((time, name) == (entry["time"] + shift, entry["group"] + ":" + entry["name"]), time, name, entry)
            need(context["owner"] == entry["owner_label"] and context["object"] == entry.get("label", "") and
                 context["related"] == " ".join(entry["relations"]) and context["size"] == entry.get("size", 0) and
                 context["thread_name"] == entry.get("thread", ""), context, entry)
            need([a[0] for a in arguments] == [a[0] for a in entry["arguments"]], arguments, entry)
            for (_, one), (_, other) in zip(arguments, entry["arguments"]):
                if isinstance(one, tuple):
                    need(one[1] == other, "an enumerator:", one, other)
                else:
                    need(same(bool(one) if isinstance(other, bool) else one, other), one, other)
    print(len(lines), "events", discarded, "discarded")


# ---- folded ----

def union(intervals):
    total = reached = 0
    for begin, end in sorted(intervals):
        begin = max(begin, reached)
        if end > begin:
            total += end - begin
            reached = end
    return total


def folded(path, recording, names):
    got = Counter()
    for line in open(path):
        stack, weight = line.rstrip("\n").rsplit(" ", 1)
        need(stack not in got and int(weight) > 0, "a line:", line)
        got[stack] = int(weight)
    wanted, living = Counter(), {}
    for entry in recording.entries:
        if "object" not in entry:
            continue
        key = entry["letter"], entry["object_id"]
        life = living.get(key)
        if life and entry["begins"]:
            life = None
        if life:
            wanted[life["stack"]] += entry["time"] - life["since"] - union(
                [(max(b, life["since"]), e) for b, e in life["below"]])
            parent = living.get(life["parent"])
            if parent:
                parent["below"].append((life["since"], entry["time"]))
        else:
            life = {"parent": None}
        if entry["ends"]:
            living.pop(key, None)
            continue
        if not life["parent"]:
            for related in entry["relations"]:
                found = [k for k, other in living.items() if other["label"] == related]
                if found:
                    life["parent"] = found[0]
                    break
        parent = living.get(life["parent"])
        above = parent["stack"] if parent else entry["owner_label"]
        life.update(since=entry["time"], below=[], label=entry["label"],
                    stack=";".join((above, names[entry["letter"]], entry["name"])))
        living[key] = life
    wanted = Counter({stack: weight for stack, weight in wanted.items() if weight})
    need(got == wanted, "folded:", got - wanted, wanted - got)
    print(len(got), "stacks", sum(got.values()), "ns")


# ---- merged ----

def merged(recording, lines):
    wanted = [json.loads(line) for line in open(lines)]
    need([e["merged"] for e in recording.merged] == wanted, "lines:", len(recording.merged), "for", len(wanted))
    for entry in recording.merged:
        need(entry.get("time_ns") == entry["merged"].get("time_ns"), entry)
    times = [int(e["time_ns"]) for e in recording.all if "time_ns" in e]
    need(times == sorted(times), "order of time")
    first, last = recording.entries[0]["time"], recording.entries[-1]["time"]
    print(len(recording.entries), "events",
          sum(first < int(e.get("time_ns", 0)) < last for e in recording.merged), "lines between them")


command, *rest = sys.argv[1:]
if command == "perfetto":
    perfetto(rest[0], Recording(rest[1]))
elif command == "ctf":
    ctf(rest[0], Recording(rest[1]), int(rest[2]), int(rest[3]))
elif command == "folded":
    folded(rest[0], Recording(rest[1]), dict(pair.split("=") for pair in rest[2:]))
elif command == "merged":
    merged(Recording(rest[0]), rest[1])
elif command == "memory":
    subprocess.run(rest, check=True)
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
