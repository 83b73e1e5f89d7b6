#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

Array joined(const std::vector<Array>& parts, int dim) {
  Shape shape = parts[0].shape;
  shape[dim] = 0;
  for (const Array& part : parts) shape[dim] += part.shape[dim];
  Array result(shape);
  std::int64_t start = 0;
  for (const Array& part : parts) {
    each_index(part.shape, [&](Dims index) {
      const double value = part(index);
      index[dim] += start;
      result(index) = value;
    });
    start += part.shape[dim];
  }
  return result;
}

std::vector<Row> assemble_rows() {
  std::vector<Row> rows;
  rows.push_back({.name = "cat_rows",
                  .operands = {{{2, 3}}, {{0, 3}}, {{4, 3}}},
                  .function = [](const Values& in) { return Values{cat(in, 0)}; },
                  .meaning = [](const std::vector<Array>& in) { return std::vector<Array>{joined(in, 0)}; }});
  rows.push_back({.name = "cat_columns",
                  .operands = {{{2, 3, 2}}, {{2, 1, 2}}},
                  .function = [](const Values& in) { return Values{cat(in, -2)}; },
                  .meaning = [](const std::vector<Array>& in) { return std::vector<Array>{joined(in, 1)}; }});
  rows.push_back({.name = "cat_of_one",
                  .operands = {{{2, 3}}},
                  .function = [](const Values& in) { return Values{cat(in, 1)}; },
                  .meaning = [](const std::vector<Array>& in) { return in; }});
  rows.push_back({.name = "stack",
                  .operands = {{{2, 3}}, {{2, 3}}},
                  .function = [](const Values& in) { return Values{stack(in, 1)}; },
                  .meaning =
                      [](std::vector<Array> in) {
                        for (Array& part : in) part.shape = {2, 1, 3};
                        return std::vector<Array>{joined(in, 1)};
                      }});
  rows.push_back({.name = "split",
                  .operands = {{{5, 2}}},
                  .function = [](const Values& in) { return split(in[0], 2, 0); },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        std::vector<Array> parts = {Array({2, 2}), Array({2, 2}), Array({1, 2})};
                        each_index({5, 2}, [&](const Dims& i) {
                          parts[static_cast<std::size_t>(i[0] / 2)]({i[0] % 2, i[1]}) = in[0](i);
                        });
                        return parts;
                      }});
  rows.push_back({.name = "pad",
                  .operands = {{{2, 3}}},
                  .function = [](const Values& in) { return Values{pad(in[0], {1, 0}, {0, 2}, 7.0)}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result({3, 5}, 7);
                        each_index({2, 3}, [&](const Dims& i) { result({i[0] + 1, i[1]}) = in[0](i); });
                        return std::vector<Array>{result};
                      }});
  return rows;
}

const Family assemble(&assemble_rows);

}  // namespace
}  // namespace kiln::test
