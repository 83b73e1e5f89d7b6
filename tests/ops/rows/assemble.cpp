#include "kiln/ops/view/assemble.hpp"
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

/// A row of a function that joins parts, which stand for tensors of the shapes given, along `dim`.
OpCase joining(std::string name, const std::vector<Shape>& shapes, const std::vector<Shape>& seen_as, int dim,
               std::function<Value(Inputs)> function) {
  OpCase row{.name = std::move(name),
             .operands = {},
             .function = [=](const Values& in) { return Values{function(in)}; },
             .meaning =
                 [=](std::vector<Array> in) {
                   for (std::size_t i = 0; i < in.size(); ++i) in[i].shape = seen_as[i];
                   return std::vector<Array>{joined(in, dim)};
                 }};
  for (const Shape& shape : shapes) row.operands.push_back({shape});
  return row;
}

/// A row of pad with a mode: element i of the result is element source(i - before) of each dimension.
OpCase padding(std::string name, PadMode mode, std::function<std::int64_t(std::int64_t, std::int64_t)> source) {
  return {.name = std::move(name),
          .operands = {{{2, 4, 3}}},
          .function = [=](const Values& in) { return Values{pad(in[0], {0, 3, 1}, {0, 2, 2}, mode)}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array result({2, 9, 6});
                each_index(result.shape, [&](const Dims& i) {
                  const std::int64_t j = source(i[1] - 3, 4), k = source(i[2] - 1, 3);
                  result(i) = j < 0 || k < 0 ? 0 : in[0]({i[0], j, k});
                });
                return std::vector<Array>{result};
              }};
}

std::vector<OpCase> pad_rows() {
  return {
      padding("pad_constant", PadMode::Constant,
              [](std::int64_t i, std::int64_t size) { return 0 <= i && i < size ? i : -1; }),
      padding("pad_reflect", PadMode::Reflect,
              [](std::int64_t i, std::int64_t size) { return i < 0      ? -i
                                                             : i < size ? i
                                                                        : 2 * size - 2 - i; }),
      padding("pad_edge", PadMode::Edge,
              [](std::int64_t i, std::int64_t size) { return i < 0      ? 0
                                                             : i < size ? i
                                                                        : size - 1; }),
      padding("pad_circular", PadMode::Circular, [](std::int64_t i, std::int64_t size) { return (i + size) % size; })};
}

std::vector<OpCase> grid_rows() {
  std::vector<OpCase> rows;
  rows.push_back({.name = "meshgrid",
                  .operands = {{{2}}, {{3}}, {{4}}},
                  .function = [](const Values& in) { return meshgrid(in); },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        std::vector<Array> grids(3, Array({2, 3, 4}));
                        each_index({2, 3, 4}, [&](const Dims& i) {
                          for (int k = 0; k < 3; ++k)
                            grids[static_cast<std::size_t>(k)](i) = in[static_cast<std::size_t>(k)]({i[k]});
                        });
                        return grids;
                      }});
  rows.push_back({.name = "meshgrid_stack_of_x_and_y",
                  .operands = {{{2}}, {{3}}},
                  .function = [](const Values& in) { return Values{meshgrid_stack(in, GridOrder::XY)}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array grid({3, 2, 2});
                        each_index({3, 2}, [&](const Dims& i) {
                          grid({i[0], i[1], 0}) = in[0]({i[1]});
                          grid({i[0], i[1], 1}) = in[1]({i[0]});
                        });
                        return std::vector<Array>{grid};
                      }});
  rows.push_back({.name = "cartesian_grid",
                  .operands = {{{2, 3}}},
                  .function = [](const Values& in) { return Values{cartesian_grid(in[0].shape(), in[0].device())}; },
                  .meaning =
                      [](const std::vector<Array>&) {
                        Array grid({2, 3, 2});
                        each_index(grid.shape, [&](const Dims& i) { grid(i) = static_cast<double>(i[i[2] ? 1 : 0]); });
                        return std::vector<Array>{grid};
                      },
                  .gradient = false});
  rows.push_back({.name = "cartesian_prod",
                  .operands = {{{2}}, {{3}}},
                  .function = [](const Values& in) { return Values{cartesian_prod(in)}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result({6, 2});
                        for (std::int64_t i = 0; i < 6; ++i) {
                          result({i, 0}) = in[0]({i / 3});
                          result({i, 1}) = in[1]({i % 3});
                        }
                        return std::vector<Array>{result};
                      }});
  for (const bool again : {false, true})
    rows.push_back({.name = again ? "combinations_with_repetition" : "combinations",
                    .operands = {{{5}}},
                    .function = [again](const Values& in) { return Values{combinations(in[0], 3, again)}; },
                    .meaning =
                        [again](const std::vector<Array>& in) {
                          std::vector<double> numbers;
                          const std::int64_t skip = again ? 0 : 1;
                          for (std::int64_t i = 0; i < 5; ++i)
                            for (std::int64_t j = i + skip; j < 5; ++j)
                              for (std::int64_t k = j + skip; k < 5; ++k)
                                for (const std::int64_t at : {i, j, k}) numbers.push_back(in[0]({at}));
                          Array result({static_cast<std::int64_t>(numbers.size()) / 3, 3});
                          result.v = numbers;
                          return std::vector<Array>{result};
                        }});
  return rows;
}

