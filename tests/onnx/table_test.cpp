#include "kiln/onnx/table.hpp"

#include <gtest/gtest.h>

#include "kiln/core/file.hpp"

namespace kiln::onnx {
namespace {

TEST(Table, ARowHoldsInItsVersions) {
  EXPECT_NE(find_row("", "Relu", 1), nullptr);
  EXPECT_NE(find_row("", "Upsample", 9), nullptr);
  EXPECT_EQ(find_row("", "Upsample", 10), nullptr);
  EXPECT_EQ(find_row("", "Gelu", 19), nullptr);
  EXPECT_NE(find_row("", "Gelu", 20), nullptr);
  EXPECT_NE(find_row("ai.onnx.ml", "Scaler", 1), nullptr);
  EXPECT_EQ(find_row("", "Scaler", 1), nullptr);
}

TEST(Table, RowsOfOneOperatorDoNotOverlap) {
  for (const Family& family : families())
    for (const Row& row : family.rows)
      for (int version = 1; version <= newest_version(family.domain); ++version) {
        const bool inside = row.since <= version && version <= row.until;
        if (inside) { EXPECT_EQ(find_row(family.domain, row.name, version), &row) << row.name << ' ' << version; }
      }
}

TEST(Table, TheDocumentationListsWhatThereIs) {
  const std::string page = read_text_file(std::string(KILN_SOURCE_DIR) + "/docs/onnx.md");
  const std::size_t from = page.find("| operator | domain |");
  ASSERT_NE(from, page.npos);
  EXPECT_EQ(page.substr(from), operator_table()) << "bin/onnx_backend_tests --table writes it";
}

}  // namespace
}  // namespace kiln::onnx
