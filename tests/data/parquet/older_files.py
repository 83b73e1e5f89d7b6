"""Writes, byte by byte, files as writers left them whom nobody can ask any more: lists of two levels, maps of other names,
Hadoop's LZ4, decimals of any number of bytes, times of 96 bits. pyarrow reads them back (pip install pyarrow): it says that they are right."""
import pathlib
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

REQUIRED, OPTIONAL, REPEATED = range(3)
INT32, INT96, BYTES = 1, 3, 6
UTF8, MAP, MAP_KEY_VALUE, LIST, DECIMAL = 0, 1, 2, 3, 5
PLAIN, LZO, LZ4 = 0, 3, 5


# Thrift's compact protocol: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def zigzag(n):
    return varint(n * 2 if n >= 0 else -2 * n - 1)


class Long(int):
    """Is written as one of 64 bits."""


def thrift(value):
    """Type and bytes of a number, a text, a list, or a struct, which is a dict of fields by their numbers."""
    if isinstance(value, int):
        return 6 if isinstance(value, Long) else 5, zigzag(value)
    if isinstance(value, str):
        return 8, varint(len(value)) + value.encode()
    if isinstance(value, list):
        items = [thrift(item) for item in value]
        head = len(items) << 4 | items[0][0] if len(items) < 15 else 0xF0 | items[0][0]
        return 9, bytes([head]) + (varint(len(items)) if len(items) >= 15 else b"") + b"".join(b for _, b in items)
    out, last = b"", 0
    for number, field in sorted(value.items()):
        if field is not None:
            kind, content = thrift(field)
            out, last = out + bytes([(number - last) << 4 | kind]) + content, number
    return 12, out + b"\0"


def node(name, repetition=None, children=None, type=None, converted=None, scale=None, precision=None):
    return {1: type, 3: repetition, 4: name, 5: children, 6: converted, 7: scale, 8: precision}


class Run:
    """So many levels that are the same."""

    def __init__(self, count, level):
        self.count, self.level = count, level

    def __len__(self):
        return self.count


def levels(numbers, most):
    """As runs of one, with their size before them."""
    if isinstance(numbers, Run):
        runs = varint(2 * numbers.count) + bytes([numbers.level])
        return len(runs).to_bytes(4, "little") + runs
    runs = b"".join(varint(2) + bytes([n]) for n in numbers)
    return len(runs).to_bytes(4, "little") + runs if most else b""


def number(n):
    return n.to_bytes(4, "little", signed=True)


def text(letters):
    letters = letters.encode() if isinstance(letters, str) else letters
    return number(len(letters)) + letters


