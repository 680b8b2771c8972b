#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints what a picture of --svg shows, a line for each: texts, bars with their widths, cells with their columns and numbers.
svg.py FILE. Ends with status 1 if the file is no XML or has more than shapes and texts."""
import sys
import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"
root = ElementTree.parse(sys.argv[1]).getroot()
for element in root.iter():
    if element.tag not in {SVG + tag for tag in ("svg", "style", "rect", "text", "title", "path")}:
        sys.exit(f"an element that is no shape: {element.tag}")
    if any(key.startswith("on") or "href" in key for key in element.keys()):
        sys.exit(f"an attribute that does something: {element.attrib}")
cells = [float(element.get("x")) for element in root.iter(SVG + "rect") if element.get("class") == "cell"]
columns = sorted(set(cells))
for element in root:
    kind = element.get("class")
    if element.tag == SVG + "text":
        print(kind, element.text)
    elif kind == "cell":
        print(kind, columns.index(float(element.get("x"))), element.find(SVG + "title").text)
    elif kind in ("bar", "point"):
        print(kind, element.get("width" if kind == "bar" else "height"))
