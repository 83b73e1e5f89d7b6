#include <algorithm>

#include "kiln/ops/index/index.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

std::int64_t whole(double x) { return static_cast<std::int64_t>(x); }

double updated(Update update, double old, double written) {
  switch (update) {
    case Update::Assign: return written;
    case Update::Add: return old + written;
    case Update::Mul: return old * written;
    case Update::Min: return std::min(old, written);
    case Update::Max: return std::max(old, written);
  }
  return 0;
}

constexpr std::pair<Update, const char*> kUpdates[] = {
    {Update::Assign, "assign"}, {Update::Add, "add"}, {Update::Mul, "mul"}, {Update::Min, "min"}, {Update::Max, "max"}};

/// A row of a function that updates its first operand by its third at places that its second names.
OpCase updating(std::string name, const Shape& x, OperandSpec index, const Shape& source,
                std::function<Value(const Values&)> function, Update update,
                std::function<Dims(const Array& index, const Dims& at)> place) {
  return {.name = std::move(name),
          .operands = {{x}, index, {source}},
          .function = [=](const Values& in) { return Values{function(in)}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array result = in[0];
                each_index(source, [&](const Dims& i) {
                  double& element = result(place(in[1], i));
                  element = updated(update, element, in[2](i));
                });
                return std::vector<Array>{result};
              },
          .tolerance = update == Update::Mul ? 8.0 : 2.0};
}

/// A row of a function that reads its first operand at places that its second names.
OpCase reading(std::string name, const Shape& x, OperandSpec index, const Shape& to,
               std::function<Value(const Values&)> function,
               std::function<Dims(const Array& index, const Dims& at)> place) {
  return {.name = std::move(name),
          .operands = {{x}, index},
          .function = [=](const Values& in) { return Values{function(in)}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array result(to);
                each_index(to, [&](const Dims& i) { result(i) = in[0](place(in[1], i)); });
                return std::vector<Array>{result};
              }};
}

std::int64_t wrapped(double index, std::int64_t size) { return whole(index) < 0 ? whole(index) + size : whole(index); }

