// Computes a sequence of values ahead of their use, on several threads, and hands them out in order.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace kiln {

/// A Prefetcher but for the type of its values, so that it is compiled once.
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

/// next() is make(0), make(1), ..., make(count - 1), then nothing. With no workers they are made when asked
/// for; with some, `make` is called from their threads, up to `ahead` positions early. What `make` throws at a
/// position comes out of next() there, and the sequence ends. The destructor waits for calls under way.
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
