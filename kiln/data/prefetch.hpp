// Computes a sequence of values in advance on several threads, and returns them in order.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace kiln {

/// The part of a Prefetcher that is independent of the type of values, so that it is compiled once.
class PrefetchQueue {
 public:
  using Make = std::function<std::shared_ptr<void>(std::int64_t)>;

  PrefetchQueue(Make make, std::int64_t count, int workers, int ahead);
  ~PrefetchQueue();
  PrefetchQueue(PrefetchQueue&&) = delete;

  /// Null after the last one.
  std::shared_ptr<void> next();

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// next() returns make(0), make(1), ..., make(count - 1), then none. Without workers they are computed on demand; with
/// workers, `make` is called from their threads, up to `ahead` positions early. An exception of `make` is thrown by
/// next() at its position, and ends the sequence. The destructor waits for running calls.
template <class T>
class Prefetcher {
 public:
  Prefetcher(std::function<T(std::int64_t)> make, std::int64_t count, int workers, int ahead)
      : values_([make = std::move(make)](std::int64_t position) { return std::make_shared<T>(make(position)); }, count,
                workers, ahead) {}

  std::optional<T> next() {
    const std::shared_ptr<void> value = values_.next();
    if (!value) return std::nullopt;
    return std::move(*static_cast<T*>(value.get()));
  }

 private:
  PrefetchQueue values_;
};

}  // namespace kiln
