#include "kiln/backend/streams/driver.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

namespace kiln::streams {
namespace {

constexpr int kMostThreads = 1024;  // per block, on all devices

}  // namespace

StreamDriver::StreamDriver(Ref<Stream> stream, const gpu::Capabilities& capabilities, const gpu::Target& target,
                           Compiler compiler)
    : stream_(std::move(stream)),
      capabilities_(capabilities),
      target_(target),
      compiler_(std::move(compiler)),
      memory_(stream_, [this](FunctionRef<void()> f) { return when_done(f); }) {
  work_[0] = std::make_unique<Work>(stream_, static_cast<LibraryCalls&>(*this));
}

Ref<gpu::Code> StreamDriver::compile(const gpu::Kernel& kernel) {
  const gpu::KernelText text = gpu::print(kernel, target_);
  return load({kernel.name, text.function, kernel.threads, text.shared_bytes, kernel.words(), kernel.together},
              text.text);
}

std::string StreamDriver::identity() const {
  const std::string& device = stream_->device();
  return text(device.substr(0, device.find(':')), ", ", stream_->model(), ", driver ", stream_->driver_version());
}

Ref<gpu::Code> StreamDriver::compile_text(const gpu::TextKernel& kernel) {
  std::vector<std::size_t> words(kernel.parameters() + std::size_t{1});
  std::iota(words.begin(), words.end(), std::size_t{0});
  const Ref<Program> program =
      load({kernel.name, kernel.name, kernel.threads, kernel.shared_bytes, std::move(words), false}, kernel.text);
  program->require_parameters();
  return program;
}

Ref<Program> StreamDriver::load(Program::ProgramTraits traits, const std::string& text) {
  require<DeviceError>(traits.shared_bytes <= capabilities_.shared_memory, name(), ": kernel ", traits.name, " needs ",
                       traits.shared_bytes, " bytes of shared memory, a block has ", capabilities_.shared_memory);
  require<DeviceError>(1 <= traits.threads && traits.threads <= kMostThreads, name(), ": kernel ", traits.name, " has ",
                       traits.threads, " threads to a block, which must be 1 to ", kMostThreads);
  require<DeviceError>(traits.words.back() <= gpu::kMostArguments, name(), ": kernel ", traits.name, " has ",
                       traits.words.back(), " parameters, at most ", gpu::kMostArguments, " can be given");
  std::future<std::vector<std::byte>> code = compiler_.start(traits.name, text);
  return make_ref<Program>(stream_, std::move(traits), std::move(code));
}

void StreamDriver::launch(const gpu::Code& code, std::int64_t blocks, std::span<const std::uint64_t> arguments) {
  if (blocks <= 0) return;
  const auto& program = static_cast<const Program&>(code);
  require<DeviceError>(blocks <= INT32_MAX, name(), ": kernel ", program.name, " cannot have ", blocks, " blocks");
  require<DeviceError>(!program.together || blocks <= capabilities_.together, name(), ": kernel ", program.name,
                       " cannot have ", blocks, " blocks that wait for each other, at most ", capabilities_.together);
  require<DeviceError>(arguments.size() == program.words.back(), name(), ": kernel ", program.name, " takes ",
                       program.words.back(), " arguments, got ", arguments.size());
  queue().launch(Ref<const Program>(&program), blocks, arguments);
}

void StreamDriver::upload(std::byte* to, std::span<const std::byte> from) {
  Work& own = work();
  own.queue.flush_and([&] { own.uploads.upload(to, from); });
}

Ref<gpu::Transfer> StreamDriver::download(const std::byte* from, std::size_t bytes) {
  Work& own = work();
  return own.queue.flush_and([&] { return own.downloads->start(from, bytes); });
}

void StreamDriver::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes) queue().copy(to, from, bytes);
}

void StreamDriver::clear(std::byte* start, std::size_t bytes) {
  if (bytes) queue().clear(start, bytes);
}

// ---- copies between devices ----------------------------------------------------------------------------------------

namespace {

struct StreamMark final : gpu::Mark {
  explicit StreamMark(const Ref<Stream>& stream) : event(stream) {}
  bool passed() const override { return event.ready(); }
  void wait() const override { event.wait(); }
  Event event;
};

}  // namespace

