#include "kiln/onnx/table.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace kiln::onnx {

// One for each file in operators/: domain, name.
// clang-format off
#define KILN_ONNX_FAMILIES(X)                                                                                    \
  X("", elementwise) X("", logic) X("", activation) X("", reduce) X("", view) X("", pad) X("", index)            \
  X("", product) X("", spatial) X("", pool) X("", resample) X("", sample) X("", create) X("", random) X("", norm)               \
  X("", recurrent) X("", attention) X("", loss) X("", signal) X("", quantize) X("", cast) X("", text)            \
  X("", containers) X("", control) X("", detection) X("", image)                                                 \
  X("ai.onnx.ml", encoders) X("ai.onnx.ml", models) X("ai.onnx.ml", trees)                                       \
  X("com.microsoft", fused) X("com.microsoft", fused_attention) X("com.microsoft", grouped_attention)            \
  X("com.microsoft", quantized)                                                                                  \
  X("ai.onnx.preview", preview) X("ai.onnx.preview.training", training)
// clang-format on

#define KILN_ONNX_ROWS(domain, family) std::span<const OperatorRow> family##_rows();
KILN_ONNX_FAMILIES(KILN_ONNX_ROWS)
#undef KILN_ONNX_ROWS

std::span<const Family> families() {
  static const std::vector<Family> list = {
#define KILN_ONNX_ROWS(domain, family) Family{domain, #family, family##_rows()},
      KILN_ONNX_FAMILIES(KILN_ONNX_ROWS)
#undef KILN_ONNX_ROWS
  };
  return list;
}

namespace {

using Key = std::pair<std::string_view, std::string_view>;
const std::map<Key, std::vector<const OperatorRow*>>& rows_by_name() {
  static const auto index = [] {
    std::map<Key, std::vector<const OperatorRow*>> rows;
    for (const Family& family : families())
      for (const OperatorRow& row : family.rows) rows[{family.domain, row.name}].push_back(&row);
    return rows;
  }();
  return index;
}

}  // namespace

const OperatorRow* find_row(std::string_view domain, std::string_view op, std::int64_t version) {
  const auto found = rows_by_name().find({domain, op});
  if (found == rows_by_name().end()) return nullptr;
  for (const OperatorRow* row : found->second)
    if (row->since <= version && version <= row->traits.until) return row;
  return nullptr;
}

const OperatorRow* find_row(const decltype(KilnFunction::fn)& function, std::int64_t version) {
  for (const Family& family : families())
    for (const OperatorRow& row : family.rows)
      if (family.domain.empty() && row.traits.function.fn == function && row.since <= version &&
          version <= row.traits.until)
        return &row;
  return nullptr;
}

int newest_version(std::string_view domain) {
  if (domain.empty()) return kNewestOpset;
  if (domain == "ai.onnx.ml") return 5;
  if (domain == "com.microsoft" || domain == "ai.onnx.preview" || domain == "ai.onnx.preview.training") return 1;
  return 0;
}

std::string operator_table() {
  std::string out = "| operator | domain | operator sets | family |\n|---|---|---|---|\n";
  std::map<Key, std::string> lines;
  for (const Family& family : families())
    for (const OperatorRow& row : family.rows) {
      const int newest = newest_version(family.domain);
      const std::string versions =
          row.traits.until < newest ? text(row.since, " to ", row.traits.until) : text("from ", row.since);
      std::string& line = lines[{family.domain, row.name}];
      line = text("| ", row.name, " | ", family.domain.empty() ? "ai.onnx" : family.domain, " | ", versions, " | ",
                  family.name, " |\n");
    }
  for (const auto& [key, line] : lines) out += line;
  return out;
}

}  // namespace kiln::onnx
