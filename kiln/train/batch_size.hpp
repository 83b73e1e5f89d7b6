// The largest batch that a training has memory for.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/train/trial.hpp"

namespace kiln {

struct BatchSizeConfig {
  std::int64_t first = 1, most = 1 << 16;  // the smallest and the largest size to try
  std::int64_t steps = 2;                  // of each trial: the optimizer's state comes in the first
  /// The memory that a training may use on its device; default: 9/10 of the device's limit (Device::set_memory_limit).
  std::optional<std::int64_t> bytes{};

  /// Throws ArgumentError.
  void check() const;
};

/// The peak of memory of a trial; empty if memory ran out.
struct BatchTrial {
  std::int64_t size = 0;
  std::optional<std::int64_t> peak{};
};

struct FoundBatchSize {
  std::int64_t size = 0;
  std::int64_t bytes = 0;            // the limit
  std::vector<BatchTrial> trials{};  // in their order
  std::string reason{};              // why no larger one
};

namespace training {

/// Looks for the largest size whose trial stays within the limit. Each next size is the largest that the trials so far
/// predict to fit, and at most twice the last, so that a trial rarely fails. Throws ArgumentError if the first does not
/// fit.
FoundBatchSize search_batch_size(const BatchSizeConfig& config, std::int64_t bytes,
                                 FunctionRef<std::optional<std::int64_t>(std::int64_t size)> peak_of);
/// The configuration with `most` at most the number of items of the data. Throws ArgumentError if these are fewer than `first`.
BatchSizeConfig limited_to(BatchSizeConfig config, std::int64_t items);
/// Throws ArgumentError if no batch of a trial had `size` items, since its memory then says nothing of that size.
void require_whole_batch(std::int64_t size, std::int64_t largest);

/// Notes the number of items of the largest batch.
struct LargestBatch {
  std::shared_ptr<std::int64_t> items = std::make_shared<std::int64_t>(0);
  void on(const Step& step) { *items = std::max(*items, step.items); }
};

/// Throws ArgumentError for a device that knows no limit.
std::int64_t memory_limit(const BatchSizeConfig& config, const Device& device);

}  // namespace training

/// Trains copies for some steps with loader_of(size), a loader or a container of batches of that size, on the device of
/// the model. A program that uses the device beside this one changes the result. No size is larger than a DataLoader's number
/// of items. Throws ArgumentError for an invalid configuration, if even the first size does not fit, and for smaller batches
/// than were asked for, as far as the step's output says its items(); and what a training throws except MemoryError.
///
///   const FoundBatchSize found = find_batch_size(model, AdamConfig{}.init(model), step,
///       [&](std::int64_t size) { return DataLoader(data, batcher, {.batch_size = size}); });
template <Module M, class O, class F, class LoaderOf>
FoundBatchSize find_batch_size(const M& model, const O& optimizer, const F& step, LoaderOf loader_of,
                               const BatchSizeConfig& config = {}) {
  config.check();
  const std::vector<Device> devices = devices_of(model);
  require<ArgumentError>(devices.size() == 1, "batch size finder: the model is on ", devices.size(),
                         " devices; it must be on one");
  const Device& device = devices[0];
  BatchSizeConfig tried = config;
  if constexpr (requires { loader_of(config.first).items(); })
    tried = training::limited_to(config, loader_of(config.first).items());
  FoundBatchSize found = training::search_batch_size(
      tried, training::memory_limit(config, device), [&](std::int64_t size) -> std::optional<std::int64_t> {
        const training::LargestBatch largest;
        device.sync();
        device.release_memory();
        device.reset_memory_peak();
        try {
          auto loader = loader_of(size);
          Learner learner(model, optimizer, step, {.steps = config.steps, .not_finite = NotFinite::Ignore});
          learner.add(largest).fit(loader);
          device.sync();
        } catch (const MemoryError&) { return std::nullopt; }
        if constexpr (requires(const typename training::SignatureOf<std::decay_t<F>>::Output& output) {
                        output.items();
                      })
          training::require_whole_batch(size, *largest.items);
        return device.memory().peak;
      });
  if (found.size == tried.most && tried.most < config.most) found.reason = text("the data have ", tried.most, " items");
  return found;
}

}  // namespace kiln
