#include "kiln/ops/index/embedding.hpp"

#include <algorithm>
#include <limits>

#include "kiln/core/error/called_as.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/index/index_ops.hpp"

namespace kiln {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void require_table(std::string_view name, const Value& weight, const Value& indices) {
  op::require_float(name, weight);
  require<ShapeError>(weight.rank() == 2, name, ": the weight must be [count, size], got ", weight.shape());
  op::require_index(name, indices);
}

/// The rows of the entries, with zeros for padding entries, whose row may hold anything.
Value entry_rows(const Value& weight, const Value& indices, const EmbeddingBagOptions& options) {
  const Value rows = select(weight, 0, indices);
  return options.padding_index ? where(unsqueeze(ne(indices, *options.padding_index), -1), rows, 0.0) : rows;
}

/// The factor of each entry of a bag: empty where all are 1.
Value factors(const Value& weight, const Value& indices, const EmbeddingBagOptions& options,
              const Value& entry_weights) {
  Value result;
  if (entry_weights) {
    require<ArgumentError>(options.mode == BagMode::Sum, "embedding_bag: entry weights require mode Sum");
    op::require_float("embedding_bag", entry_weights);
    require<ShapeError>(entry_weights.shape() == indices.shape(), "embedding_bag: entry weights ",
                        entry_weights.shape(), " must have the shape of indices ", indices.shape());
    result = cast(entry_weights, weight.dtype());
  }
  if (!options.padding_index) return result;
  const Value counts = ne(indices, *options.padding_index);
  return result ? where(counts, result, 0.0) : cast(counts, weight.dtype());
}

/// [bags, entries, size] -> [bags, size]
Value reduce_bags(const Value& rows, const Value& factor, BagMode mode) {
  if (rows.dim(1) == 0) return sum(rows, {1});
  const Value factor_of_row = factor ? unsqueeze(factor, 2) : factor;
  if (mode == BagMode::Max) {
    if (factor.empty()) return max(rows, {1});
    const Value counts = gt(factor_of_row, 0);
    return where(any(counts, {1}), max(where(counts, rows, -kInfinity), {1}), 0.0);
  }
  const Value total = sum(factor ? rows * factor_of_row : rows, {1});
  if (mode == BagMode::Sum) return total;
  return factor ? total / maximum(sum(factor_of_row, {1}), 1.0) : total / static_cast<double>(rows.dim(1));
}

/// Whether a bag is a plain sum, for which the CPU has a kernel.
bool goes_in_one(const Value& weight, const Value& indices, const EmbeddingBagOptions& options) {
  return options.mode != BagMode::Max && !options.padding_index && weight.dtype() == DType::F32 && indices.dim(1) > 0;
}

/// The start of each bag, and the end of the last.
std::vector<std::int64_t> read_offsets(const Value& offsets, std::int64_t entries) {
  std::vector<std::int64_t> ends = offsets.data().to_vector<std::int64_t>();
  ends.push_back(entries);
  const bool fits = ends.front() == 0 && std::is_sorted(ends.begin(), ends.end());
  require<ArgumentError>(fits, "embedding_bag: offsets must start at 0 and not descend, up to the ", entries,
                         " indices");
  return ends;
}

Value index_tensor(const Shape& shape, const std::vector<std::int64_t>& numbers, const Device& device) {
  return from_data(TensorData::of<std::int64_t>(shape, numbers), device);
}

/// [bags, longest]: positions of entries; `present` is true where there is one, elsewhere the position is 0.
struct Padded {
  Value positions, present;
};
Padded pad_bags(const std::vector<std::int64_t>& ends, const Device& device) {
  std::int64_t longest = 0;
  const std::size_t bags = ends.size() - 1;
  for (std::size_t i = 0; i < bags; ++i) longest = std::max(longest, ends[i + 1] - ends[i]);
  std::vector<std::int64_t> positions, present;
  for (std::size_t i = 0; i < bags; ++i)
    for (std::int64_t j = 0; j < longest; ++j) {
      const bool inside = j < ends[i + 1] - ends[i];
      positions.push_back(inside ? ends[i] + j : 0);
      present.push_back(inside);
    }
  const Shape shape{static_cast<std::int64_t>(bags), longest};
  return {index_tensor(shape, positions, device), index_tensor(shape, present, device)};
}

/// The bag of each entry.
Value bags_of(const std::vector<std::int64_t>& ends, const Device& device) {
  std::vector<std::int64_t> bags;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i)
    bags.insert(bags.end(), static_cast<std::size_t>(ends[i + 1] - ends[i]), static_cast<std::int64_t>(i));
  return index_tensor({ends.back()}, bags, device);
}

}  // namespace

Value embedding(const Value& weight, const Value& indices, std::optional<std::int64_t> padding_index) {
  const CalledAs named("embedding");
  require_table("embedding", weight, indices);
  const Value rows = select(weight, 0, indices);
  return padding_index ? where(unsqueeze(ne(indices, *padding_index), -1), rows, rows.detach()) : rows;
}

Value embedding_bag(const Value& weight, const Value& indices, const EmbeddingBagOptions& options,
                    const Value& entry_weights) {
  const CalledAs named("embedding_bag");
  require_table("embedding_bag", weight, indices);
  require<ShapeError>(indices.rank() == 2, "embedding_bag: indices must be [bags, entries], or come with offsets, got ",
                      indices.shape());
  if (goes_in_one(weight, indices, options) && entry_weights.empty()) {
    const Value total = emit(op::SelectSum{}, {weight, indices});
    return options.mode == BagMode::Sum ? total : total / static_cast<double>(indices.dim(1));
  }
  return reduce_bags(entry_rows(weight, indices, options), factors(weight, indices, options, entry_weights),
                     options.mode);
}

Value embedding_bag(const Value& weight, const Value& indices, const Value& offsets, const EmbeddingBagOptions& options,
                    const Value& entry_weights) {
  const CalledAs named("embedding_bag");
  require_table("embedding_bag", weight, indices);
  op::require_index("embedding_bag", offsets);
  require<ShapeError>(indices.rank() == 1 && offsets.rank() == 1,
                      "embedding_bag: indices must be [entries] and offsets [bags], got ", indices.shape(), " and ",
                      offsets.shape());
  const std::int64_t bags = offsets.dim(0);
  if (bags == 0) return narrow(weight, 0, 0, 0);
  const std::vector<std::int64_t> ends = read_offsets(offsets, indices.dim(0));
  const Value factor = factors(weight, indices, options, entry_weights);

  if (options.mode == BagMode::Max) {
    const auto [positions, present] = pad_bags(ends, weight.device());
    const Value counts = cast(present, weight.dtype());
    return reduce_bags(select(weight, 0, select(indices, 0, positions)),
                       factor ? counts * select(factor, 0, positions) : counts, options.mode);
  }
  const Value bag = bags_of(ends, weight.device());
  const auto per_bag = [&](const Value& x) {
    Shape shape = x.shape();
    shape[0] = bags;
    return select_add(zeros(shape, x.device(), x.dtype()), 0, bag, x);
  };
  const Value rows = entry_rows(weight, indices, options);
  const Value total = per_bag(factor ? rows * unsqueeze(factor, 1) : rows);
  if (options.mode == BagMode::Sum) return total;
  const Value counts = per_bag(factor ? factor : ones({indices.dim(0)}, weight.device(), weight.dtype()));
  return total / unsqueeze(maximum(counts, 1.0), 1);
}

}  // namespace kiln
