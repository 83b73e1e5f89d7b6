#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/index/embedding.hpp"
#include "kiln/ops/product/linear.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

/// What a bag of rows comes to: `entries` are positions in `indices`.
void reduce_bag(const Array& table, const Array& indices, const Array* weights, const std::vector<std::size_t>& entries,
                const EmbeddingBagOptions& options, std::int64_t bag, Array& result) {
  for (std::int64_t p = 0; p < table.shape[1]; ++p) {
    double total = 0, best = -INFINITY, count = 0;
    for (const std::size_t entry : entries) {
      const auto index = static_cast<std::int64_t>(indices.v[entry]);
      if (options.padding_index == index) continue;
      const double element = table({index, p}) * (weights ? weights->v[entry] : 1);
      total += element;
      best = std::max(best, element);
      ++count;
    }
    if (count == 0) continue;
    result({bag, p}) = options.mode == BagMode::Sum ? total : options.mode == BagMode::Mean ? total / count : best;
  }
}

OpCase bag_row(std::string name, const Shape& indices, const EmbeddingBagOptions& options, bool weighted = false) {
  OpCase row{.name = std::move(name),
             .operands = {{{5, 3}}, {indices, 0, 5, OperandSpec::Index}},
             .function = {},
             .meaning = {}};
  if (weighted) row.operands.push_back({indices});
  row.function = [=](const Values& in) {
    return Values{embedding_bag(in[0], in[1], options, weighted ? in[2] : Value())};
  };
  row.meaning = [=](const std::vector<Array>& in) {
    Array result({indices[0], 3});
    for (std::int64_t bag = 0; bag < indices[0]; ++bag) {
      std::vector<std::size_t> entries;
      for (std::int64_t i = 0; i < indices[1]; ++i) entries.push_back(static_cast<std::size_t>(bag * indices[1] + i));
      reduce_bag(in[0], in[1], weighted ? &in[2] : nullptr, entries, options, bag, result);
    }
    return std::vector<Array>{result};
  };
  row.tolerance = 2;
  return row;
}

OpCase ragged_bag_row(std::string name, const std::vector<std::int64_t>& offsets, std::int64_t entries,
                      const EmbeddingBagOptions& options, bool weighted = false) {
  OpCase row{.name = std::move(name),
             .operands = {{{5, 3}}, {{entries}, 0, 5, OperandSpec::Index}},
             .function = {},
             .meaning = {}};
  if (weighted) row.operands.push_back({{entries}});
  const auto bags = static_cast<std::int64_t>(offsets.size());
  row.function = [=](const Values& in) {
    const Value starts = from_data(TensorData::of<std::int64_t>({bags}, offsets), in[0].device());
    return Values{embedding_bag(in[0], in[1], starts, options, weighted ? in[2] : Value())};
  };
  row.meaning = [=](const std::vector<Array>& in) {
    Array result({bags, 3});
    for (std::int64_t bag = 0; bag < bags; ++bag) {
      const auto at = static_cast<std::size_t>(bag);
      std::vector<std::size_t> all;
      const std::int64_t end = bag + 1 < bags ? offsets[at + 1] : entries;
      for (std::int64_t i = offsets[at]; i < end; ++i) all.push_back(static_cast<std::size_t>(i));
      reduce_bag(in[0], in[1], weighted ? &in[2] : nullptr, all, options, bag, result);
    }
    return std::vector<Array>{result};
  };
  row.tolerance = 2;
  return row;
}

