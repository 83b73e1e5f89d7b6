#include "kiln/ops/view/view.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

/// A row whose result element `index` is the operand's element source(index).
OpCase moving(std::string name, const Shape& from, const Shape& to, std::function<Value(const Value&)> function,
              std::function<Dims(const Dims&)> source) {
  return {.name = std::move(name),
          .operands = {{from}},
          .function = [function](const Values& in) { return Values{function(in[0])}; },
          .meaning =
              [to, source](const std::vector<Array>& in) {
                Array result(to);
                each_index(to, [&](const Dims& index) { result(index) = in[0](source(index)); });
                return std::vector<Array>{result};
              }};
}

OpCase reshaping(std::string name, const Shape& from, const Shape& to, std::function<Value(const Value&)> function) {
  return {.name = std::move(name),
          .operands = {{from}},
          .function = [function](const Values& in) { return Values{function(in[0])}; },
          .meaning =
              [to](const std::vector<Array>& in) {
                Array result = in[0];
                result.shape = to;
                return std::vector<Array>{result};
              }};
}

Value sliced(const Value& x, std::initializer_list<Range> ranges) { return slice(x, {ranges.begin(), ranges.size()}); }

/// fold of [outer, windows, inner, size] along dimension 1.
OpCase folding(std::string name, const Shape& windows, std::int64_t length, std::int64_t step, std::int64_t dilation) {
  return {.name = std::move(name),
          .operands = {{windows}},
          .function = [=](const Values& in) { return Values{fold(in[0], 1, length, step, dilation)}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array result({windows[0], length, windows[2]});
                each_index(windows,
                           [&](const Dims& i) { result({i[0], i[1] * step + i[3] * dilation, i[2]}) += in[0](i); });
                return std::vector<Array>{result};
              },
          .tolerance = 2};
}

