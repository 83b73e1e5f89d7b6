#include "kiln/fusion/fusion.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "kiln/ops/device.hpp"

namespace kiln::fusion {
namespace {

constexpr std::size_t kMostOps = 4096;  // a segment that nobody reads from is run when it is this long

/// In place of the contents of a value that could not be computed.
struct Failure final : Storage {
  explicit Failure(std::exception_ptr error) : error(std::move(error)) {}
  std::exception_ptr error;
};

const Failure* failure_of(const Ref<Node>& node) {
  return node ? dynamic_cast<const Failure*>(node->storage.get()) : nullptr;
}

/// The same error, with the place where the operation was asked for.
std::exception_ptr placed(const Error& error, const std::string& place) {
  try {
    raise(error.kind(), text(error.message(), place));
  } catch (...) { return std::current_exception(); }
}

bool logs() {
  static const bool wanted = [] {
    const char* topics = std::getenv("KILN_LOG");
    return topics && std::string_view(topics).find("fusion") != std::string_view::npos;
  }();
  return wanted;
}

}  // namespace

Fusion::Fusion(Ref<Backend> inner) : inner_(std::move(inner)) {}
Fusion::~Fusion() = default;

void Fusion::run(const op::Op& op, Call call) {
  const std::lock_guard lock(mutex_);
  if (running_) return inner_->run(op, call);  // a kernel of the user's own calls tensor functions
  segment_.append(op, call);
  if (segment_.size() >= kMostOps) flush_locked();
}

TensorData Fusion::download(const Value& value) {
  {
    const std::lock_guard lock(mutex_);
    flush_locked();
    if (const Failure* failure = failed_ ? failure_of(value.node()) : nullptr) {
      error_ = nullptr;
      std::rethrow_exception(failure->error);
    }
  }
  return inner_->download(value);
}

void Fusion::flush() {
  const std::lock_guard lock(mutex_);
  flush_locked();
}

void Fusion::sync() {
  const std::lock_guard lock(mutex_);
  flush_locked();
  inner_->sync();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

Fusion::Statistics Fusion::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void Fusion::flush_locked() {
  if (segment_.empty() || running_) return;
  segment_.close();
  const auto [plan, fresh] = plans_.find_or_make(segment_);
  ++statistics_.segments;
  statistics_.recorded += static_cast<std::int64_t>(segment_.size());
  statistics_.planned += fresh;
  if (fresh && logs())
    std::fprintf(stderr, "fusion: %zu operations become %zu:\n%s", segment_.size(), plan.steps.size(),
                 describe(plan, segment_).c_str());
  running_ = true;
  for (const Plan::Step& step : plan.steps) run_step(step);
  segment_.clear();
  running_ = false;
}

void Fusion::run_step(const Plan::Step& step) {
  std::vector<Ref<Node>>& values = segment_.values();
  in_.clear();
  out_.clear();
  const Failure* failure = nullptr;
  for (const Reference operand : step.in) {
    if (operand.is_value()) {
      in_.emplace_back(values[operand.index()]);
      if (failed_ && !failure) failure = failure_of(values[operand.index()]);
    } else {
      in_.push_back(operand.is_number() ? Value(segment_.numbers()[operand.index()]) : Value());
    }
  }
  for (const std::uint32_t result : step.out) out_.emplace_back(values[result]);
  std::exception_ptr error = failure ? failure->error : nullptr;
  if (!error) {
    try {
      inner_->run(step.op, {in_, out_});
    } catch (const Error& wrong) { error = placed(wrong, segment_.place_of(step.entry)); } catch (...) {
      error = std::current_exception();
    }
    if (error && !error_) error_ = error;
  }
  if (error) {
    failed_ = true;
    for (Value& value : out_) value.node()->storage = make_ref<Failure>(error);
  }
  in_.clear();
  out_.clear();
  for (const std::uint32_t value : step.release) values[value] = nullptr;
}

}  // namespace kiln::fusion
