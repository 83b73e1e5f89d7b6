"""Writes the files that the tests of this folder read beside themselves, by pyarrow (pip install pyarrow numpy)."""
import json
import pathlib
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COUNT = 70


def rows():
    """What parquet_test.cpp says again in its own words: row i of every file."""
    for i in range(COUNT):
        yield {
            "label": i % 7,
            "title": None if i % 5 == 0 else f"title {i}" * (i % 3),
            "weight": i / 8,
            "small": -i,
            "large": 2**32 - 1 - i,
            "flag": i % 3 == 0,
            "maybe": None if i % 2 else i * 10**12,
            "image": {"bytes": bytes([i, 255 - i]) * (i % 4), "path": None if i % 4 == 0 else f"{i}.png"},
            "tokens": None if i % 11 == 10 else [f"t{j}" for j in range(i % 4)],
            "ids": [None if j == 1 else i * j for j in range(i % 3)],
            "turns": [{"role": "user" if j % 2 == 0 else "model", "length": i + j} for j in range(i % 3 + 1)],
            "digest": bytes([i] * 4),
        }


SCHEMA = pa.schema([
    ("label", pa.int64()),
    ("title", pa.string()),
    ("weight", pa.float32()),
    ("small", pa.int32()),
    ("large", pa.uint32()),
    ("flag", pa.bool_()),
    ("maybe", pa.int64()),
    ("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
    ("tokens", pa.list_(pa.string())),
    ("ids", pa.list_(pa.int32())),
    ("turns", pa.list_(pa.struct([("role", pa.string()), ("length", pa.int64())]))),
    ("digest", pa.binary(4)),
], metadata={"huggingface": json.dumps({"info": {"features": {"label": {
    "names": ["a", "b", "c", "d", "e", "f", "g"], "_type": "ClassLabel"}}}})})

FILES = {
    "plain": dict(compression="none", use_dictionary=False, row_group_size=30),
    "snappy": dict(compression="snappy", store_schema=True),  # with what a schema says beside columns
    "gzip2": dict(compression="gzip", data_page_version="2.0", row_group_size=33),
    "zstd": dict(compression="zstd", data_page_size=64, write_batch_size=8),
    "deltas": dict(compression="none", use_dictionary=False, data_page_version="2.0", column_encoding={
        "label": "DELTA_BINARY_PACKED", "small": "DELTA_BINARY_PACKED", "large": "DELTA_BINARY_PACKED",
        "maybe": "DELTA_BINARY_PACKED", "title": "DELTA_BYTE_ARRAY", "weight": "BYTE_STREAM_SPLIT",
        "flag": "RLE", "image.bytes": "DELTA_LENGTH_BYTE_ARRAY", "digest": "BYTE_STREAM_SPLIT"}),
    "old": dict(compression="snappy", version="1.0", use_compliant_nested_type=False),
}


def write(name, table, **options):
    path = pathlib.Path(__file__).with_name(name + ".parquet")
    pq.write_table(table, path, **{"store_schema": False, "write_statistics": False, **options})


table = pa.Table.from_pylist(list(rows()), schema=SCHEMA)
for name, options in FILES.items():
    write(name, table, **options)


def deep_rows():
    """What nested_test.cpp says again: lists in lists, maps, structs that are missing, decimals, times, halves."""
    for i in range(COUNT):
        cents = (i - 30) * 123457 + 1
        yield {
            "grid": None if i % 9 == 8 else [None if (i + j) % 5 == 4 else [None if k == 3 else i * j - k
                                                                            for k in range((i + j) % 5)]
                                             for j in range(i % 4)],
            "cube": [[[i + j + k / 4] * k for k in range(j)] for j in range(i % 3)],
            "people": [{"name": f"p{i}", "tags": None if j == 1 else [f"t{k}" for k in range(j + i % 2)],
                        "born": None if (i + j) % 3 == 0 else {"year": 1900 + i, "place": "x" * j if j else None}}
                       for j in range(i % 4)],
            "counts": None if i % 6 == 5 else [(f"key {j}", [i] * j) for j in range(i % 3)],
            "point": None if i % 4 == 3 else {"x": i / 2, "y": -i},
            "price": None if i % 7 == 6 else Decimal(cents).scaleb(-2),
            "rate": Decimal(cents).scaleb(-9),
            "large": Decimal(f"{cents}00000000000000000007e-10"),
            "huge": [Decimal(f"{cents}{'12345' * 9}e-20")] * (i % 2),
            "time": None if i % 5 == 2 else (i - 35) * 86_400_000_000_000 * 1000 + i,
            "half": np.float16(i / 8 - 3),
        }


DEEP = pa.schema([
    ("grid", pa.list_(pa.list_(pa.int32()))),
    ("cube", pa.list_(pa.list_(pa.list_(pa.float32())))),
    ("people", pa.list_(pa.struct([("name", pa.string()), ("tags", pa.list_(pa.string())),
                                   ("born", pa.struct([pa.field("year", pa.int16(), False), ("place", pa.string())]))]))),
    ("counts", pa.map_(pa.string(), pa.list_(pa.int64()))),
    ("point", pa.struct([pa.field("x", pa.float64(), False), pa.field("y", pa.int32(), False)])),
    ("price", pa.decimal128(9, 2)),
    pa.field("rate", pa.decimal128(18, 9), False),
    ("large", pa.decimal128(38, 10)),
    ("huge", pa.list_(pa.decimal256(70, 20))),
    ("time", pa.timestamp("ns")),
    ("half", pa.float16()),
])

GRID, TAGS, COUNTS = "grid.list.element.list.element", "people.list.element.tags.list.element", "counts.key_value.key"
DEEP_FILES = {
    "deep_plain": dict(compression="none", use_dictionary=False, row_group_size=30, data_page_size=64, write_batch_size=8),
    "deep_brotli": dict(compression="brotli", use_deprecated_int96_timestamps=True, write_page_checksum=True),
    "deep_lz4": dict(compression="lz4", data_page_version="2.0", store_decimal_as_integer=True,
                     use_compliant_nested_type=False, row_group_size=37),
    "deep_int96": dict(compression="snappy", use_dictionary=False, use_deprecated_int96_timestamps=True),
    "deep_deltas": dict(compression="zstd", use_dictionary=False, data_page_version="2.0", store_decimal_as_integer=True,
                        write_page_checksum=True, column_encoding={
                            GRID: "DELTA_BINARY_PACKED", "price": "DELTA_BINARY_PACKED", "rate": "DELTA_BINARY_PACKED",
                            "time": "DELTA_BINARY_PACKED", TAGS: "DELTA_BYTE_ARRAY", COUNTS: "DELTA_LENGTH_BYTE_ARRAY",
                            "large": "BYTE_STREAM_SPLIT", "huge.list.element": "DELTA_BYTE_ARRAY",
                            "half": "BYTE_STREAM_SPLIT", "cube.list.element.list.element.list.element":
                            "BYTE_STREAM_SPLIT"}),
}
deep = pa.Table.from_pylist(list(deep_rows()), schema=DEEP)
for name, options in DEEP_FILES.items():
    write(name, deep, **options)
write("summed", pa.table({"n": pa.array(range(COUNT), pa.int64())}), compression="none", use_dictionary=False,
      write_page_checksum=True)
