"""Writes the files that parquet_test.cpp reads beside itself, by pyarrow (pip install pyarrow)."""
import json
import pathlib

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
write("brotli", pa.table({"x": [1] * 50}), compression="brotli")
write("nested", pa.table({
    "x": pa.array([[[1], [2, 3]], []]),
    "price": pa.array([None, None], pa.decimal128(9, 2)),
    "y": pa.array([1, 2], pa.int8()),
}), compression="none")
