#include "kiln/ops/view/diagonal.hpp"

#include <algorithm>

#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

/// A row of a function of one tensor, whose result's element i is the sum over the operand's elements of those that
/// `goes` sends there.
OpCase sending(std::string name, const Shape& from, const Shape& to, std::function<Value(const Value&)> function,
               std::function<bool(const Dims& from, const Dims& to)> goes) {
  return {.name = std::move(name),
          .operands = {{from}},
          .function = [function](const Values& in) { return Values{function(in[0])}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array result(to);
                each_index(to, [&](const Dims& t) {
                  each_index(from, [&](const Dims& f) {
                    if (goes(f, t)) result(t) += in[0](f);
                  });
                });
                return std::vector<Array>{result};
              }};
}

OpCase masking(std::string name, std::int64_t offset, Value (*function)(const Shape&, const Device&, std::int64_t),
               std::function<bool(std::int64_t, std::int64_t)> is_true) {
  return {.name = std::move(name),
          .operands = {{{3, 4}}},
          .function = [=](const Values& in) { return Values{function({3, 4}, in[0].device(), offset)}; },
          .meaning =
              [=](const std::vector<Array>&) {
                Array result({3, 4});
                each_index({3, 4}, [&](const Dims& i) { result(i) = is_true(i[1], i[0] + offset); });
                return std::vector<Array>{result};
              },
          .gradient = false};
}

std::vector<OpCase> diagonal_rows() {
  std::vector<OpCase> rows;
  for (const std::int64_t offset : {-2, -1, 0, 1, 3, 9}) {
    const std::int64_t count =
        std::vector<std::int64_t>{1, 2, 3, 3, 1, 0}[static_cast<std::size_t>(offset == 9   ? 5
                                                                             : offset == 3 ? 4
                                                                                           : offset + 2)];
    rows.push_back(sending(
        text("diagonal_", offset < 0 ? "below_" : "", offset < 0 ? -offset : offset), {3, 4}, {count},
        [=](const Value& x) { return diagonal(x, offset); },
        [=](const Dims& f, const Dims& t) {
          return f[0] == t[0] - std::min<std::int64_t>(offset, 0) && f[1] == t[0] + std::max<std::int64_t>(offset, 0);
        }));
  }
  rows.push_back(sending(
      "diagonal_of_chosen_dimensions", {3, 2, 4}, {2, 2}, [](const Value& x) { return diagonal(x, 1, 2, 0); },
      [](const Dims& f, const Dims& t) { return f[1] == t[0] && f[2] == t[1] && f[0] == t[1] + 1; }));
  rows.push_back(sending(
      "diag_embed", {2, 3}, {2, 4, 4}, [](const Value& x) { return diag_embed(x, -1); },
      [](const Dims& f, const Dims& t) { return f[0] == t[0] && t[2] == f[1] && t[1] == f[1] + 1; }));
  rows.push_back(sending(
      "diag_embed_in_chosen_dimensions", {2, 3}, {3, 2, 3}, [](const Value& x) { return diag_embed(x, 0, 0, 2); },
      [](const Dims& f, const Dims& t) { return f[0] == t[1] && t[0] == f[1] && t[2] == f[1]; }));
  rows.push_back(sending(
      "diag_of_a_vector", {2}, {4, 4}, [](const Value& x) { return diag(x, 2); },
      [](const Dims& f, const Dims& t) { return t[0] == f[0] && t[1] == f[0] + 2; }));
  rows.push_back(sending(
      "diag_of_a_matrix", {3, 3}, {3}, [](const Value& x) { return diag(x); },
      [](const Dims& f, const Dims& t) { return f[0] == t[0] && f[1] == t[0]; }));
  rows.push_back(sending(
      "trace", {2, 3, 4}, {2}, [](const Value& x) { return trace(x); },
      [](const Dims& f, const Dims& t) { return f[0] == t[0] && f[1] == f[2]; }));
  for (const std::int64_t offset : {-1, 0, 1}) {
    const std::string which = text(offset < 0 ? "below_" : "", offset < 0 ? -offset : offset);
    rows.push_back(sending(
        "triu_" + which, {2, 3, 4}, {2, 3, 4}, [=](const Value& x) { return triu(x, offset); },
        [=](const Dims& f, const Dims& t) { return f == t && t[2] >= t[1] + offset; }));
    rows.push_back(sending(
        "tril_" + which, {4, 3}, {4, 3}, [=](const Value& x) { return tril(x, offset); },
        [=](const Dims& f, const Dims& t) { return f == t && t[1] <= t[0] + offset; }));
  }
  rows.push_back(masking("triu_mask", 1, &triu_mask, [](auto column, auto diagonal) { return column >= diagonal; }));
  rows.push_back(masking("tril_mask", -1, &tril_mask, [](auto column, auto diagonal) { return column <= diagonal; }));
  rows.push_back(masking("diag_mask", 1, &diag_mask, [](auto column, auto diagonal) { return column == diagonal; }));
  return rows;
}

const Family kDiagonals(&diagonal_rows);

}  // namespace
}  // namespace kiln::test
