#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What converted recordings hold.
   convert.py spdk FILE JSON [MARKS]   FILE as SPDK's reader goes through it, against what `spoor report -j` says of it
   convert.py same JSON JSON           two documents of `spoor report -j`: one recording in spoor's format and in SPDK's
   convert.py gaps FILE                a drained FILE without one of its middle chunks, and with 1000 slots missing at its end
   convert.py damage SPOOR COUNT FILE… COUNT copies of each FILE with some bytes changed, through `SPOOR convert` and `report`"""
import json
import os
import random
import struct
import subprocess
import sys

MOST_ID, LCORES, SLOT = 1280, 1024, 32


def fail(text):
    sys.exit(f"convert.py: {text}")


def name_of(field):
    return field.split(b"\0")[0].decode()


def read_tracepoints(data, at):
    """SPDK's reader looks a tracepoint up by its place."""
    found = {}
    for place in range(struct.unpack_from("<H", data, at)[0]):
        item = data[at + 128 + place * 190:at + 128 + (place + 1) * 190]
        name, number, owner, kind, new, count = struct.unpack_from("<24sHBBBB", item)
        if not name_of(name):
            continue
        if number != place:
            fail(f"tracepoint {number} stands at {place}")
        arguments = [struct.unpack_from("<14sBB", item, 30 + i * 16) for i in range(count)]
        found[place] = (name_of(name), [(name_of(argument), sort, size) for argument, sort, size in arguments])
    return found


def read_arguments(data, slots, index, count, tracepoint):
    """End to end: 8 bytes in the first slot, 22 in each that goes on."""
    tsc = struct.unpack_from("<Q", data, slots + index * SLOT)[0]
    content = data[slots + index * SLOT + 24:slots + (index + 1) * SLOT]
    need = sum(size for _, _, size in tracepoint[1])
    while len(content) < need:
        index = (index + 1) % count
        at = slots + index * SLOT
        if struct.unpack_from("<QH", data, at) != (tsc, MOST_ID):
            fail("Failed to parse tracepoint argument")
        content += data[at + 10:at + SLOT]
    values, at = [], 0
    for _, sort, size in tracepoint[1]:
        piece = content[at:at + size]
        values.append(name_of(piece) if sort == 2 else int.from_bytes(piece, "little"))
        at += size
    return values


def read_history(data, at, tracepoints, events):
    """The order of its slots is that of their times; one event for each time. The first time."""
    lcore, thread, count, ids, following = struct.unpack_from("<i16s4xQQQ", data, at)
    counts = struct.unpack_from(f"<{ids}Q", data, at + 48)
    slots = at + 48 + ids * 8
    times = [struct.unpack_from("<QH", data, slots + i * SLOT) for i in range(count)]
    if not times or not times[0][0]:
        return None
    if ids != MOST_ID or following > count or lcore >= LCORES:
        fail(f"lcore {lcore}: {ids} ids, {count} slots, position {following}")
    seen = [0] * ids
    first = min(time for time, _ in times if time)
    for i, (time, number) in enumerate(times):
        if not time or number == MOST_ID:
            continue
        seen[number] += 1
        owner, size, thing = struct.unpack_from("<HIQ", data, slots + i * SLOT + 10)
        events[(time, lcore)] = (name_of(thread), tracepoints[number], owner, size, thing,
                                 read_arguments(data, slots, i, count, tracepoints[number]))
    if tuple(seen) != counts:
        fail(f"lcore {lcore}: its counts are not those of its events")
    return first


def read_spdk(path):
    data = open(path, "rb").read()
    file_size, sections, *offsets = struct.unpack_from("<QH6x7Q", data)
    if file_size != len(data) or sections != 7:
        fail("header")
    tracepoints = read_tracepoints(data, offsets[5])
    owners, size = struct.unpack_from("<HH", data, offsets[1])
    events, shown = {}, 0
    for lcore in range(struct.unpack_from("<H", data, offsets[6])[0]):
        at = struct.unpack_from("<Q", data, offsets[6] + 128 + lcore * 8)[0]
        if at:
            shown = max(shown, read_history(data, at, tracepoints, events) or 0)
    described = {}
    for event in events.values():
        if event[2] >= owners: # where SPDK's reader ends
            fail(f"owner {event[2]} of {owners}")
        at = offsets[1] + 128 + event[2] * (9 + size)
        described[event[2]] = (struct.unpack_from("<Q", data, at)[0], name_of(data[at + 9:at + 9 + size]))
    if events and shown > min(time for time, _ in events):
        fail("SPDK's reader shows nothing before the time that all lcores cover, and leaves events out")
    return events, described


def spdk(path, document, marks):
    events, described = read_spdk(path)
    document = json.load(open(document))
    names = {tracepoint["id"]: tracepoint for tracepoint in document["tpoints"]}
    # Of events of an lcore with one time SPDK's reader keeps the last.
    kept = {(entry["tsc"], entry["lcore"]): entry for entry in document["entries"]}
    entries = iter([kept[key] for key in sorted(kept)])
    missing = told = 0
    for (time, lcore), (thread, tracepoint, owner, size, thing, arguments) in sorted(events.items()):
        if tracepoint[0] == "SPOOR_LOST":
            missing += arguments[0]
            told += 1
            continue
        entry = next(entries)
        declared = names[entry["tpoint"]]
        got = (time, lcore, thread, tracepoint[0], size)
        want = (entry["tsc"], entry["lcore"], entry.get("thread", ""), declared["name"], entry.get("size", 0))
        if got != want:
            fail(f"{got} is not {want}")
        if "object" in entry and entry["object"]["value"] != thing:
            fail(f"object {thing}: {entry}")
        if [value % 2**64 if isinstance(value, int) else value for value in entry.get("args", [])] != arguments:
            fail(f"{arguments}: {entry}")
        since, text = described[owner]
        if since and since <= time and text != entry.get("owner", ""):
            fail(f"owner {text}: {entry}")
    if next(entries, None):
        fail("the listing has more events")
    if missing != document["overwritten"] or (marks and told < int(marks)):
        fail(f"{missing} missing in {told} marks: {document['overwritten']}")


