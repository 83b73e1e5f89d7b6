#include "kiln/train/batch_size.hpp"

#include <algorithm>
#include <string>

#include "kiln/ops/memory.hpp"

namespace kiln {

void BatchSizeConfig::check() const {
  require<ArgumentError>(first >= 1 && most >= first, "batch size finder: first = ", first,
                         " must be at least 1 and at most most = ", most);
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  require<ArgumentError>(most <= kMost, "batch size finder: most is ", most, ", it must be at most ", kMost);
  require<ArgumentError>(steps >= 1, "batch size finder: steps is ", steps, ", it must be at least 1");
  require<ArgumentError>(!bytes || *bytes > 0, "batch size finder: bytes is ", bytes.value_or(0),
                         ", it must be positive");
}

namespace training {
namespace {

/// The largest size that the two largest trials that fit predict to need at most `bytes`.
std::int64_t predicted(const std::vector<BatchTrial>& fitting, std::int64_t bytes) {
  const BatchTrial &a = fitting[fitting.size() - 2], &b = fitting.back();
  const double each = static_cast<double>(*b.peak - *a.peak) / static_cast<double>(b.size - a.size);
  if (each <= 0) return 2 * b.size;
  const double more = static_cast<double>(bytes - *b.peak) / each;
  return b.size + static_cast<std::int64_t>(std::min(more, static_cast<double>(b.size)));
}

}  // namespace

BatchSizeConfig limited_to(BatchSizeConfig config, std::int64_t items) {
  require<ArgumentError>(items >= config.first, "batch size finder: the data have ", items,
                         " items, fewer than the first size to try, ", config.first);
  config.most = std::min(config.most, items);
  return config;
}

void require_whole_batch(std::int64_t size, std::int64_t largest) {
  require<ArgumentError>(largest >= size, "batch size finder: for size ", size, " the largest batch had ", largest,
                         " items, which says nothing of the memory for ", size,
                         ": set most to the number of items of the data");
}

std::int64_t memory_limit(const BatchSizeConfig& config, const Device& device) {
  if (config.bytes) return *config.bytes;
  const std::int64_t limit = device.memory().limit;
  require<ArgumentError>(limit > 0, "batch size finder: ", device.name(),
                         " does not say how much memory it has: set bytes");
  return limit / 10 * 9;
}

FoundBatchSize search_batch_size(const BatchSizeConfig& config, std::int64_t bytes,
                                 FunctionRef<std::optional<std::int64_t>(std::int64_t size)> peak_of) {
  FoundBatchSize found{.bytes = bytes};
  std::vector<BatchTrial> fitting;
  std::int64_t too_large = config.most + 1;
  const auto fits = [&](std::int64_t size) {
    const BatchTrial trial{size, peak_of(size)};
    found.trials.push_back(trial);
    const bool within = trial.peak && *trial.peak <= bytes;
    if (within) fitting.push_back(trial);
    else too_large = size;
    return within;
  };
  const bool first_fits = fits(config.first);
  require<ArgumentError>(first_fits, "batch size finder: a batch of ", config.first, " needs ",
                         found.trials[0].peak ? text_of_bytes(*found.trials[0].peak) : "more than there is",
                         ", and the limit is ", text_of_bytes(bytes));
  while (fitting.back().size + 1 < too_large) {
    const std::int64_t last = fitting.back().size;
    std::int64_t next = fitting.size() < 2 ? 2 * last : predicted(fitting, bytes);
    // A prediction that allows no more is tested by the next size, a failed one by halves.
    next = std::clamp(next, last + 1, too_large - 1);
    if (too_large <= config.most) next = std::min(next, last + (too_large - last + 1) / 2);
    (void)fits(next);
  }
  found.size = fitting.back().size;
  found.reason = found.size == config.most
                     ? kiln::text("the largest size to try is ", config.most)
                     : kiln::text("a batch of ", too_large, " needs more than ", text_of_bytes(bytes));
  return found;
}

}  // namespace training
}  // namespace kiln
