// Tables of other libraries of the same process, by Arrow's C interface: pyarrow's, polars', DuckDB's and others'.
//
//   const ArrowTable table(&stream);                          // takes the batches; nothing is copied
//   const auto rows = arrow_rows<Row>(table);                 // a data set of structs
//   const Tensor<2> x(table.tensor("embedding"), device);     // a column of numbers
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/core/tensor_data.hpp"
#include "kiln/data/arrow/abi.hpp"
#include "kiln/data/arrow/column.hpp"
#include "kiln/data/arrow/rows.hpp"
#include "kiln/data/dataset.hpp"

namespace kiln {

/// Batches of one type whose columns are the children of a struct. Copies share the batches; the last one calls their
/// `release`, in whatever thread it ends.
class ArrowTable {
 public:
  /// Takes a batch, a struct array, and its schema: both are marked as released, as Arrow's moves do, also if this throws.
  /// Throws ArgumentError for a null pointer and for what was released before; DataError for a schema or an array that
  /// contradicts itself or the other, or whose type is not supported (unions, intervals, run-end encoding, list views);
  /// then everything has been released. How long the buffers are cannot be checked.
  ArrowTable(ArrowSchema* schema, ArrowArray* batch);
  /// Takes all batches of a stream, and releases it. Throws as above, and DataError with the stream's own words.
  explicit ArrowTable(ArrowArrayStream* stream);

  std::int64_t size() const;
  std::vector<std::string> columns() const;
  /// The rows of each batch.
  std::vector<std::int64_t> batches() const;

  /// A column of numbers, [rows], or of lists of one size, [rows, items], and so on. If there is one batch the elements
  /// stay where they are (but truth values, which are bits there, and elements that are not aligned); several are copied
  /// one after the other. Throws DataError if there is no such column, it has texts, structs or other lists, or a null.
  TensorData tensor(std::string_view column) const;

  /// The struct whose children the columns are.
  const arrow::Field& root() const;
  /// The batch in which a row is, and its place there.
  std::pair<const arrow::Column*, std::int64_t> find(std::int64_t row) const;

 private:
  struct Content;
  std::shared_ptr<const Content> content_;
};

/// Each row as a Row, whose fields are numbers, bool, texts, bytes, enums (by name), structs, lists and maps of all these,
/// and optionals of values that may be null. Decimals are read as the nearest doubles, times as the integers that they
/// are stored as, words of a dictionary as what they stand for.
template <class Row>
class ArrowRows final : public Dataset<Row> {
 public:
  /// Columns without a field in Row are ignored. Throws DataError if one is missing or of another kind.
  explicit ArrowRows(ArrowTable table) try : table_(std::move(table)) {
    arrow::find_children<Row>(table_.root(), plan_);
  } catch (...) { rethrow_as_memory_error("an Arrow table"); }
  std::int64_t size() const override { return table_.size(); }

 private:
  Row item(std::int64_t index) const override {
    Row row{};
    const auto [batch, at] = table_.find(index);
    arrow::RowReader(index).read(row, *batch, at, plan_.data());
    return row;
  }
  ArrowTable table_;
  std::vector<std::size_t> plan_;
};

/// Rows are read on access; values that do not fit Row throw a DataError then, with row (from 0) and column.
template <class Row>
DatasetPtr<Row> arrow_rows(ArrowTable table) {
  return share(ArrowRows<Row>(std::move(table)));
}

}  // namespace kiln