def plain(value):
    """As SPDK's format has it: numbers, and texts."""
    if value is None:
        return ""
    return int(value) if isinstance(value, bool) else value


def same(one, other):
    one, other = (json.load(open(path)) for path in (one, other))
    if len(one["entries"]) != len(other["entries"]) or not one["entries"]:
        fail(f"{len(one['entries'])} events are {len(other['entries'])}")
    for what in ("overwritten", "lost", "tsc_rate"):
        if what != "tsc_rate" and one[what] != other[what]:
            fail(f"{what}: {one[what]} is {other[what]}")
    names = [{tracepoint["id"]: tracepoint for tracepoint in document["tpoints"]} for document in (one, other)]
    lcores, letters = {}, set()
    for a, b in zip(one["entries"], other["entries"]):
        kinds = names[0][a["tpoint"]], names[1][b["tpoint"]]
        if kinds[0]["name"] != kinds[1]["name"] or kinds[0]["new_object"] != kinds[1]["new_object"]:
            fail(f"{a} is {b}")
        if lcores.setdefault(a["lcore"], b["lcore"]) != b["lcore"]:
            fail(f"thread {a['lcore']} is lcore {b['lcore']} too")
        for what in ("tsc", "thread", "size", "lost_before", "object", "related", "related_unknown"):
            if a.get(what) != b.get(what):
                fail(f"{what}: {a} is {b}")
        if a.get("owner") != b.get("owner") or a.get("poller", "")[:1] != b.get("poller", "")[:1]:
            fail(f"owner: {a} is {b}")
        for i, (before, after) in enumerate(zip(a.get("args", []), b.get("args", []), strict=True)):
            if kinds[0]["args"][i]["type"] == 3: # a number with a fraction, as text
                after = float(after)
            if plain(before) != after:
                fail(f"argument {i}: {a} is {b}")


def gaps(path):
    """A chunk is its head, which begins with a check of what follows, and its slots."""
    data = open(path, "rb").read()
    at, chunks = struct.unpack_from("<Q", data)[0], []
    while at < len(data):
        check, first, count, lcore = struct.unpack_from("<QQQI", data, at)
        chunks.append((at, first, count, lcore, check ^ first ^ count ^ lcore))
        at += 64 + count * SLOT
    begin, first, count, lcore, key = chunks[len(chunks) // 2]
    last = max(chunk[1] + chunk[2] for chunk in chunks if chunk[3] == lcore) + 1000
    end = struct.pack("<QQQI", key ^ last ^ lcore, last, 0, lcore) + data[begin + 28:begin + 64]
    sys.stdout.buffer.write(data[:begin] + data[begin + 64 + count * SLOT:] + end)


def mutate(data, seed):
    """Half of the changes where the declarations stand: one byte, a whole word, or the end of the file."""
    data = bytearray(data)
    draw = random.Random(seed)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(data) if draw.random() < 0.5 else min(len(data), 4096))
        if draw.random() < 0.6:
            data[at] = draw.randrange(256)
        else:
            data[at:at + 8] = struct.pack("<Q", draw.choice([0, 1, 2**64 - 1, 2**63, draw.randrange(2**32)]))
    if draw.random() < 0.25:
        del data[draw.randrange(len(data)):]
    return data


def run(*command):
    """Its status and what it said; what takes longer than 20 s has hung."""
    with open("said", "w+b") as said:
        status = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=said, timeout=20, check=False).returncode
        said.seek(0)
        return status, said.read()


def damage_one(spoor, form):
    """`mutated` becomes a file that can be read, or there is an error and no file."""
    if os.path.exists("mutant"):
        os.remove("mutant")
    status, said = run(spoor, "convert", "--to", form, "mutated", "mutant")
    if status not in (0, 1) or (status == 1 and (os.path.exists("mutant") or b"ERROR" not in said)):
        return f"status {status}: {said[-500:].decode(errors='replace')}"
    if status == 0 and run(spoor, "report", "-f", "mutant")[0]:
        return "what was made cannot be read"
    return None


def damage(spoor, count, *paths):
    for path in paths:
        data = open(path, "rb").read()
        for seed in range(1, int(count) + 1):
            with open("mutated", "wb") as mutated:
                mutated.write(mutate(data, seed))
            for form in ("spdk", "spoor"):
                try:
                    wrong = damage_one(spoor, form)
                except subprocess.TimeoutExpired:
                    wrong = "it hangs"
                if wrong:
                    fail(f"{path}, seed {seed}, to {form}: {wrong}")
    print(f"{int(count) * len(paths)} files")


commands = {"spdk": lambda path, document, marks=None: spdk(path, document, marks), "same": same, "gaps": gaps, "damage": damage}
commands[sys.argv[1]](*sys.argv[2:])
