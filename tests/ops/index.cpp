#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

std::int64_t whole(double x) { return static_cast<std::int64_t>(x); }

std::vector<Row> index_rows() {
  std::vector<Row> rows;
  for (int dim = 0; dim < 2; ++dim) {
    const Shape index_shape = dim == 0 ? Shape{5, 3} : Shape{4, 6};
    const double limit = dim == 0 ? 4 : 3;
    rows.push_back({.name = text("gather_dim_", dim),
                    .operands = {{{4, 3}}, {index_shape, 0, limit, Operand::Index}},
                    .function = [dim](const Values& in) { return Values{gather(in[0], dim, in[1])}; },
                    .meaning =
                        [=](const std::vector<Array>& in) {
                          Array result(index_shape);
                          each_index(index_shape, [&](const Dims& i) {
                            Dims from = i;
                            from[dim] = whole(in[1](i));
                            result(i) = in[0](from);
                          });
                          return std::vector<Array>{result};
                        }});
    rows.push_back({.name = text("scatter_add_dim_", dim),
                    .operands = {{{4, 3}}, {index_shape, 0, limit, Operand::Index}, {index_shape}},
                    .function = [dim](const Values& in) { return Values{scatter_add(in[0], dim, in[1], in[2])}; },
                    .meaning =
                        [=](const std::vector<Array>& in) {
                          Array result = in[0];
                          each_index(index_shape, [&](const Dims& i) {
                            Dims to = i;
                            to[dim] = whole(in[1](i));
                            result(to) += in[2](i);
                          });
                          return std::vector<Array>{result};
                        },
                    .tolerance = 2});
  }
  rows.push_back({.name = "select_rows",
                  .operands = {{{5, 3}}, {{7}, 0, 5, Operand::Index}},
                  .function = [](const Values& in) { return Values{select(in[0], 0, in[1])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result({7, 3});
                        each_index(result.shape,
                                   [&](const Dims& i) { result(i) = in[0]({whole(in[1]({i[0]})), i[1]}); });
                        return std::vector<Array>{result};
                      }});
  rows.push_back({.name = "select_by_a_matrix",
                  .operands = {{{5, 3}}, {{2, 4}, 0, 5, Operand::Index}},
                  .function = [](const Values& in) { return Values{select(in[0], 0, in[1])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result({2, 4, 3});
                        each_index(result.shape,
                                   [&](const Dims& i) { result(i) = in[0]({whole(in[1]({i[0], i[1]})), i[2]}); });
                        return std::vector<Array>{result};
                      }});
  rows.push_back({.name = "select_columns",
                  .operands = {{{2, 4, 2}}, {{3}, 0, 4, Operand::Index}},
                  .function = [](const Values& in) { return Values{select(in[0], 1, in[1])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result({2, 3, 2});
                        each_index(result.shape,
                                   [&](const Dims& i) { result(i) = in[0]({i[0], whole(in[1]({i[1]})), i[2]}); });
                        return std::vector<Array>{result};
                      }});
  rows.push_back({.name = "select_by_nothing",
                  .operands = {{{5, 3}}, {{0}, 0, 5, Operand::Index}},
                  .function = [](const Values& in) { return Values{select(in[0], 0, in[1])}; },
                  .meaning = [](const std::vector<Array>&) { return std::vector<Array>{Array({0, 3})}; }});
  rows.push_back({.name = "select_add_rows",
                  .operands = {{{5, 3}}, {{7}, 0, 5, Operand::Index}, {{7, 3}}},
                  .function = [](const Values& in) { return Values{select_add(in[0], 0, in[1], in[2])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        each_index({7, 3}, [&](const Dims& i) { result({whole(in[1]({i[0]})), i[1]}) += in[2](i); });
                        return std::vector<Array>{result};
                      },
                  .tolerance = 2});
  rows.push_back({.name = "select_add_columns",
                  .operands = {{{2, 3, 2}}, {{4}, 0, 3, Operand::Index}, {{2, 4, 2}}},
                  .function = [](const Values& in) { return Values{select_add(in[0], 1, in[1], in[2])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        each_index({2, 4, 2},
                                   [&](const Dims& i) { result({i[0], whole(in[1]({i[1]})), i[2]}) += in[2](i); });
                        return std::vector<Array>{result};
                      },
                  .tolerance = 2});
  rows.push_back({.name = "one_hot",
                  .operands = {{{2, 3}, 0, 6, Operand::Index}},
                  .function = [](const Values& in) { return Values{one_hot(in[0], 5)}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result({2, 3, 5});
                        each_index({2, 3}, [&](const Dims& i) {
                          if (in[0](i) < 5) result({i[0], i[1], whole(in[0](i))}) = 1;
                        });
                        return std::vector<Array>{result};
                      },
                  .gradient = false});
  return rows;
}

const Family index(&index_rows);

}  // namespace
}  // namespace kiln::test
