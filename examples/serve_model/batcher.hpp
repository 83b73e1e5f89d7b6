// Requests that arrive together run as one batch.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "kiln/core/tensor_data.hpp"

namespace serving {

/// A model: from [examples, ...] to [examples, ...].
using Model = std::function<kiln::TensorData(kiln::TensorData)>;

/// While the model runs, further requests wait; all that wait then run together. No request waits for others to come.
class Batcher {
 public:
  /// At most `most` examples run at once, but for a single request with more.
  Batcher(Model model, std::int64_t most);
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;
  ~Batcher();

  /// Runs the model on a request of [examples, ...] and returns its part of the results; called by any number of
  /// threads. Throws what the model throws for these examples, which is no other request's business.
  kiln::TensorData run(kiln::TensorData examples);
  /// How often the model has run, and on how many examples altogether.
  std::int64_t runs() const;
  std::int64_t examples() const;

 private:
  struct Request {
    kiln::TensorData in, out = {};
    std::exception_ptr error = nullptr;
    bool done = false;
  };
  void work();
  std::deque<Request*> next_batch();
  void run_batch(const std::deque<Request*>& batch);
  kiln::TensorData counted_run(kiln::TensorData examples);

  const Model model_;
  const std::int64_t most_;
  mutable std::mutex mutex_;
  std::condition_variable came_, done_;
  std::deque<Request*> waiting_;
  std::int64_t runs_ = 0, examples_ = 0;
  bool stopped_ = false;
  std::thread worker_;
};

}  // namespace serving
