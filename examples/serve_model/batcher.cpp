#include "examples/serve_model/batcher.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "kiln/core/error/error.hpp"

namespace serving {
namespace {

using namespace kiln;

std::int64_t count_of(const TensorData& examples) { return examples.shape()[0]; }

Shape with_count(Shape shape, std::int64_t count) {
  shape[0] = count;
  return shape;
}

}  // namespace

Batcher::Batcher(Model model, std::int64_t most) : model_(std::move(model)), most_(most), worker_([this] { work(); }) {}

Batcher::~Batcher() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    came_.notify_all();
  }
  worker_.join();
}

TensorData Batcher::run(TensorData examples) {
  require<ShapeError>(examples.shape().size() > 0 && count_of(examples) > 0, "serve_model: a request has no examples");
  Request request{.in = std::move(examples)};
  std::unique_lock lock(mutex_);
  require<IoError>(!stopped_, "serve_model: the server ends");
  waiting_.push_back(&request);
  came_.notify_one();
  done_.wait(lock, [&] { return request.done; });
  if (request.error) std::rethrow_exception(request.error);
  return std::move(request.out);
}

std::int64_t Batcher::runs() const {
  const std::lock_guard lock(mutex_);
  return runs_;
}
std::int64_t Batcher::examples() const {
  const std::lock_guard lock(mutex_);
  return examples_;
}

/// All that wait and fit; empty: nobody will come any more.
std::deque<Batcher::Request*> Batcher::next_batch() {
  std::unique_lock lock(mutex_);
  came_.wait(lock, [&] { return stopped_ || !waiting_.empty(); });
  std::deque<Request*> batch;
  for (std::int64_t count = 0; !waiting_.empty();) {
    count += count_of(waiting_.front()->in);
    const bool alike =
        batch.empty() || with_count(batch.front()->in.shape(), 1) == with_count(waiting_.front()->in.shape(), 1);
    if (!batch.empty() && (count > most_ || !alike)) break;
    batch.push_back(waiting_.front());
    waiting_.pop_front();
  }
  return batch;
}

TensorData Batcher::counted_run(TensorData examples) {
  const std::int64_t count = count_of(examples);
  {
    const std::lock_guard lock(mutex_);
    ++runs_;
    examples_ += count;
  }
  TensorData out = model_(std::move(examples));
  require<ShapeError>(out.shape().size() > 0 && count_of(out) == count, "serve_model: the model makes ", out.shape(),
                      " of ", count, " examples: its results must have the examples as dimension 0");
  return out;
}

void Batcher::run_batch(const std::deque<Request*>& batch) {
  std::vector<std::byte> bytes;
  std::int64_t count = 0;
  for (const Request* const request : batch) {
    bytes.insert(bytes.end(), request->in.bytes().begin(), request->in.bytes().end());
    count += count_of(request->in);
  }
  const TensorData& first = batch.front()->in;
  const TensorData out = counted_run(TensorData(with_count(first.shape(), count), first.dtype(), std::move(bytes)));
  const std::size_t size = out.bytes().size() / static_cast<std::size_t>(count);
  for (std::size_t at = 0; Request* const request : batch) {
    const std::int64_t own = count_of(request->in);
    const auto part = out.bytes().subspan(at, size * static_cast<std::size_t>(own));
    request->out = TensorData(with_count(out.shape(), own), out.dtype(), {part.begin(), part.end()});
    at += part.size();
  }
}

void Batcher::work() {
  for (auto batch = next_batch(); !batch.empty(); batch = next_batch()) {
    try {
      run_batch(batch);
    } catch (...) {
      // One of them is wrong: each runs by itself, so that the others get what they asked for.
      for (Request* const request : batch) {
        try {
          request->out = counted_run(request->in);
        } catch (...) { request->error = std::current_exception(); }
      }
    }
    const std::lock_guard lock(mutex_);
    for (Request* const request : batch) request->done = true;
    done_.notify_all();
  }
}

}  // namespace serving
