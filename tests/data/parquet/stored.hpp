// Parquet files that lie beside the tests, whole and damaged.
#pragma once
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/core/file.hpp"
#include "kiln/data/parquet/parquet.hpp"
#include "tests/data/damaged.hpp"

namespace kiln::test {

inline std::string stored(const std::string& name) { return text(KILN_PARQUET, "/", name, ".parquet"); }

/// Reads all rows of `count` damaged files: each is read, or refused by a sentence about it. More than so many must be each.
template <class Row>
void read_damaged(const std::vector<std::string>& names, std::uint64_t count, std::uint64_t least_read,
                  std::uint64_t least_refused) {
  std::vector<std::vector<std::byte>> files;
  for (const std::string& name : names) files.push_back(read_file(stored(name)));
  std::uint64_t read = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    Random random(seed);
    const auto bytes = damaged(files[seed % files.size()], random);
    try {
      const auto rows = parquet_rows<Row>(ParquetFile(FileBytes{bytes, "damaged", nullptr}));
      for (std::int64_t i = 0; i < std::min<std::int64_t>(rows->size(), 100); ++i) rows->get(i);
      ++read;
    } catch (const DataError& error) {
      EXPECT_TRUE(error.message().starts_with("damaged")) << error.message();
      ++refused;
    }
  }
  EXPECT_GT(read, least_read);
  EXPECT_GT(refused, least_refused);
}

}  // namespace kiln::test