Ref<gpu::Mark> StreamDriver::mark() {
  Work& own = work();
  const auto mark = make_ref<StreamMark>(own.stream);
  own.queue.flush_and([&] { mark->event.record(); });
  return mark;
}

// Without access, which not all pairs of devices have, the driver makes the copy in steps.
bool StreamDriver::can_copy_from(gpu::Driver& other) {
  const auto* const peer = dynamic_cast<StreamDriver*>(&other);
  if (!peer || peer->stream_->driver() != stream_->driver()) return false;
  const DriverApi& api = stream_->api();
  if (!api.copy_between) return false;
  const std::lock_guard lock(mutex_);
  int can = 0;
  if (peer->stream_->context() != stream_->context() && accessed_.insert(peer->stream_->number()).second)
    if (api.can_access(&can, stream_->number(), peer->stream_->number()) == kSuccess && can)
      (void)api.enable_access(peer->stream_->context(), 0);
  return true;
}

void StreamDriver::copy_from(gpu::Driver& other, const gpu::Mark& ready, std::byte* to, const std::byte* from,
                             std::size_t bytes) {
  const Stream& source = *static_cast<StreamDriver&>(other).stream_;
  Work& work = this->work();
  const Stream& own = *work.stream;
  work.queue.flush_and([&] {
    static_cast<const StreamMark&>(ready).event.wait_in(own);
    const DriverApi& api = own.api();
    own.check(
        source.context() == own.context()
            ? api.copy_on_device(address_of(to), address_of(from), bytes, own.handle())
            : api.copy_between(address_of(to), own.context(), address_of(from), source.context(), bytes, own.handle()),
        "copying ", bytes, " bytes from ", source.device());
  });
}

// ---- several streams -----------------------------------------------------------------------------------------------

void StreamDriver::open_stream(int number) {
  const std::lock_guard lock(mutex_);
  const int opened = opened_.load(std::memory_order_relaxed);
  if (number < opened) return;
  KILN_CHECK(number == opened);
  const auto stream = make_ref<Stream>(*stream_, number);
  prepare(stream);
  work_[static_cast<std::size_t>(number)] = std::make_unique<Work>(stream, static_cast<LibraryCalls&>(*this));
  opened_.store(number + 1, std::memory_order_release);
}

// An event may be destroyed while a stream has yet to wait for it.
void StreamDriver::wait_for_stream(int number, int other) {
  Work &waits = work(number), &works = work(other);
  stream_->or_lose("a stream could not wait for another", [&] {
    Event reached(works.stream);
    works.queue.flush_and([&] { reached.record(); });
    waits.queue.flush_and([&] { reached.wait_in(*waits.stream); });
  });
}

void StreamDriver::forget() {
  for (int i = 0, count = opened_.load(std::memory_order_acquire); i < count; ++i) queue(i).forget();
}

// ---- waiting -------------------------------------------------------------------------------------------------------

void StreamDriver::synchronize() {
  std::vector<std::unique_ptr<Event>> reached;
  for (int i = 0, count = opened_.load(std::memory_order_acquire); i < count; ++i) {
    reached.push_back(std::make_unique<Event>(work(i).stream));
    queue(i).flush_and([&] { reached.back()->record(); });
  }
  for (const std::unique_ptr<Event>& each : reached) each->wait();
}

/// Holds all queues at once, in their order, so that none records a graph meanwhile.
bool StreamDriver::when_done(FunctionRef<void()> f, int first) {
  if (first == opened_.load(std::memory_order_acquire)) return f(), true;
  return queue(first).flush_and([&] {
    const Stream& stream = *work(first).stream;
    return stream.api().stream_synchronize(stream.handle()) == kSuccess && when_done(f, first + 1);
  });
}

std::int64_t usable_memory(const Stream& stream) {
  std::size_t free = 0, total = 0;
  stream.check(stream.api().memory_get_info(&free, &total), "asking for the device's memory");
  const std::size_t kept_free = std::min(free / 16, std::size_t{1} << 30);
  return static_cast<std::int64_t>(free - kept_free);
}

}  // namespace kiln::streams
