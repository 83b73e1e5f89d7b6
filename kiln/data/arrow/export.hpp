// Gives tables to other libraries of the same process, by Arrow's C interface.
//
//   ArrowArrayStream stream;
//   export_arrow(rows, &stream);                      // a data set of structs
//   pyarrow: pa.RecordBatchReader._import_from_c(address of stream)
//
//   ArrowSchema schema;
//   ArrowArray batch;
//   export_arrow({{"embedding", x.data()}, {"label", y.data()}}, &schema, &batch);
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/data/arrow/build.hpp"
#include "kiln/data/dataset.hpp"

namespace kiln {

struct ArrowColumn {
  std::string name;
  TensorData data;  // [rows, ...]
};

/// A batch whose columns are tensors with equally many rows. Rows of more than one number are lists of one size.
/// Elements are not copied if the columns are moved here (truth values become bits). The receiver calls release of both
/// structs, in any order; until then the elements live. Throws ArgumentError for a null pointer; ShapeError if the
/// numbers of rows differ; DTypeError for bfloat16. If it throws, both structs are unchanged.
void export_arrow(std::vector<ArrowColumn> columns, ArrowSchema* schema, ArrowArray* batch);

namespace arrow {

/// The function that makes the batches of a stream.
struct Batches {
  std::function<Builder()> empty;                           // the schema
  std::function<Builder(std::int64_t, std::int64_t)> rows;  // so many from a first one on
  std::int64_t size = 0, at_once = 0;
};
void export_batches(Batches batches, ArrowArrayStream* stream);
void export_batch(Builder batch, ArrowSchema* schema, ArrowArray* array);

template <class Row>
Builder build(const Dataset<Row>& rows, std::int64_t first, std::int64_t count) {
  Builder batch = builder_of<Row>("");
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), first);
  for (const Row& row : rows.get_many(indices)) add(batch, row);
  return batch;
}

}  // namespace arrow

/// All rows of a data set of structs as one batch: a column for each field. Fields are numbers, bool, texts, bytes,
/// enums (by name), structs, lists and maps of all these, and optionals, which become nulls. The receiver calls release
/// of both structs. Throws ArgumentError for a null pointer, and what reading an item throws; both structs are then
/// unchanged.
template <DatasetLike D>
void export_arrow(D dataset, ArrowSchema* schema, ArrowArray* batch) {
  const auto rows = share(std::move(dataset));
  arrow::export_batch(arrow::build<ItemOf<D>>(*rows, 0, rows->size()), schema, batch);
}

/// The rows as a stream of batches of at most `at_once` rows, each read when the receiver asks for it; the data set
/// lives until the stream is released. An error of an item is the stream's error. Throws ArgumentError for a null
/// pointer, or batches without rows.
template <DatasetLike D>
void export_arrow(D dataset, ArrowArrayStream* stream, std::int64_t at_once = 65'536) {
  const auto rows = share(std::move(dataset));
  using Row = ItemOf<D>;
  arrow::export_batches(
      {[] { return arrow::builder_of<Row>(""); },
       [rows](std::int64_t first, std::int64_t count) { return arrow::build<Row>(*rows, first, count); }, rows->size(),
       at_once},
      stream);
}

}  // namespace kiln