def packed(raw, codec, blocks):
    if codec != LZ4:
        return raw
    lz4 = pa.Codec("lz4_raw")
    if blocks == 0:  # no more than a block, without its size
        return lz4.compress(raw, asbytes=True)
    out, each = b"", -(-len(raw) // blocks)
    for begin in range(0, len(raw), each):
        part = raw[begin:begin + each]
        small = lz4.compress(part, asbytes=True)
        out += len(part).to_bytes(4, "big") + len(small).to_bytes(4, "big") + small
    return out


def write(name, schema, columns, rows, codec=PLAIN, blocks=0, expected=None, said=None):
    """`columns`: of each leaf its type, path, most repetition and definition, levels of these, and values."""
    out, chunks = b"PAR1", []
    for type, path, most, repetitions, definitions, values in columns:
        raw = levels(repetitions, most[0]) + levels(definitions, most[1]) + b"".join(values)
        body = packed(raw, codec, blocks)
        count = max(len(repetitions), len(definitions), len(values))
        head = thrift({1: 0, 2: len(raw), 3: len(body), 5: {1: count, 2: 0, 3: 3, 4: 3}})[1]
        chunks.append({2: Long(len(out)), 3: {1: type, 2: [0, 3], 3: path, 4: codec, 5: Long(count),
                                              6: Long(len(head) + len(raw)), 7: Long(len(head) + len(body)),
                                              9: Long(len(out))}})
        out += head + body
    footer = thrift({1: 1, 2: [node("schema", children=sum(n.pop("top", 0) for n in schema))] + schema, 3: Long(rows if said is None else said),
                     4: [{1: chunks, 2: Long(len(out)), 3: Long(rows)}]})[1]
    path = pathlib.Path(__file__).with_name(name + ".parquet")
    path.write_bytes(out + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    if expected is not None:
        assert pq.read_table(path).to_pylist() == expected, pq.read_table(path).to_pylist()


def top(*arguments, **named):
    return {**node(*arguments, **named), "top": 1}


write("two_levels", [
    top("a", OPTIONAL, 1, converted=LIST), node("array", REPEATED, type=INT32),
    top("b", OPTIONAL, 1, converted=LIST), node("array", REPEATED, 1, converted=LIST), node("array", REPEATED, type=INT32),
    top("c", OPTIONAL, 1, converted=LIST), node("c_tuple", REPEATED, 1), node("n", REQUIRED, type=INT32),
    top("d", REPEATED, type=INT32),
    top("e", OPTIONAL, 1, converted=LIST), node("list", REPEATED, 1), node("item", REPEATED, type=INT32),
    top("m", OPTIONAL, 1, converted=MAP), node("map", REPEATED, 2, converted=MAP_KEY_VALUE),
    node("key", REQUIRED, type=BYTES, converted=UTF8), node("value", OPTIONAL, type=INT32),
], [
    (INT32, ["a", "array"], (1, 2), [0, 0, 1, 0], [0, 2, 2, 1], [number(1), number(-2)]),
    (INT32, ["b", "array", "array"], (2, 3), [0, 2, 1, 1, 0, 0], [3, 3, 2, 3, 0, 1], [number(3), number(4), number(5)]),
    (INT32, ["c", "c_tuple", "n"], (1, 2), [0, 0, 0, 1, 1], [1, 0, 2, 2, 2], [number(6), number(7), number(8)]),
    (INT32, ["d"], (1, 1), [0, 1, 0, 0], [1, 1, 0, 1], [number(9), number(10), number(11)]),
    (INT32, ["e", "list", "item"], (2, 3), [0, 2, 1, 0, 0], [3, 3, 2, 0, 1], [number(14), number(15)]),
    (BYTES, ["m", "map", "key"], (1, 2), [0, 1, 0, 0], [2, 2, 0, 2], [text("x"), text("y"), text("z")]),
    (INT32, ["m", "map", "value"], (1, 3), [0, 1, 0, 0], [3, 2, 0, 3], [number(12), number(13)]),
], 3, expected=[
    {"a": None, "b": [[3, 4], [], [5]], "c": [], "d": [9, 10], "e": [{"item": [14, 15]}, {"item": []}],
     "m": [("x", 12), ("y", None)]},
    {"a": [1, -2], "b": None, "c": None, "d": [], "e": None, "m": None},
    {"a": [], "b": [], "c": [{"n": 6}, {"n": 7}, {"n": 8}], "d": [11], "e": [], "m": [("z", 13)]},
])

UNSCALED = [0, 1, -1, 127, -128, 10**9, -10**9, 2**53 + 1, -2**63, 10**20 + 1, -10**30 - 1, 123456789 * 10**25,
            -1000 * (2**70 + 2**17) - 1]  # not as near to 2^70 as its neighbour


def shortest(n):
    return n.to_bytes((n if n >= 0 else ~n).bit_length() // 8 + 1, "big", signed=True)


for name, blocks in {"hadoop": 3, "block": 0}.items():
    write(name, [top("n", REQUIRED, type=INT32),
                 top("price", REQUIRED, type=BYTES, converted=DECIMAL, scale=3, precision=38)],
          [(INT32, ["n"], (0, 0), [], [], [number(i // 3) for i in range(len(UNSCALED))]),
           (BYTES, ["price"], (0, 0), [], [], [text(shortest(n)) for n in UNSCALED])],
          len(UNSCALED), LZ4, blocks,
          [{"n": i // 3, "price": Decimal(f"{n}e-3")} for i, n in enumerate(UNSCALED)])
write("lzo", [top("n", REQUIRED, type=INT32)], [(INT32, ["n"], (0, 0), [], [], [number(0)])], 1, LZO)
# Nanoseconds of a day, and its number: that of the first of January of the year 1.
write("ancient", [top("time", REQUIRED, type=INT96)],
      [(INT96, ["time"], (0, 0), [], [], [number(0) * 2 + number(1721426)])], 1)
# A list that goes on where it is empty.
write("astray", [top("d", REPEATED, type=INT32)], [(INT32, ["d"], (1, 1), [0, 1], [0, 1], [number(7)])], 1)
# What the file says of its rows in all is not what its part says.
write("uncounted", [top("n", REQUIRED, type=INT32)], [(INT32, ["n"], (0, 0), [], [], [number(7), number(8)])], 2,
      expected=[{"n": 7}, {"n": 8}], said=0)
# Five bytes that stand for 2^28 rows.
write("vast", [top("n", OPTIONAL, type=INT32)], [(INT32, ["n"], (0, 1), [], Run(1 << 28, 0), [])], 1 << 28)