std::vector<OpCase> assemble_rows() {
  std::vector<OpCase> rows;
  rows.push_back(joining("hstack", {{2, 1}, {2, 3}}, {{2, 1}, {2, 3}}, 1, &hstack));
  rows.push_back(joining("hstack_of_vectors", {{2}, {}}, {{2}, {1}}, 0, &hstack));
  rows.push_back(joining("vstack", {{3}, {2, 3}}, {{1, 3}, {2, 3}}, 0, &vstack));
  rows.push_back(joining("dstack", {{2, 3}, {2, 3, 2}}, {{2, 3, 1}, {2, 3, 2}}, 2, &dstack));
  rows.push_back(joining("dstack_of_vectors", {{3}, {3}}, {{1, 3, 1}, {1, 3, 1}}, 2, &dstack));
  rows.push_back({.name = "block_diag",
                  .operands = {{{2, 1}}, {{0, 2}}, {{1, 3}}},
                  .function = [](const Values& in) { return Values{block_diag(in)}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result({3, 6});
                        each_index({2, 1}, [&](const Dims& i) { result(i) = in[0](i); });
                        each_index({1, 3}, [&](const Dims& i) { result({2, i[1] + 3}) = in[2](i); });
                        return std::vector<Array>{result};
                      }});
  rows.push_back({.name = "cat_rows",
                  .operands = {{{2, 3}}, {{0, 3}}, {{4, 3}}},
                  .function = [](const Values& in) { return Values{cat(in, 0)}; },
                  .meaning = [](const std::vector<Array>& in) { return std::vector<Array>{joined(in, 0)}; }});
  rows.push_back({.name = "cat_columns",
                  .operands = {{{2, 3, 2}}, {{2, 1, 2}}},
                  .function = [](const Values& in) { return Values{cat(in, -2)}; },
                  .meaning = [](const std::vector<Array>& in) { return std::vector<Array>{joined(in, 1)}; }});
  for (const Shape& shape : {Shape{4, 300}, Shape{3, 7, 2}, Shape{2, 3, 1, 5}}) {
    const int dim = shape.size() == 2 ? 1 : shape.size() - 2 - (shape.size() == 4);
    rows.push_back({.name = text("cat_of_slices_", shape.size()),
                    .operands = {{shape}},
                    .function =
                        [=](const Values& in) {
                          const Value last = narrow(in[0], dim, 2, shape[dim] - 2), first = narrow(in[0], dim, 0, 2);
                          return Values{cat(Values{last, first}, dim)};
                        },
                    .meaning =
                        [=](const std::vector<Array>& in) {
                          Array result(shape);
                          each_index(shape, [&](const Dims& to) {
                            Dims from = to;
                            from[dim] = (to[dim] + 2) % shape[dim];
                            result(to) = in[0](from);
                          });
                          return std::vector<Array>{result};
                        }});
  }
  rows.push_back({.name = "cat_of_one",
                  .operands = {{{2, 3}}},
                  .function = [](const Values& in) { return Values{cat(in, 1)}; },
                  .meaning = [](const std::vector<Array>& in) { return in; }});
  const auto all_of = [](std::vector<Array> in) {
    for (Array& part : in) part.shape = {kiln::numel(part.shape)};
    return std::vector<Array>{joined(in, 0)};
  };
  rows.push_back({.name = "ravel",
                  .operands = {{{2, 3}}, {{}}, {{0, 3}}, {{4, 1, 2}}},
                  .function = [](const Values& in) { return Values{ravel(in, in[0].dtype())}; },
                  .meaning = all_of});
  rows.push_back({.name = "ravel_of_one",
                  .operands = {{{2, 3}}},
                  .function = [](const Values& in) { return Values{ravel(in, in[0].dtype())}; },
                  .meaning = all_of});
  rows.push_back({.name = "ravel_of_several_types",
                  .operands = {{{2, 8}},
                               {{4, 2}, -9, 9, OperandSpec::Index},
                               {{3}, 0, 100, OperandSpec::Index},
                               {{16}, 0, 1, OperandSpec::Flag},
                               {{5, 4}}},
                  .function = [](const Values& in) { return Values{ravel(in, in[0].dtype())}; },
                  .meaning = all_of});
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

const Family kAssemble(&assemble_rows), kPads(&pad_rows), kGrids(&grid_rows);

}  // namespace
}  // namespace kiln::test