std::vector<OpCase> update_rows() {
  std::vector<OpCase> rows;
  for (const auto& [update, name] : kUpdates) {
    const Update mode = update;
    rows.push_back(updating(
        text("scatter_", name, "_rows"), {4, 3}, {{6, 2}, 0, 4, OperandSpec::Index}, {6, 2},
        [mode](const Values& in) { return scatter(in[0], 0, in[1], in[2], mode); }, mode,
        [](const Array& index, const Dims& i) { return Dims{whole(index(i)), i[1]}; }));
    rows.push_back(updating(
        text("scatter_", name, "_columns"), {2, 3, 2}, {{2, 5, 2}, 0, 3, OperandSpec::Index}, {2, 5, 2},
        [mode](const Values& in) { return scatter(in[0], -2, in[1], in[2], mode); }, mode,
        [](const Array& index, const Dims& i) { return Dims{i[0], whole(index(i)), i[2]}; }));
    rows.push_back(updating(
        text("scatter_", name, "_vector"), {5}, {{9}, 0, 5, OperandSpec::Index}, {9},
        [mode](const Values& in) { return scatter(in[0], 0, in[1], in[2], mode); }, mode,
        [](const Array& index, const Dims& i) { return Dims{whole(index(i))}; }));
    rows.push_back(updating(
        text("select_assign_", name, "_rows"), {4, 3}, {{2, 3}, 0, 4, OperandSpec::Index}, {2, 3, 3},
        [mode](const Values& in) { return select_assign(in[0], 0, in[1], in[2], mode); }, mode,
        [](const Array& index, const Dims& i) { return Dims{whole(index({i[0], i[1]})), i[2]}; }));
    rows.push_back(updating(
        text("select_assign_", name, "_columns"), {2, 3}, {{5}, 0, 3, OperandSpec::Index}, {2, 5},
        [mode](const Values& in) { return select_assign(in[0], 1, in[1], in[2], mode); }, mode,
        [](const Array& index, const Dims& i) { return Dims{i[0], whole(index({i[1]}))}; }));
    rows.push_back(updating(
        text("scatter_nd_", name), {3, 2, 2}, {{5, 2}, -2, 2, OperandSpec::Index}, {5, 2},
        [mode](const Values& in) { return scatter_nd(in[0], in[1], in[2], mode); }, mode,
        [](const Array& index, const Dims& i) {
          return Dims{wrapped(index({i[0], 0}), 3), wrapped(index({i[0], 1}), 2), i[1]};
        }));
  }
  rows.push_back(updating(
      "index_add", {4, 2}, {{3}, 0, 4, OperandSpec::Index}, {3, 2},
      [](const Values& in) { return index_add(in[0], 0, in[1], in[2]); }, Update::Add,
      [](const Array& index, const Dims& i) { return Dims{whole(index({i[0]})), i[1]}; }));
  rows.push_back(updating(
      "index_copy", {4, 2}, {{3}, 0, 4, OperandSpec::Index}, {3, 2},
      [](const Values& in) { return index_copy(in[0], 0, in[1], in[2]); }, Update::Assign,
      [](const Array& index, const Dims& i) { return Dims{whole(index({i[0]})), i[1]}; }));
  rows.push_back({.name = "index_fill",
                  .operands = {{{4, 3}}, {{2}, 0, 3, OperandSpec::Index}},
                  .function = [](const Values& in) { return Values{index_fill(in[0], 1, in[1], 0.5)}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        each_index({4, 2}, [&](const Dims& i) { result({i[0], whole(in[1]({i[1]}))}) = 0.5; });
                        return std::vector<Array>{result};
                      }});
  // NumPy's x[i, :, j] = source, whose indexed dimensions go to the front.
  rows.push_back(
      {.name = "index_put_apart",
       .operands = {{{3, 2, 4}}, {{2, 1}, -3, 3, OperandSpec::Index}, {{3}, -4, 4, OperandSpec::Index}, {{2, 3, 1}}},
       .function =
           [](const Values& in) { return Values{index_put(in[0], Values{in[1], Value(), in[2]}, in[3], Update::Add)}; },
       .meaning =
           [](const std::vector<Array>& in) {
             Array result = in[0];
             each_index({2, 3, 2}, [&](const Dims& i) {
               result({wrapped(in[1]({i[0], 0}), 3), i[2], wrapped(in[2]({i[1]}), 4)}) += in[3]({i[0], i[1], 0});
             });
             return std::vector<Array>{result};
           },
       .tolerance = 2});
  rows.push_back(
      {.name = "index_put_neighbours",
       .operands = {{{2, 3, 4}}, {{5}, -3, 3, OperandSpec::Index}, {{5}, -4, 4, OperandSpec::Index}, {{5}}},
       .function = [](const Values& in) { return Values{index_put(in[0], Values{Value(), in[1], in[2]}, in[3])}; },
       .meaning =
           [](const std::vector<Array>& in) {
             Array result = in[0];
             each_index({2, 5}, [&](const Dims& i) {
               result({i[0], wrapped(in[1]({i[1]}), 3), wrapped(in[2]({i[1]}), 4)}) = in[3]({i[1]});
             });
             return std::vector<Array>{result};
           }});
  return rows;
}

