#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads what `spoor profile` writes, each format by its own rules, and compares it with the folded stacks.

  profile.py share FOLDED FUNCTION LOW HIGH   the part of all that is below a function
  profile.py weight FOLDED FUNCTION LOW HIGH  how much is below a function
  profile.py svg|html|pprof|speedscope FILE FOLDED
"""
import collections
import gzip
import html.parser
import json
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from protobuf import fields  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def fail(what):
    print(what)
    sys.exit(1)


def read_folded(path):
    """Weights by stack, without the marks behind names."""
    stacks = collections.Counter()
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            names, weight = line.rstrip("\n").rsplit(" ", 1)
            stacks[tuple(re.sub(r"_\[[kij]\]$", "", name) for name in names.split(";"))] += int(weight)
    return stacks


def below(stacks, function):
    return sum(weight for stack, weight in stacks.items() if function in stack)


def totals(stacks):
    """How much is below each beginning of a stack."""
    nodes = collections.Counter()
    for stack, weight in stacks.items():
        for length in range(len(stack) + 1):
            nodes[stack[:length]] += weight
    return nodes


def is_folded(name):
    """A name as folded stacks have it."""
    return name.replace(";", ":")


def check_flame(root, stacks):
    """Every rectangle stands where its stack says, as wide as its part of all; what has none is too narrow."""
    nodes, seen, path = totals(stacks), collections.Counter(), []
    whole, width = nodes[()], int(root.get("data-width"))
    for group in root.iter(SVG + "g"):
        if group.get("class") != "f":
            continue
        name = group.find(SVG + "title").text.split("\n")[0]
        depth, start, count = (int(group.get("data-" + key)) for key in "dsn")
        del path[depth:]
        path.append((is_folded(name), start, count))
        if depth and not path[depth - 1][1] <= start <= start + count <= sum(path[depth - 1][1:]):
            fail(f"{name} is not above its caller")
        drawn = float(group.find(SVG + "rect").get("width"))
        x = float(re.match(r"translate\(([0-9.]+),", group.get("transform")).group(1)) - int(root.get("data-margin"))
        if abs(drawn - width * count / whole) > 0.01 or abs(x - width * start / whole) > 0.01:
            fail(f"{name} with {count} of {whole} is drawn at {x}, {drawn} wide")
        seen[tuple(part[0] for part in path[1:])] += count
    for stack, count in nodes.items():
        if seen[stack] != count and width * count / whole >= 0.1:
            fail(f"{stack} has {count}, and {seen[stack]} in the picture")


def check_svg(path, stacks):
    root = ElementTree.parse(path).getroot()
    for element in root.iter():
        if any(key.startswith("on") or "href" in key for key in element.keys()):
            fail(f"an attribute does something: {element.keys()}")
    if len(list(root.iter(SVG + "script"))) != 1:
        fail("there is more than one script")
    check_flame(root, stacks)


class Page(html.parser.HTMLParser):
    """The elements of a page and the texts of its scripts."""

    def __init__(self):
        super().__init__()
        self.tags, self.events, self.policy = collections.Counter(), [], ""

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        self.events += [key for key, _ in attributes if key.startswith("on") or key in ("src", "href", "style")]
        if ("http-equiv", "Content-Security-Policy") in attributes:
            self.policy = dict(attributes)["content"]


def check_html(path, stacks):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    page = Page()
    page.feed(text)
    if page.tags["script"] != 1 or page.tags["svg"] != 1 or page.events:
        fail(f"the page has elements that it should not have: {page.tags} {page.events}")
    if "default-src 'none'" not in page.policy or "unsafe" in page.policy:
        fail(f"the page's policy is {page.policy}")
    begin, end = text.index("<svg"), text.index("</svg>") + len("</svg>")
    check_flame(ElementTree.fromstring(text[begin:end]), stacks)


def grouped(data):
    values = collections.defaultdict(list)
    for field, value in fields(data):
        values[field].append(value)
    return values


def check_pprof(path, stacks):
    with gzip.open(path) as file:
        profile = grouped(file.read())
    strings = [text.decode() for text in profile[6]]
    functions = {grouped(one)[1][0]: strings[grouped(one)[2][0]] for one in profile[5]}
    mappings = {grouped(one)[1][0] for one in profile[3]}
    locations = {}
    for one in map(grouped, profile[4]):
        if one[2][0] not in mappings:
            fail("a location has no mapping")
        locations[one[1][0]] = functions[grouped(one[4][0])[1][0]]
    seen = collections.Counter()
    for sample in map(grouped, profile[2]):
        seen[tuple(is_folded(locations[number]) for number in reversed(sample[1]))] += sample[2][0]
        if sample[2][1:] != [sample[2][0] * period for period in profile[12]]:
            fail(f"{sample[2]}: samples, and the CPU time that they stand for")
    types = [strings[grouped(one)[1][0]] for one in profile[1]]
    if strings[0] or types != [types[0]] + ["cpu"] * len(profile[12]):
        fail(f"the first string is empty, samples are counted, or are CPU time if there is a period: {types}")
    compare(seen, stacks)


def check_speedscope(path, stacks):
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    frames = [is_folded(frame["name"]) for frame in profile["shared"]["frames"]]
    one = profile["profiles"][0]
    seen = collections.Counter()
    for stack, weight in zip(one["samples"], one["weights"], strict=True):
        seen[tuple(frames[number] for number in stack)] += weight
    if one["endValue"] != sum(one["weights"]):
        fail("the end is not the sum")
    compare(seen, stacks)


def compare(seen, stacks):
    if seen != stacks:
        fail(f"only here: {seen - stacks}\nonly in folded stacks: {stacks - seen}")


def main():
    what, arguments = sys.argv[1], sys.argv[2:]
    if what in ("share", "weight"):
        stacks = read_folded(arguments[0])
        value = below(stacks, arguments[1])
        if what == "share":
            value /= sum(stacks.values())
        if not float(arguments[2]) <= value <= float(arguments[3]):
            fail(f"{arguments[1]}: {value}, not {arguments[2]} to {arguments[3]}")
    else:
        globals()["check_" + what](arguments[0], read_folded(arguments[1]))


main()
