// Batches that a Prefetcher prepares, and the places in a stream that go with them.
#pragma once
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "kiln/data/prefetch.hpp"
#include "kiln/data/stream/place.hpp"

namespace kiln {

template <class Batch>
struct PreparedBatch {
  std::optional<Batch> batch;  // none after the last one
  std::shared_ptr<StreamPlace> after{};
};

/// The iterator of a loop over prepared batches. It keeps the loader's place where the loop is, however far the
/// threads have read.
template <class Batch>
class PreparedBatches {
 public:
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;

  PreparedBatches(std::unique_ptr<Prefetcher<PreparedBatch<Batch>>> batches, std::shared_ptr<StreamPlace> place)
      : batches_(std::move(batches)), place_(std::move(place)) {
    ++*this;
  }
  Batch& operator*() const { return *batch_; }
  Batch* operator->() const { return &*batch_; }
  PreparedBatches& operator++() {
    std::optional<PreparedBatch<Batch>> made = batches_->next();
    batch_ = made ? std::move(made->batch) : std::nullopt;
    if (made && made->after) *place_ = std::move(*made->after);
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const { return !batch_; }

 private:
  std::unique_ptr<Prefetcher<PreparedBatch<Batch>>> batches_;
  std::shared_ptr<StreamPlace> place_;
  mutable std::optional<Batch> batch_;
};

}  // namespace kiln
