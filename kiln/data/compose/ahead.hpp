// Applies a function to each batch of a loader in a thread of its own, some batches ahead: copies them to a
// device, so that a step need not wait for its data.
//
//   auto batches = on_device(DataLoader(train, ImageBatcher{}, {.batch_size = 64}), device);
//   for (auto& [images, targets] : batches) ...
//
// A Learner accepts such a loader like any other, with the same bits; its step gets the function's results.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "kiln/core/config/json.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/data/stream/prepared_batches.hpp"
#include "kiln/ops/device.hpp"

namespace kiln {

/// f(batch) for the batches of a DataLoader, a StreamLoader or a similar loader; an input range. f is called in one
/// thread, in order; its exceptions are thrown in the loop at their batch. Leaving the loop early stops the thread.
template <class Loader, class F>
class AheadLoader {
  using Given = std::remove_cvref_t<decltype(*std::declval<Loader&>().begin())>;
  static constexpr bool kHasPlace = requires(const Loader& loader) {
    { loader.place() } -> std::same_as<const StreamPlace&>;
  };

 public:
  using Batch = std::invoke_result_t<F&, Given>;

  /// Throws ArgumentError unless `ahead`, the number of batches prepared in advance, is at least 1.
  AheadLoader(Loader loader, F f, int ahead = 2) : loader_(std::move(loader)), f_(std::move(f)), ahead_(ahead) {
    require<ArgumentError>(ahead >= 1, "loader: ", ahead, " batches ahead, it must be at least 1");
    if constexpr (kHasPlace) *place_ = loader_.place();
  }

  std::int64_t size() const { return loader_.size(); }
  std::int64_t epoch() const { return loader_.epoch(); }
  void set_epoch(std::int64_t epoch, std::int64_t first_batch = 0) { loader_.set_epoch(epoch, first_batch); }
  Json description() const requires requires(const Loader& loader) { loader.description(); } {
    return loader_.description();
  }
  /// The place in a stream before the loop's next batch, however far the thread has read.
  const StreamPlace& place() const requires kHasPlace { return *place_; }
  void restore(StreamPlace place) requires kHasPlace { *place_ = std::move(place); }

  PreparedBatches<Batch> begin() {
    if constexpr (kHasPlace) loader_.restore(*place_);
    auto source = std::make_shared<Source>(loader_, f_);
    loader_.set_epoch(loader_.epoch() + 1);
    return {std::make_unique<Prefetcher<Prepared>>([source](std::int64_t) { return source->next(); },
                                                   std::numeric_limits<std::int64_t>::max(), /*workers=*/1, ahead_),
            place_};
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  using Prepared = PreparedBatch<Batch>;

  /// The objects that the thread uses, created in its first call.
  struct Source {
    Source(const Loader& from, const F& function) : loader(from), f(function) {}

    Prepared next() {
      if (at) ++*at;
      else at.emplace(loader.begin());
      Prepared made;
      if (*at == loader.end()) return made;
      made.batch.emplace(f(std::move(**at)));
      if constexpr (kHasPlace) {
        const StreamPlace& place = loader.place();
        if (place.epoch != known.epoch || place.batch != known.batch || place.pass != known.pass) {
          made.after = std::make_shared<StreamPlace>(place);
          known = {place.epoch, place.batch, place.pass, place.items, {}};
        }
      }
      return made;
    }

    Loader loader;
    F f;
    std::optional<decltype(std::declval<Loader&>().begin())> at;
    StreamPlace known;
  };

  Loader loader_;
  F f_;
  int ahead_;
  std::shared_ptr<StreamPlace> place_ = std::make_shared<StreamPlace>();
};

/// Calls to_tensors(batch, device) for each batch: that of kiln/data/image_tensors.hpp, or one found beside the batch's
/// type.
template <class Loader>
auto on_device(Loader loader, const Device& device, int ahead = 2) {
  auto move = [device](auto batch) {
    auto moved = to_tensors(std::move(batch), device);
    device.flush();
    return moved;
  };
  return AheadLoader<Loader, decltype(move)>(std::move(loader), std::move(move), ahead);
}

}  // namespace kiln