std::vector<OpCase> view_rows() {
  std::vector<OpCase> rows = {
      reshaping("reshape", {2, 6}, {3, 4}, [](const Value& x) { return reshape(x, {3, 4}); }),
      reshaping("reshape_open", {2, 6}, {2, 2, 3}, [](const Value& x) { return reshape(x, {2, -1, 3}); }),
      reshaping("reshape_to_a_scalar", {1, 1}, {}, [](const Value& x) { return reshape(x, {}); }),
      reshaping("reshape_of_nothing", {0, 3}, {3, 0}, [](const Value& x) { return reshape(x, {3, 0}); }),
      reshaping("flatten", {2, 3, 4}, {2, 12}, [](const Value& x) { return flatten(x, 1); }),
      reshaping("unsqueeze", {2, 3}, {2, 1, 3}, [](const Value& x) { return unsqueeze(x, 1); }),
      reshaping("squeeze", {2, 1, 3}, {2, 3}, [](const Value& x) { return squeeze(x, -2); }),
      moving(
          "permute", {2, 3, 4}, {4, 2, 3}, [](const Value& x) { return permute(x, {2, 0, 1}); },
          [](const Dims& i) { return Dims{i[1], i[2], i[0]}; }),
      moving(
          "transpose", {2, 3}, {3, 2}, [](const Value& x) { return transpose(x); },
          [](const Dims& i) { return Dims{i[1], i[0]}; }),
      moving(
          "permute_then_reshape", {2, 3, 4}, {6, 4},
          [](const Value& x) { return reshape(permute(x, {1, 0, 2}), {6, 4}); },
          [](const Dims& i) { return Dims{i[0] % 2, i[0] / 2, i[1]}; }),
      moving(
          "expand", {3, 1}, {2, 3, 4}, [](const Value& x) { return expand(x, {2, 3, 4}); },
          [](const Dims& i) { return Dims{i[1], 0}; }),
      moving(
          "expand_of_a_scalar", {}, {2, 2}, [](const Value& x) { return expand(x, {2, 2}); },
          [](const Dims&) { return Dims{}; }),
      moving(
          "slice", {5, 6}, {2, 3}, [](const Value& x) { return sliced(x, {{1, 3}, {0, {}, 2}}); },
          [](const Dims& i) { return Dims{i[0] + 1, i[1] * 2}; }),
      moving(
          "slice_backwards", {7}, {3}, [](const Value& x) { return sliced(x, {{-2, 0, -2}}); },
          [](const Dims& i) { return Dims{5 - 2 * i[0]}; }),
      moving(
          "slice_of_a_slice", {8, 3}, {2, 3}, [](const Value& x) { return sliced(sliced(x, {{1, {}, 2}}), {{1, 3}}); },
          [](const Dims& i) { return Dims{1 + 2 * (i[0] + 1), i[1]}; }),
      moving(
          "slice_to_nothing", {4, 2}, {0, 2}, [](const Value& x) { return sliced(x, {{3, 1}}); },
          [](const Dims& i) { return i; }),
      moving(
          "slice_past_the_end", {4}, {2}, [](const Value& x) { return sliced(x, {{2, 100}}); },
          [](const Dims& i) { return Dims{i[0] + 2}; }),
      moving(
          "narrow", {4, 5}, {4, 2}, [](const Value& x) { return narrow(x, 1, 2, 2); },
          [](const Dims& i) { return Dims{i[0], i[1] + 2}; }),
      moving(
          "at", {4, 5}, {5}, [](const Value& x) { return at(x, 0, -2); }, [](const Dims& i) { return Dims{2, i[0]}; }),
      moving(
          "unfold", {2, 7, 3}, {2, 4, 3, 4}, [](const Value& x) { return unfold(x, 1, 4, 1); },
          [](const Dims& i) { return Dims{i[0], i[1] + i[3], i[2]}; }),
      moving(
          "unfold_in_steps_with_gaps", {12}, {3, 3}, [](const Value& x) { return unfold(x, -1, 3, 3, 2); },
          [](const Dims& i) { return Dims{3 * i[0] + 2 * i[1]}; }),
      moving(
          "unfold_of_a_slice_in_two_dimensions", {6, 5}, {2, 2, 2, 3},
          [](const Value& x) { return unfold(unfold(sliced(x, {{{}, {}, -1}, {1, {}}}), 0, 2, 3), 1, 3, 1); },
          [](const Dims& i) { return Dims{5 - 3 * i[0] - i[2], 1 + i[1] + i[3]}; }),
      reshaping("squeeze_several", {1, 2, 1, 3}, {2, 3}, [](const Value& x) { return squeeze(x, {-2, 0}); }),
      reshaping("unsqueeze_several", {2, 3}, {1, 2, 3, 1}, [](const Value& x) { return unsqueeze(x, {-1, 0}); }),
      moving(
          "movedim", {2, 3, 4, 5}, {3, 5, 2, 4}, [](const Value& x) { return movedim(x, {0, 2}, {2, -1}); },
          [](const Dims& i) { return Dims{i[2], i[0], i[3], i[1]}; }),
      moving(
          "roll", {5, 2}, {5, 2}, [](const Value& x) { return roll(x, -7, 0); },
          [](const Dims& i) { return Dims{(i[0] + 7) % 5, i[1]}; }),
      moving(
          "roll_several", {3, 4}, {3, 4}, [](const Value& x) { return roll(x, {1, -6}, {0, 1}); },
          [](const Dims& i) { return Dims{(i[0] + 2) % 3, (i[1] + 6) % 4}; }),
      moving(
          "fliplr", {2, 3, 2}, {2, 3, 2}, [](const Value& x) { return fliplr(x); },
          [](const Dims& i) { return Dims{i[0], 2 - i[1], i[2]}; }),
      moving(
          "flipud", {3, 2}, {3, 2}, [](const Value& x) { return flipud(x); },
          [](const Dims& i) { return Dims{2 - i[0], i[1]}; }),
      moving(
          "rot90", {2, 3}, {3, 2}, [](const Value& x) { return rot90(x); },
          [](const Dims& i) { return Dims{i[1], 2 - i[0]}; }),
      moving(
          "rot90_twice", {2, 3}, {2, 3}, [](const Value& x) { return rot90(x, -2); },
          [](const Dims& i) { return Dims{1 - i[0], 2 - i[1]}; }),
      moving(
          "rot90_back", {2, 2, 3}, {2, 3, 2}, [](const Value& x) { return rot90(x, 3, 1, 2); },
          [](const Dims& i) { return Dims{i[0], 1 - i[2], i[1]}; }),
      moving(
          "repeat", {2, 3}, {4, 9}, [](const Value& x) { return repeat(x, {2, 3}); },
          [](const Dims& i) { return Dims{i[0] % 2, i[1] % 3}; }),
      moving(
          "tile_more", {3}, {2, 6}, [](const Value& x) { return tile(x, {2, 2}); },
          [](const Dims& i) { return Dims{i[1] % 3}; }),
      moving(
          "tile_fewer", {2, 3}, {2, 6}, [](const Value& x) { return tile(x, {2}); },
          [](const Dims& i) { return Dims{i[0], i[1] % 3}; }),
      moving(
          "repeat_interleave", {2, 3}, {2, 9}, [](const Value& x) { return repeat_interleave(x, 3, -1); },
          [](const Dims& i) { return Dims{i[0], i[1] / 3}; }),
      moving(
          "repeat_interleave_by_a_tensor", {3, 2}, {6, 2},
          [](const Value& x) {
            return repeat_interleave(x, from_data(TensorData::of<std::int64_t>({3}, {3, 0, 3}), x.device()), 0);
          },
          [](const Dims& i) { return Dims{i[0] / 3 * 2, i[1]}; }),
      moving(
          "slice_dim", {3, 6}, {3, 3}, [](const Value& x) { return slice_dim(x, -1, {-1, {}, -2}); },
          [](const Dims& i) { return Dims{i[0], 5 - 2 * i[1]}; }),
      moving(
          "flip", {3, 4}, {3, 4}, [](const Value& x) { return flip(x, {0, 1}); },
          [](const Dims& i) { return Dims{2 - i[0], 3 - i[1]}; }),
  };
  const auto cutting = [&](std::string name, std::vector<std::int64_t> starts,
                           std::function<Values(const Value&)> function) {
    rows.push_back({.name = std::move(name),
                    .operands = {{{2, 5}}},
                    .function = [=](const Values& in) { return function(in[0]); },
                    .meaning =
                        [=](const std::vector<Array>& in) {
                          std::vector<Array> parts;
                          for (std::size_t k = 0; k + 1 < starts.size(); ++k) {
                            parts.push_back(Array({2, starts[k + 1] - starts[k]}));
                            each_index(parts[k].shape,
                                       [&](const Dims& i) { parts[k](i) = in[0]({i[0], starts[k] + i[1]}); });
                          }
                          return parts;
                        }});
  };
  cutting("chunk", {0, 2, 4, 5}, [](const Value& x) { return chunk(x, 3, 1); });
  cutting("chunk_into_fewer", {0, 2, 4, 5}, [](const Value& x) { return chunk(x, 4, 1); });
  cutting("tensor_split", {0, 2, 3, 4, 5}, [](const Value& x) { return tensor_split(x, 4, 1); });
  cutting("split_at", {0, 1, 1, 4, 5}, [](const Value& x) { return split_at(x, {1, 1, 4}, -1); });
  cutting("split_with_sizes", {0, 4, 4, 5}, [](const Value& x) { return split_with_sizes(x, {4, 0, 1}, 1); });
  rows.push_back({.name = "unbind",
                  .operands = {{{2, 3}}},
                  .function = [](const Values& in) { return unbind(in[0], 1); },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        std::vector<Array> parts(3, Array({2}));
                        each_index({2, 3},
                                   [&](const Dims& i) { parts[static_cast<std::size_t>(i[1])]({i[0]}) = in[0](i); });
                        return parts;
                      }});
  rows.push_back({.name = "broadcast_tensors",
                  .operands = {{{3, 1}}, {{2}}},
                  .function = [](const Values& in) { return broadcast_tensors(in); },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        std::vector<Array> results(2, Array({3, 2}));
                        each_index({3, 2}, [&](const Dims& i) {
                          results[0](i) = in[0]({i[0], 0});
                          results[1](i) = in[1]({i[1]});
                        });
                        return results;
                      }});
  rows.push_back({.name = "slice_fill",
                  .operands = {{{4, 3}}},
                  .function =
                      [](const Values& in) {
                        const Range every_second{{}, {}, -2};
                        return Values{slice_fill(in[0], {&every_second, 1}, 0.25)};
                      },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        for (const std::int64_t row : {1, 3})
                          for (std::int64_t j = 0; j < 3; ++j) result({row, j}) = 0.25;
                        return std::vector<Array>{result};
                      }});
  rows.push_back(folding("fold", {2, 4, 3, 4}, 7, 1, 1));
  rows.push_back(folding("fold_with_gaps_and_a_rest", {2, 3, 2, 3}, 14, 4, 2));
  rows.push_back(folding("fold_of_one_window", {1, 1, 5, 3}, 3, 2, 1));
  rows.push_back({.name = "slice_assign",
                  .operands = {{{4, 5}}, {{2, 3}}},
                  .function =
                      [](const Values& in) {
                        const Range ranges[] = {{1, 3}, {0, {}, 2}};
                        return Values{slice_assign(in[0], ranges, in[1])};
                      },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        each_index({2, 3}, [&](const Dims& i) { result({i[0] + 1, i[1] * 2}) = in[1](i); });
                        return std::vector<Array>{result};
                      }});
  rows.push_back({.name = "slice_assign_broadcast_backwards",
                  .operands = {{{4, 3}}, {{3}}},
                  .function =
                      [](const Values& in) {
                        const Range ranges[] = {{-1, {}, -3}, {{}, {}, -1}};
                        return Values{slice_assign(in[0], ranges, in[1])};
                      },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        for (const std::int64_t row : {3, 0})
                          for (std::int64_t j = 0; j < 3; ++j) result({row, 2 - j}) = in[1]({j});
                        return std::vector<Array>{result};
                      }});
  return rows;
}

const Family kView(&view_rows);

}  // namespace
}  // namespace kiln::test
