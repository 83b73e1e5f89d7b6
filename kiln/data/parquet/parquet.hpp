// Parquet files, such as Hugging Face's data sets, as data sets of structs.
//
//   struct Picture { std::vector<std::byte> bytes; std::optional<std::string> path; };
//   struct Labelled { Picture image; std::int64_t label = 0; };
//   const auto train = parquet_split<Labelled>("downloads/cifar10", "train");
//
// A field is the column of its name; the fields of a nested struct are those of a struct in the file, a std::vector is
// a list of any such type, and a std::map a map. Decimals are read as the nearest doubles, times as the integers that
// they are stored as, or, for the 96-bit times of older writers, as nanoseconds since 1970. All encodings of current
// writers are supported, and all compressions except LZO. Encrypted files, and files whose columns are in other files,
// are not supported.
#pragma once
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/data/dataset.hpp"
#include "kiln/data/parquet/file.hpp"
#include "kiln/data/parquet/rows.hpp"

namespace kiln {

namespace parquet {

/// Is it named after a split, or in a folder of its name?
bool is_of_split(const std::filesystem::path& path, std::string_view split);
/// Throws DataError if there is no file, they are in several folders, or some of those that a name counts are missing.
void require_whole(const std::set<std::filesystem::path>& files, std::string_view directory, std::string_view split);
/// The files of a split: those named after it, or in a folder of its name, by their names.
std::vector<std::string> files_of(const std::filesystem::path& directory, std::string_view split);

}  // namespace parquet

template <class Row>
class ParquetRows final : public Dataset<Row> {
 public:
  /// Columns without a field in Row are ignored, and not decompressed. Throws DataError if one is missing or of another
  /// kind.
  explicit ParquetRows(ParquetFile file) try : file_(std::move(file)) {
    parquet::find_nodes<Row>(file_, "", 0, nodes_);
  } catch (...) { rethrow_as_memory_error("a Parquet file"); }
  std::int64_t size() const override { return file_.size(); }

 private:
  Row item(std::int64_t index) const override {
    Row row{};
    parquet::RowReader(file_, nodes_, index).read(row);
    return row;
  }
  std::vector<Row> items(std::span<const std::int64_t> indices, std::size_t& at) const override {
    std::vector<Row> rows(indices.size());
    if (rows.empty()) return rows;
    // A row group is decompressed once for all of its rows, however few groups are kept.
    const auto order = in_ascending_order(indices);
    at = order.front();
    parquet::RowReader reader(file_, nodes_, indices[at]);
    for (const std::size_t position : order) {
      at = position;
      reader.seek(indices[at]);
      reader.read(rows[at]);
    }
    return rows;
  }
  ParquetFile file_;
  std::vector<parquet::Node> nodes_;
};

/// Rows are read on access; values that do not fit Row throw a DataError then, with file, row (from 0) and column.
/// Fields are numbers, bool, texts, bytes, enums (by name), structs, lists and maps of all these, and optionals of
/// values that may be missing.
template <class Row>
DatasetPtr<Row> parquet_rows(ParquetFile file) {
  return share(ParquetRows<Row>(std::move(file)));
}

/// The rows of all files of a split in the directory and its folders: `train-00000-of-00002.parquet`, as Hugging Face's
/// library names them, or `train/0000.parquet`, as its servers do. Throws DataError if there are none, if some of the
/// files that a name counts are missing, or if files of several folders match.
template <class Row>
DatasetPtr<Row> parquet_split(const std::filesystem::path& directory, std::string_view split) {
  std::vector<DatasetPtr<Row>> parts;
  for (const std::string& path : parquet::files_of(directory, split))
    parts.push_back(parquet_rows<Row>(ParquetFile(path)));
  return share(Concatenated<Row>(std::move(parts)));
}

}  // namespace kiln
