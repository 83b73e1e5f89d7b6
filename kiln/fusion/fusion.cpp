#include "kiln/fusion/fusion.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "kiln/ops/device.hpp"
#include "kiln/ops/sequence.hpp"

namespace kiln::fusion {
namespace {

constexpr std::size_t kMostOps = 4096;  // a segment that nobody reads from is run when it is this long
constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;  // or the tensors that it keeps alive are this large

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

/// Which operands nobody but the list has; for Call::last_uses.
std::uint64_t last_uses(Inputs in) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < in.size() && i < 64; ++i)
    if (in[i].node() && in[i].node()->has_one_owner()) bits |= std::uint64_t{1} << i;
  return bits;
}

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// Whose plan this thread is running: what a kernel asks for meanwhile (a user's own may call tensor functions) is run
// at once.
thread_local const Fusion* running = nullptr;

}  // namespace

/// What one thread has asked for. Another one takes the lock when it needs a value of it.
struct Fusion::Stream final : RefCounted {
  std::mutex mutex;
  Segment segment;
  Values in, out;  // of the step under way; kept for their memory
};

Fusion::Fusion(Ref<Backend> inner) : inner_(std::move(inner)), id_(next_id()) {}
Fusion::~Fusion() = default;

Fusion::Stream& Fusion::own_stream() {
  struct Own {
    std::uint64_t fusion = 0;
    Ref<Stream> stream;
  };
  // A thread that ends lets go of its streams; they stay with their Fusion while something waits in them.
  thread_local std::vector<Own> all;
  for (const Own& own : all)
    if (own.fusion == id_) return *own.stream;
  const std::lock_guard lock(mutex_);
  std::erase_if(streams_, [](const Ref<Stream>& each) { return each->has_one_owner() && each->segment.empty(); });
  std::erase_if(all, [](const Own& own) { return own.stream->has_one_owner(); });  // of a Fusion that is gone
  streams_.push_back(make_ref<Stream>());
  all.push_back({id_, streams_.back()});
  return *streams_.back();
}

std::vector<Ref<Fusion::Stream>> Fusion::streams() const {
  const std::lock_guard lock(mutex_);
  return streams_;
}

void Fusion::run(const op::Op& op, Call call) {
  if (running == this) {
    for (const Value& value : call.in) settle(value);
    return inner_->run(op, call);
  }
  Stream& stream = own_stream();
  std::unique_lock lock(stream.mutex);
  while (const Value* foreign = stream.segment.find_foreign(call.in)) {
    lock.unlock();
    settle(*foreign);
    lock.lock();
  }
  stream.segment.append(op, call);
  if (stream.segment.size() >= kMostOps || stream.segment.bytes() >= kMostBytes) run_segment(stream);
}

/// Runs the segment that a value waits in, whosever it is.
void Fusion::settle(const Value& value) {
  while (const std::uint64_t epoch = pending_in(value)) {
    for (const Ref<Stream>& stream : streams()) {
      if (stream->segment.epoch() != epoch) continue;
      const std::lock_guard lock(stream->mutex);
      if (stream->segment.epoch() == epoch) run_segment(*stream);
    }
  }
}

TensorData Fusion::download(const Value& value) {
  settle(value);
  if (const Failure* failure = failed_ ? failure_of(value.node()) : nullptr) {
    {
      const std::lock_guard lock(mutex_);
      error_ = nullptr;
    }
    std::rethrow_exception(failure->error);
  }
  return inner_->download(value);
}

void Fusion::flush() {
  if (running == this) return;
  Stream& stream = own_stream();
  const std::lock_guard lock(stream.mutex);
  run_segment(stream);
}

void Fusion::sync() {
  if (running != this) {
    for (const Ref<Stream>& stream : streams()) {
      const std::lock_guard lock(stream->mutex);
      run_segment(*stream);
    }
  }
  inner_->sync();
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

Fusion::Statistics Fusion::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void Fusion::run_segment(Stream& stream) {
  Segment& segment = stream.segment;
  if (segment.empty()) return;
  segment.close();
  const auto [plan, fresh] = plans_.find_or_make(segment);
  {
    const std::lock_guard lock(mutex_);
    ++statistics_.segments;
    statistics_.recorded += static_cast<std::int64_t>(segment.size());
    statistics_.planned += fresh;
  }
  if (fresh && logs())
    std::fprintf(stderr, "fusion: %zu operations become %zu:\n%s", segment.size(), plan->steps.size(),
                 describe(*plan, segment).c_str());
  const Fusion* const before = std::exchange(running, this);
  for (const Derivation& derivation : plan->derivations) segment.add_number(derivation.of(segment.numbers()));
  for (const Plan::Step& step : plan->steps) run_step(stream, step);
  segment.clear();
  running = before;
}

void Fusion::run_step(Stream& stream, const Plan::Step& step) {
  Segment& segment = stream.segment;
  std::vector<Ref<Node>>& values = segment.values();
  Values &in = stream.in, &out = stream.out;
  in.clear();
  out.clear();
  const Failure* failure = nullptr;
  for (const Reference operand : step.in) {
    if (operand.is_value()) {
      in.emplace_back(values[operand.index()]);
      if (failed_ && !failure) failure = failure_of(values[operand.index()]);
    } else {
      in.push_back(operand.is_number() ? Value(segment.numbers()[operand.index()]) : Value());
    }
  }
  if (const auto* together = std::get_if<op::Together>(&step.op.is); together && failure) {
    // Each part fails by its own operands alone.
    for (const op::Parts::Part& part : together->parts->all) {
      Plan::Step own{part.op, step.entry, {}, {}, {}};
      own.in.assign(&step.in[part.operands.first], &step.in[part.operands.first] + part.operands.count);
      own.out.assign(&step.out[part.results.first], &step.out[part.results.first] + part.results.count);
      run_step(stream, own);
    }
    for (const std::uint32_t value : step.release) values[value] = nullptr;
    return;
  }
  for (const std::uint32_t result : step.out) out.emplace_back(values[result]);
  for (const std::uint32_t value : step.release) values[value] = nullptr;
  std::exception_ptr error = failure ? failure->error : nullptr;
  if (!error) {
    try {
      inner_->run(step.op, {in, out, last_uses(in)});
    } catch (const Error& wrong) { error = placed(wrong, segment.place_of(step.entry)); } catch (...) {
      error = std::current_exception();
    }
    if (error) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = error;
    }
  }
  if (error) {
    failed_ = true;
    for (Value& value : out) value.node()->storage = make_ref<Failure>(error);
  }
  for (const Value& value : out) arrive(*value.node());
  in.clear();
  out.clear();
}

}  // namespace kiln::fusion
