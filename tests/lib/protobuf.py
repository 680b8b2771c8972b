# SPDX-License-Identifier: BSD-3-Clause
"""Reads protocol buffers without their descriptions. What is cut or has an unknown wire type is a ValueError."""
VARINT, FIXED64, BYTES = 0, 1, 2


def varint(data, at):
    """The number at a place, and the place behind it."""
    value = shift = 0
    while True:
        if at >= len(data):
            raise ValueError("a number is cut")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def numbers(data):
    """Packed numbers."""
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def wired_fields(data):
    """(number, wire type, value) of a message: an int, 8 bytes, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        if wire == VARINT:
            value, at = varint(data, at)
            yield key >> 3, wire, value
            continue
        if wire not in (FIXED64, BYTES):
            raise ValueError(f"wire type {wire}")
        length, at = (8, at) if wire == FIXED64 else varint(data, at)
        if at + length > len(data):
            raise ValueError("a field is cut")
        yield key >> 3, wire, data[at:at + length]
        at += length


def fields(data):
    """(number, value) of a message."""
    for number, _, value in wired_fields(data):
        yield number, value