std::vector<OpCase> read_rows() {
  std::vector<OpCase> rows;
  rows.push_back(reading(
      "index_select", {4, 2}, {{3}, 0, 4, OperandSpec::Index}, {3, 2},
      [](const Values& in) { return index_select(in[0], 0, in[1]); },
      [](const Array& index, const Dims& i) { return Dims{whole(index({i[0]})), i[1]}; }));
  rows.push_back(reading(
      "take", {2, 3}, {{4, 2}, -6, 6, OperandSpec::Index}, {4, 2}, [](const Values& in) { return take(in[0], in[1]); },
      [](const Array& index, const Dims& i) {
        const std::int64_t at = wrapped(index(i), 6);
        return Dims{at / 3, at % 3};
      }));
  rows.push_back(reading(
      "take_along_dim", {1, 4, 2}, {{3, 5, 1}, -4, 4, OperandSpec::Index}, {3, 5, 2},
      [](const Values& in) { return take_along_dim(in[0], in[1], 1); },
      [](const Array& index, const Dims& i) { return Dims{0, wrapped(index({i[0], i[1], 0}), 4), i[2]}; }));
  rows.push_back(reading(
      "gather_nd", {3, 2, 4}, {{2, 5, 2}, -2, 2, OperandSpec::Index}, {2, 5, 4},
      [](const Values& in) { return gather_nd(in[0], in[1]); },
      [](const Array& index, const Dims& i) {
        return Dims{wrapped(index({i[0], i[1], 0}), 3), wrapped(index({i[0], i[1], 1}), 2), i[2]};
      }));
  rows.push_back(reading(
      "gather_nd_of_elements", {3, 2}, {{4, 2}, 0, 2, OperandSpec::Index}, {4},
      [](const Values& in) { return gather_nd(in[0], in[1]); },
      [](const Array& index, const Dims& i) { return Dims{whole(index({i[0], 0})), whole(index({i[0], 1}))}; }));
  rows.push_back(reading(
      "index_get_inside", {3, 4, 2}, {{2, 3}, -4, 4, OperandSpec::Index}, {3, 2, 3, 2},
      [](const Values& in) { return index_get(in[0], Values{Value(), in[1]}); },
      [](const Array& index, const Dims& i) { return Dims{i[0], wrapped(index({i[1], i[2]}), 4), i[3]}; }));
  rows.push_back({.name = "index_get_apart",
                  .operands = {{{3, 2, 4}}, {{2, 1}, -3, 3, OperandSpec::Index}, {{3}, -4, 4, OperandSpec::Index}},
                  .function = [](const Values& in) { return Values{index_get(in[0], Values{in[1], Value(), in[2]})}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result({2, 3, 2});
                        each_index(result.shape, [&](const Dims& i) {
                          result(i) = in[0]({wrapped(in[1]({i[0], 0}), 3), i[2], wrapped(in[2]({i[1]}), 4)});
                        });
                        return std::vector<Array>{result};
                      }});
  rows.push_back({.name = "ravel_index",
                  .operands = {{{2, 1}, -3, 3, OperandSpec::Index}, {{4}, -5, 5, OperandSpec::Index}},
                  .function = [](const Values& in) { return Values{ravel_index(in, {3, 5})}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result({2, 4});
                        each_index(result.shape, [&](const Dims& i) {
                          result(i) = static_cast<double>(wrapped(in[0]({i[0], 0}), 3) * 5 + wrapped(in[1]({i[1]}), 5));
                        });
                        return std::vector<Array>{result};
                      },
                  .gradient = false});
  rows.push_back({.name = "unravel_index",
                  .operands = {{{7}, -24, 24, OperandSpec::Index}},
                  .function = [](const Values& in) { return unravel_index(in[0], {2, 3, 4}); },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        std::vector<Array> result(3, Array({7}));
                        each_index({7}, [&](const Dims& i) {
                          const std::int64_t at = wrapped(in[0](i), 24);
                          const std::int64_t places[] = {at / 12, at / 4 % 3, at % 4};
                          for (std::size_t d = 0; d < 3; ++d) result[d](i) = static_cast<double>(places[d]);
                        });
                        return result;
                      },
                  .gradient = false});
  return rows;
}

/// The indices at which `mask` is true.
std::vector<Dims> places(const Array& mask) {
  std::vector<Dims> found;
  each_index(mask.shape, [&](const Dims& i) {
    if (mask(i) != 0) found.push_back(i);
  });
  return found;
}

std::int64_t size_of_list(const std::vector<Dims>& list) { return static_cast<std::int64_t>(list.size()); }

