// Request: what a client waits for. A read is filled by pieces, others get bytes.
#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "kiln/backend/remote/arrival.hpp"
#include "kiln/ops/failure.hpp"
#include "kiln/wire/reader.hpp"

namespace kiln::remote {

class Request final : public PendingRead {
 public:
  /// `ask` are the entries that ask, for a server that has lost the answer. The values stay alive until the data are there.
  Request(std::uint64_t number, std::vector<Value> values);

  std::uint64_t number() const { return number_; }
  const std::vector<Value>& values() const { return values_; }

  bool ready() const override;
  std::vector<TensorData> wait() override;
  void notify(Wakeup then) override;
  /// Waits for an answer, and returns its bytes.
  std::vector<std::byte> answer();

  // The receiver's side.
  /// Forgets what has arrived: it is asked for again.
  void restart();
  /// The place for a piece, of a value and of so many bytes, that is about to come; empty where it must not. Only the thread
  /// that receives asks, and calls take_piece() before it asks again.
  std::span<std::byte> place_for(std::uint64_t value, std::size_t count);
  /// Takes a piece whose last bytes are in their place already.
  void take_piece(wire::Reader& in, std::size_t placed);
  /// Throws DataError where elements are missing.
  void complete(wire::Reader& in);
  void fail(Ref<Failure> failure);

  std::vector<std::byte> ask;           // the entries that ask; set before the request is sent
  std::atomic<std::uint64_t> frame{0};  // the number of the last frame that asks; 0 while that has none yet

 private:
  void finish(std::unique_lock<std::mutex>& lock);

  const std::uint64_t number_;
  std::vector<Value> values_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::vector<Arrival> arrivals_;
  std::vector<std::byte> bytes_;
  Ref<Failure> failure_;
  std::optional<Wakeup> then_;
};

}  // namespace kiln::remote
