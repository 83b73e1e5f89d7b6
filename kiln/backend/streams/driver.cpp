#include "kiln/backend/streams/driver.hpp"

#include <algorithm>
#include <numeric>

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
      memory_(stream_, [this](FunctionRef<void()> f) { queue_.flush_and(f); }),
      uploads_(stream_),
      downloads_(make_ref<Downloads>(stream_)),
      queue_(stream_, *this) {}

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
  queue_.launch(Ref<const Program>(&program), blocks, arguments);
}

void StreamDriver::upload(std::byte* to, std::span<const std::byte> from) {
  queue_.flush_and([&] { uploads_.upload(to, from); });
}

Ref<gpu::Transfer> StreamDriver::download(const std::byte* from, std::size_t bytes) {
  return queue_.flush_and([&] { return downloads_->start(from, bytes); });
}

void StreamDriver::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes) queue_.copy(to, from, bytes);
}

void StreamDriver::clear(std::byte* start, std::size_t bytes) {
  if (bytes) queue_.clear(start, bytes);
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
  const auto mark = make_ref<StreamMark>(stream_);
  queue_.flush_and([&] { mark->event.record(); });
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
  queue_.flush_and([&] {
    static_cast<const StreamMark&>(ready).event.wait_in(*stream_);
    const DriverApi& api = stream_->api();
    stream_->check(source.context() == stream_->context()
                       ? api.copy_on_device(address_of(to), address_of(from), bytes, stream_->handle())
                       : api.copy_between(address_of(to), stream_->context(), address_of(from), source.context(), bytes,
                                          stream_->handle()),
                   "copying ", bytes, " bytes from ", source.device());
  });
}

// ---- waiting -------------------------------------------------------------------------------------------------------

void StreamDriver::synchronize() {
  Event reached(stream_);
  queue_.flush_and([&] { reached.record(); });
  reached.wait();
}

std::int64_t usable_memory(const Stream& stream) {
  std::size_t free = 0, total = 0;
  stream.check(stream.api().memory_get_info(&free, &total), "asking for the device's memory");
  const std::size_t kept_free = std::min(free / 16, std::size_t{1} << 30);
  return static_cast<std::int64_t>(free - kept_free);
}

}  // namespace kiln::streams