std::vector<OpCase> mask_rows() {
  std::vector<OpCase> rows;
  const OperandSpec mask{{3, 4}, 0, 2, OperandSpec::Flag};
  rows.push_back({.name = "flat_nonzero",
                  .operands = {mask},
                  .function = [](const Values& in) { return Values{flat_nonzero(in[0])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result({size_of_list(places(in[0]))});
                        std::int64_t k = 0;
                        for (const Dims& i : places(in[0])) result({k++}) = static_cast<double>(in[0].offset(i));
                        return std::vector<Array>{result};
                      },
                  .gradient = false});
  rows.push_back({.name = "nonzero_and_argwhere",
                  .operands = {{{2, 3, 2}, -2, 2, OperandSpec::Index}},
                  .function =
                      [](const Values& in) {
                        Values results = nonzero(in[0]);
                        results.push_back(argwhere(in[0]));
                        return results;
                      },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        const std::vector<Dims> found = places(in[0]);
                        std::vector<Array> results(3, Array({size_of_list(found)}));
                        results.push_back(Array({size_of_list(found), 3}));
                        for (std::int64_t k = 0; k < size_of_list(found); ++k)
                          for (int d = 0; d < 3; ++d) {
                            const auto value = static_cast<double>(found[static_cast<std::size_t>(k)][d]);
                            results[static_cast<std::size_t>(d)]({k}) = value;
                            results[3]({k, d}) = value;
                          }
                        return results;
                      },
                  .gradient = false});
  rows.push_back({.name = "mask_select",
                  .operands = {{{3, 4}}, mask},
                  .function = [](const Values& in) { return Values{mask_select(in[0], in[1])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result({size_of_list(places(in[1]))});
                        std::int64_t k = 0;
                        for (const Dims& i : places(in[1])) result({k++}) = in[0](i);
                        return std::vector<Array>{result};
                      }});
  rows.push_back({.name = "mask_where",
                  .operands = {{{3, 4}}, {{3, 1}, 0, 2, OperandSpec::Flag}, {{4}}},
                  .function = [](const Values& in) { return Values{mask_where(in[0], in[1], in[2])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        each_index({3, 4}, [&](const Dims& i) {
                          if (in[1]({i[0], 0}) != 0) result(i) = in[2]({i[1]});
                        });
                        return std::vector<Array>{result};
                      }});
  rows.push_back({.name = "mask_fill",
                  .operands = {{{3, 4}}, mask},
                  .function = [](const Values& in) { return Values{mask_fill(in[0], in[1], 9)}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        for (const Dims& i : places(in[1])) result(i) = 9;
                        return std::vector<Array>{result};
                      }});
  rows.push_back({.name = "masked_scatter",
                  .operands = {{{3, 4}}, mask, {{2, 7}}},
                  .function = [](const Values& in) { return Values{masked_scatter(in[0], in[1], in[2])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        std::size_t k = 0;
                        for (const Dims& i : places(in[1])) result(i) = in[2].v[k++];
                        return std::vector<Array>{result};
                      }});
  rows.push_back({.name = "mask_assign_of_rows",
                  .operands = {{{3, 4, 2}}, mask, {{2}}},
                  .function = [](const Values& in) { return Values{mask_assign(in[0], in[1], in[2])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        for (const Dims& i : places(in[1]))
                          for (std::int64_t k = 0; k < 2; ++k) result({i[0], i[1], k}) = in[2]({k});
                        return std::vector<Array>{result};
                      }});
  rows.push_back({.name = "mask_assign_of_a_list",
                  .operands = {{{5, 2}}, {{5}, 1, 2, OperandSpec::Index}, {{5, 2}}},
                  .function = [](const Values& in) { return Values{mask_assign(in[0], gt(in[1], 0), in[2])}; },
                  .meaning = [](const std::vector<Array>& in) { return std::vector<Array>{in[2]}; }});
  rows.push_back({.name = "index_get_by_a_mask",
                  .operands = {{{4, 2, 3}}, {{4, 2}, 0, 2, OperandSpec::Flag}},
                  .function = [](const Values& in) { return Values{index_get(in[0], Values{in[1]})}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        const std::vector<Dims> found = places(in[1]);
                        Array result({size_of_list(found), 3});
                        each_index(result.shape, [&](const Dims& i) {
                          const Dims& at = found[static_cast<std::size_t>(i[0])];
                          result(i) = in[0]({at[0], at[1], i[1]});
                        });
                        return std::vector<Array>{result};
                      }});
  for (const int dim : {0, 1, -1})
    rows.push_back({.name = text("one_hot_fill_", dim + 1),
                    .operands = {{{2, 3}, -1, 6, OperandSpec::Index}},
                    .function = [dim](const Values& in) { return Values{one_hot_fill(in[0], 5, 0.5, -2, dim)}; },
                    .meaning =
                        [dim](const std::vector<Array>& in) {
                          Shape shape{2, 3};
                          const int at = dim < 0 ? 2 : dim;
                          shape.insert(at, 5);
                          Array result(shape, -2);
                          each_index({2, 3}, [&](Dims i) {
                            const std::int64_t label = whole(in[0](i));
                            if (label < 0 || label >= 5) return;
                            i.insert(at, label);
                            result(i) = 0.5;
                          });
                          return std::vector<Array>{result};
                        },
                    .gradient = false});
  return rows;
}

std::vector<OpCase> index_rows() {
  std::vector<OpCase> rows;
  for (int dim = 0; dim < 2; ++dim) {
    const Shape index_shape = dim == 0 ? Shape{5, 3} : Shape{4, 6};
    const double limit = dim == 0 ? 4 : 3;
    rows.push_back({.name = text("gather_dim_", dim),
                    .operands = {{{4, 3}}, {index_shape, 0, limit, OperandSpec::Index}},
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
                    .operands = {{{4, 3}}, {index_shape, 0, limit, OperandSpec::Index}, {index_shape}},
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
  rows.push_back({.name = "scatter_add_one_number",
                  .operands = {{{4}}, {{9}, 0, 4, OperandSpec::Index}, {{1}}},
                  .function = [](const Values& in) { return Values{scatter_add(in[0], 0, in[1], expand(in[2], {9}))}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        each_index({9}, [&](const Dims& i) { result({whole(in[1](i))}) += in[2].v[0]; });
                        return std::vector<Array>{result};
                      },
                  .tolerance = 4});
  rows.push_back({.name = "select_rows",
                  .operands = {{{5, 3}}, {{7}, 0, 5, OperandSpec::Index}},
                  .function = [](const Values& in) { return Values{select(in[0], 0, in[1])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result({7, 3});
                        each_index(result.shape,
                                   [&](const Dims& i) { result(i) = in[0]({whole(in[1]({i[0]})), i[1]}); });
                        return std::vector<Array>{result};
                      }});
  rows.push_back({.name = "select_by_a_matrix",
                  .operands = {{{5, 3}}, {{2, 4}, 0, 5, OperandSpec::Index}},
                  .function = [](const Values& in) { return Values{select(in[0], 0, in[1])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result({2, 4, 3});
                        each_index(result.shape,
                                   [&](const Dims& i) { result(i) = in[0]({whole(in[1]({i[0], i[1]})), i[2]}); });
                        return std::vector<Array>{result};
                      }});
  rows.push_back({.name = "select_columns",
                  .operands = {{{2, 4, 2}}, {{3}, 0, 4, OperandSpec::Index}},
                  .function = [](const Values& in) { return Values{select(in[0], 1, in[1])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result({2, 3, 2});
                        each_index(result.shape,
                                   [&](const Dims& i) { result(i) = in[0]({i[0], whole(in[1]({i[1]})), i[2]}); });
                        return std::vector<Array>{result};
                      }});
  rows.push_back({.name = "select_by_nothing",
                  .operands = {{{5, 3}}, {{0}, 0, 5, OperandSpec::Index}},
                  .function = [](const Values& in) { return Values{select(in[0], 0, in[1])}; },
                  .meaning = [](const std::vector<Array>&) { return std::vector<Array>{Array({0, 3})}; }});
  rows.push_back({.name = "select_add_rows",
                  .operands = {{{5, 3}}, {{7}, 0, 5, OperandSpec::Index}, {{7, 3}}},
                  .function = [](const Values& in) { return Values{select_add(in[0], 0, in[1], in[2])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        each_index({7, 3}, [&](const Dims& i) { result({whole(in[1]({i[0]})), i[1]}) += in[2](i); });
                        return std::vector<Array>{result};
                      },
                  .tolerance = 2});
  rows.push_back({.name = "select_add_columns",
                  .operands = {{{2, 3, 2}}, {{4}, 0, 3, OperandSpec::Index}, {{2, 4, 2}}},
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
                  .operands = {{{2, 3}, 0, 6, OperandSpec::Index}},
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

const Family kIndexFamily(&index_rows), kReadFamily(&read_rows), kUpdateFamily(&update_rows), kMaskFamily(&mask_rows);

}  // namespace
}  // namespace kiln::test