std::vector<OpCase> embedding_rows() {
  return {
      {.name = "embedding",
       .operands = {{{4, 3}}, {{2, 3}, 0, 4, OperandSpec::Index}},
       .function = [](const Values& in) { return Values{embedding(in[0], in[1])}; },
       .meaning =
           [](const std::vector<Array>& in) {
             Array result({2, 3, 3});
             each_index(result.shape, [&](const Dims& i) {
               result(i) = in[0]({static_cast<std::int64_t>(in[1]({i[0], i[1]})), i[2]});
             });
             return std::vector<Array>{result};
           }},
      bag_row("embedding_bag_sum", {3, 4}, {}),
      bag_row("embedding_bag_weighted", {3, 4}, {}, true),
      bag_row("embedding_bag_mean", {3, 4}, {.mode = BagMode::Mean}),
      bag_row("embedding_bag_of_one_entry", {4, 1}, {}),
      bag_row("embedding_bag_max", {3, 2}, {.mode = BagMode::Max}),
      bag_row("embedding_bag_sum_padding", {4, 3}, {.padding_index = 2}),
      bag_row("embedding_bag_weighted_padding", {4, 3}, {.padding_index = 2}, true),
      bag_row("embedding_bag_mean_padding", {5, 3}, {.mode = BagMode::Mean, .padding_index = 1}),
      bag_row("embedding_bag_max_padding", {5, 2}, {.mode = BagMode::Max, .padding_index = 0}),
      bag_row("embedding_bag_without_entries", {3, 0}, {.mode = BagMode::Max}),
      bag_row("embedding_bag_without_bags", {0, 3}, {}),
      ragged_bag_row("ragged_bag_sum", {0, 2, 2, 5}, 7, {}),
      ragged_bag_row("ragged_bag_weighted", {0, 2, 2, 5}, 7, {}, true),
      ragged_bag_row("ragged_bag_mean", {0, 3, 4, 4}, 6, {.mode = BagMode::Mean}),
      ragged_bag_row("ragged_bag_max", {0, 1, 1, 3}, 5, {.mode = BagMode::Max}),
      ragged_bag_row("ragged_bag_mean_padding", {0, 2, 2, 5}, 9, {.mode = BagMode::Mean, .padding_index = 3}),
      ragged_bag_row("ragged_bag_max_padding", {0, 2, 2, 5}, 7, {.mode = BagMode::Max, .padding_index = 3}),
      ragged_bag_row("ragged_bag_of_nothing", {0, 0}, 0, {.mode = BagMode::Mean}),
      {.name = "linear",
       .operands = {{{2, 2, 3}}, {{4, 3}}, {{4}}},
       .function = [](const Values& in) { return Values{linear(in[0], in[1], in[2])}; },
       .meaning =
           [](const std::vector<Array>& in) {
             Array result({2, 2, 4});
             each_index(result.shape, [&](const Dims& i) {
               result(i) = in[2]({i[2]});
               for (std::int64_t p = 0; p < 3; ++p) result(i) += in[0]({i[0], i[1], p}) * in[1]({i[2], p});
             });
             return std::vector<Array>{result};
           },
       .tolerance = 2},
      {.name = "linear_of_a_vector",
       .operands = {{{3}}, {{4, 3}}},
       .function = [](const Values& in) { return Values{linear(in[0], in[1])}; },
       .meaning =
           [](const std::vector<Array>& in) {
             Array result({4});
             for (std::int64_t i = 0; i < 4; ++i)
               for (std::int64_t p = 0; p < 3; ++p) result({i}) += in[0]({p}) * in[1]({i, p});
             return std::vector<Array>{result};
           },
       .tolerance = 2},
  };
}

const Family kEmbeddingFamily(&embedding_rows);

TEST(Embedding, LeavesThePaddingRowWithoutGradient) {
  const Device device = Device::cpu().autodiff();
  const Value table = ones({3, 1}, device).require_grad();
  const Value indices = from_data(TensorData::of<std::int64_t>({4}, {0, 1, 1, 2}), device);
  const Value rows = embedding(table, indices, 1);
  EXPECT_EQ(rows.data().to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
  EXPECT_EQ(backward(sum(rows)).of(table).data().to_vector<float>(), (std::vector<float>{1, 0, 1}));
}

}  // namespace
}  // namespace kiln::test
