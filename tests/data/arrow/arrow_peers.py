"""Hands tables of pyarrow and polars to Kiln and back, by Arrow's C interface: arrow_peers.py libarrow_peer.so"""
import ctypes
import datetime
import decimal
import sys

import polars as pl
import pyarrow as pa

kiln = ctypes.CDLL(sys.argv[1])
kiln.peer_problem.restype = ctypes.c_char_p


class Struct:
    """Memory for one of Arrow's structs, the largest of which has ten words."""

    def __init__(self):
        self.memory = (ctypes.c_int64 * 10)()
        self.address = ctypes.addressof(self.memory)


def call(function, *arguments):
    if function(*(ctypes.c_void_p(a) if isinstance(a, int) else a for a in arguments)):
        raise RuntimeError(kiln.peer_problem().decode())


class Stream(Struct):
    """A stream of Kiln's, which polars takes as a capsule."""

    def __arrow_c_stream__(self, requested_schema=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(self.address, b"arrow_array_stream", None)


def rows_through_kiln(stream):
    out = Stream()
    call(kiln.peer_rows, stream.address, out.address)
    return out


class PolarsStream:
    """The stream in polars' capsule."""

    def __init__(self, frame):
        self.capsule = frame.__arrow_c_stream__()
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        self.address = get(self.capsule, b"arrow_array_stream")


def pyarrow_stream(table):
    stream = Struct()
    reader = table if isinstance(table, pa.RecordBatchReader) else table.to_reader()
    reader._export_to_c(stream.address)
    return stream


def tensor_through_kiln(table, column):
    stream, schema, batch = pyarrow_stream(table), Struct(), Struct()
    call(kiln.peer_tensor, stream.address, column.encode(), schema.address, batch.address)
    return pa.RecordBatch._import_from_c(batch.address, schema.address).column(0).to_pylist()


ROWS = [{
    "id": i - 2**40, "small": 255 - i, "real": i / 8, "flag": i % 3 == 0, "maybe": None if i % 2 else i % 4 == 0,
    "kind": "Dog" if i % 2 else "Cat", "title": None if i % 5 == 0 else "títle longer than twelve bytes"[: i * 2],
    "bytes": bytes([i]) * (i % 4), "inner": None if i % 3 == 0 else {"n": -i, "word": None if i % 2 else "w" * i},
    "list": [{"n": j, "word": None if j else "first"} for j in range(i % 3)],
    "numbers": None if i % 5 == 0 else [1.5, None, -float(i)],
    "counts": [(f"key {j}", i * j) for j in range(i % 4)],
} for i in range(23)]
INNER = pa.struct([("n", pa.int32()), ("word", pa.string())])
SCHEMA = pa.schema([("id", pa.int64()), ("small", pa.uint8()), ("real", pa.float32()), ("flag", pa.bool_()),
                    ("maybe", pa.bool_()), ("kind", pa.string()), ("title", pa.string()), ("bytes", pa.binary()),
                    ("inner", INNER), ("list", pa.list_(INNER)), ("numbers", pa.list_(pa.float64())),
                    ("counts", pa.map_(pa.string(), pa.int64()))])


def check_pyarrow():
    table = pa.Table.from_pylist(ROWS, SCHEMA)
    many = pa.concat_tables([table.slice(0, 7), table.slice(7, 1), table.slice(8)])  # batches with offsets
    views = table.set_column(6, "title", table["title"].cast(pa.string_view()))
    dictionary = table.set_column(5, "kind", table["kind"].dictionary_encode())
    large = table.set_column(10, "numbers", table["numbers"].cast(pa.large_list(pa.float64())))
    for each in (table, many, views, dictionary, large, table.slice(3, 11), table.slice(0, 0)):
        out = rows_through_kiln(pyarrow_stream(each))
        read = pa.RecordBatchReader._import_from_c(out.address).read_all()
        read.validate(full=True)
        assert read.to_pylist() == each.to_pylist(), read.to_pylist()
        if each.num_rows > 5:
            assert [len(batch) for batch in read.to_batches()][0] == 5


def check_polars():
    frame = pl.DataFrame([{**row, "counts": [{"key": k, "value": v} for k, v in row["counts"]]} for row in ROWS], schema={
        "id": pl.Int64, "small": pl.UInt8, "real": pl.Float32, "flag": pl.Boolean, "maybe": pl.Boolean,
        "kind": pl.Enum(["Cat", "Dog"]), "title": pl.String, "bytes": pl.Binary,
        "inner": pl.Struct({"n": pl.Int32, "word": pl.String}),
        "list": pl.List(pl.Struct({"n": pl.Int32, "word": pl.String})), "numbers": pl.List(pl.Float64),
        "counts": pl.List(pl.Struct({"key": pl.String, "value": pl.Int64}))})
    for each in (frame, frame.slice(2, 9), pl.concat([frame, frame.reverse()], rechunk=False)):
        read = pl.DataFrame(rows_through_kiln(PolarsStream(each)))
        assert read.drop("counts").rows() == each.drop("counts").rows(), read


def check_tensors():
    lists = pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], pa.list_(pa.float64(), 2))
    table = pa.table({"lists": lists, "halves": pa.array([1, 2.5, -3]).cast(pa.float16()),
                      "flags": pa.array([True, False, True]), "words": pa.array([1, 2, 2**63], pa.uint64())})
    for name in table.column_names:
        for each in (table, table.slice(1), pa.concat_tables([table, table.slice(2)])):
            assert tensor_through_kiln(each, name) == each[name].to_pylist(), name
    times = pa.table({"times": pa.array([datetime.datetime(2026, 1, 2)], pa.timestamp("ms", "UTC"))})
    assert tensor_through_kiln(times, "times") == [1767312000000]


def check_errors():
    table = pa.Table.from_pylist(ROWS, SCHEMA)
    wrong = [(table.drop_columns(["small"]), "has no column 'small'"),
             (table.set_column(0, "id", pa.array([decimal.Decimal(1)] * 23)), "has decimals, and is read as whole numbers"),
             (table.set_column(0, "id", pa.array([None] + [1] * 22)), None),
             (pa.table({"id": pa.RunEndEncodedArray.from_arrays([3], [1])}), "run-end encoded"),
             (pa.table({"id": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])}), "a union")]
    for each, sentence in wrong:
        try:
            out = rows_through_kiln(pyarrow_stream(each))
            pa.RecordBatchReader._import_from_c(out.address).read_all()
        except (RuntimeError, pa.ArrowException, OSError) as error:
            assert (sentence or "row 0: column 'id' is missing") in str(error), error
        else:
            raise AssertionError(sentence)
    broken = pa.RecordBatchReader.from_batches(table.schema, (1 / 0 for _ in range(1)))
    try:
        rows_through_kiln(pyarrow_stream(broken))
    except RuntimeError as error:
        assert "the stream failed" in str(error) and "division by zero" in str(error), error
    else:
        raise AssertionError("a broken stream")


before = pa.total_allocated_bytes()
check_pyarrow()
check_polars()
check_tensors()
check_errors()
assert pa.total_allocated_bytes() == before, "memory of pyarrow's was not released"
