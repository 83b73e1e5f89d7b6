// Tables, read through: row by row as cells and as structs.
#include <map>
#include <optional>

#include "kiln/core/file.hpp"
#include "kiln/data/parquet/parquet.hpp"
#include "kiln/data/table/csv.hpp"
#include "kiln/data/table/lines.hpp"
#include "kiln/data/table/sqlite.hpp"
#include "tests/fuzz/changes.hpp"

namespace kiln::test {
namespace {

constexpr std::int64_t kMostRows = 100;

struct Row {
  std::int64_t id = 0;
  std::string name;
  std::optional<double> score;
};

/// All rows, each as a whole or refused: a damaged cell is none of its neighbours' affair.
template <class T>
void read_rows(const Dataset<T>& rows) {
  Ways ways;
  for (std::int64_t i = 0; i < std::min(rows.size(), kMostRows); ++i)
    ways.take([&] { (void)door([&] { return rows.get(i); }); });
  ways.finish_all();
}

void read_csv(std::span<const std::byte> file) {
  const FileBytes bytes{file, "a.csv", nullptr};
  Ways ways;
  for (const char delimiter : {';', ','})
    ways.take([&] {
      const CsvFile table = door([&] { return CsvFile(bytes, {.delimiter = delimiter}); });
      for (std::int64_t i = 0; i < std::min(table.size(), kMostRows); ++i)
        expect(door([&] { return table.get(i); }).size() == table.width(), "a record is wider than its table");
      read_rows(*csv_rows<Row>(table));
    });
  ways.finish();
}

void read_jsonl(std::span<const std::byte> file) {
  const FileBytes bytes{file, "a.jsonl", nullptr};
  const TextLines lines = door([&] { return TextLines(bytes); });
  for (std::int64_t i = 0; i < std::min(lines.size(), kMostRows); ++i)
    expect(door([&] { return lines.get(i); }).find('\n') == std::string::npos, "a line has two");
  const JsonLines values = door([&] { return JsonLines(bytes); });
  expect(values.size() <= lines.size(), "there are more values than lines");
  read_rows(values);
  read_rows(JsonRows<Row>(values));
}

void read_sqlite(std::span<const std::byte> file) {
  const std::string path = on_disk("table.db", file), name = "t";
  const SqliteTable table = door([&] { return SqliteTable(path, name); });
  for (std::int64_t i = 0; i < std::min(table.size(), kMostRows); ++i)
    expect(door([&] { return table.get(i); }).size() == table.columns().size(), "a row is wider than its table");
  read_rows(*door([&] { return sqlite_rows<Row>(table); }));
}

/// Columns of the files beside the tests of Parquet, and others that files may turn into.
struct Point {
  std::int64_t x = 0;
  std::optional<double> y;
};
struct Nested {
  std::vector<std::vector<std::int32_t>> numbers;
};
struct Named {
  std::map<std::string, std::int64_t> counts;
};

template <class T>
void try_rows(const ParquetFile& file) {
  Ways ways;
  ways.take([&] { read_rows(*door([&] { return parquet_rows<T>(file); })); });
}

void read_parquet(std::span<const std::byte> bytes) {
  const FileBytes contents{bytes, "a.parquet", nullptr};
  const ParquetFile file = door([&] { return ParquetFile(contents, 1 << 20); });
  Ways ways;
  for (std::size_t column = 0; column < file.columns().size(); ++column)
    ways.take([&] {
      (void)door([&] { return file.classes(file.columns()[column].name); });
      for (std::int64_t row = 0; row < std::min(file.size(), kMostRows); row += 15) {
        const ParquetFile::RowPosition position = file.find(row);
        const auto chunk = door([&] { return file.chunk(column, position.group); });
        for (const std::string_view value : chunk->elements.bytes) look_at(std::as_bytes(std::span(value)));
      }
    });
  try_rows<Row>(file);
  try_rows<Point>(file);
  try_rows<Nested>(file);
  try_rows<Named>(file);
}

Files parquet_files() {
  Files files;
  for (const char* name : {"plain", "snappy", "deep_plain", "deep_deltas", "deep_lz4", "gzip2", "hadoop", "old",
                           "two_levels", "summed", "block", "zstd"})
    files.push_back(read_file(text(KILN_PARQUET, "/", name, ".parquet")));
  return files;
}

const Reader kTableReaders[] = {
    {.name = "csv",
     .sound =
         [] {
           return Files{contents_of("id,name,score\r\n1,\"a, \"\"b\"\"\",0.5\r\n2,,\r\n\r\n-3,\"x\ny\",1e300\r\n"),
                        contents_of("\xef\xbb\xbf"
                                    "score;id;name\n+1;9223372036854775807;c\n")};
         },
     .read = read_csv,
     .text = true},
    {.name = "jsonl",
     .sound =
         [] {
           return Files{
               contents_of("{\"id\": 1, \"name\": \"a\\u00e9\"}\n\n{\"id\": -2, \"name\": \"\", \"score\": "
                           "1e3}\r\n{\"id\": 3, \"name\": \"x\", \"score\": null}")};
         },
     .read = read_jsonl,
     .text = true},
    {.name = "sqlite",
     .sound = [] { return Files{read_file(text(KILN_FUZZ_FILES, "/table.db"))}; },
     .read = read_sqlite},
    {.name = "parquet", .sound = parquet_files, .read = read_parquet, .change = change_parquet},
};

}  // namespace

std::span<const Reader> table_readers() { return kTableReaders; }

}  // namespace kiln::test
