#include "kiln/backend/cuda/driver.hpp"

#include <algorithm>
#include <numeric>

#include "kiln/backend/cuda/attentions.hpp"
#include "kiln/backend/cuda/convolutions.hpp"
#include "kiln/backend/gpu/kernel/print/print.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln::cuda {
namespace {

constexpr int kMostThreads = 1024;  // per block, on all devices

gpu::Capabilities capabilities_of(const Stream& stream) {
  std::size_t free = 0, total = 0;
  stream.check(stream.api().memory_get_info(&free, &total), "asking for the device's memory");
  // Code and the libraries' own memory take some of the device's memory later.
  const std::size_t kept_free = std::min(free / 16, std::size_t{1} << 30);
  const int multiprocessors = stream.attribute(kMultiprocessorCount);
  return {.shared_memory = stream.attribute(kMaxSharedMemoryPerBlockOptin),
          .fragments = stream.attribute(kComputeCapabilityMajor) >= 8 ? std::span(gpu::kHalfFragments)
                                                                      : std::span<const gpu::Fragment>(),
          // One block per multiprocessor always fits.
          .together = stream.attribute(kCooperativeLaunch) ? multiprocessors : 0,
          .multiprocessors = multiprocessors,
          .memory = static_cast<std::int64_t>(free - kept_free)};
}

}  // namespace

Driver::Driver(int index)
    : stream_(make_ref<Stream>(index)),
      capabilities_(capabilities_of(*stream_)),
      worth_{.tf32 = is_set("KILN_TF32", false),
             .min_library_channels = 16,
             .min_library_attention = std::int64_t{1} << 28},
      compiler_(stream_->architecture()),
      memory_(stream_, [this](FunctionRef<void()> f) { queue_.flush_and(f); }),
      uploads_(stream_),
      downloads_(make_ref<Downloads>(stream_)),
      products_(stream_),
      dnn_(stream_),
      queue_(stream_, products_, dnn_),
      groups_(stream_) {}

Ref<gpu::Code> Driver::compile(const gpu::Kernel& kernel) {
  const gpu::KernelText text = gpu::print(kernel, gpu::kCudaTarget);
  return load({kernel.name, text.function, kernel.threads, text.shared_bytes, kernel.words(), kernel.together},
              text.text);
}

Ref<gpu::Code> Driver::compile(const gpu::CudaText& kernel) {
  std::vector<std::size_t> words(kernel.parameters + std::size_t{1});
  std::iota(words.begin(), words.end(), std::size_t{0});
  const Ref<Program> program =
      load({kernel.name, kernel.name, kernel.threads, kernel.shared_bytes, std::move(words), false}, kernel.text);
  program->require_parameters();
  return program;
}

Ref<Program> Driver::load(Program::ProgramTraits traits, const std::string& text) {
  require<DeviceError>(traits.shared_bytes <= capabilities_.shared_memory, name(), ": kernel ", traits.name, " needs ",
                       traits.shared_bytes, " bytes of shared memory, a block has ", capabilities_.shared_memory);
  require<DeviceError>(1 <= traits.threads && traits.threads <= kMostThreads, name(), ": kernel ", traits.name, " has ",
                       traits.threads, " threads to a block, which must be 1 to ", kMostThreads);
  require<DeviceError>(traits.words.back() <= gpu::kMostArguments, name(), ": kernel ", traits.name, " has ",
                       traits.words.back(), " parameters, at most ", gpu::kMostArguments, " can be given");
  std::future<std::vector<std::byte>> code = compiler_.start(traits.name, text);
  return make_ref<Program>(stream_, std::move(traits), std::move(code));
}

void Driver::launch(const gpu::Code& code, std::int64_t blocks, std::span<const std::uint64_t> arguments) {
  if (blocks <= 0) return;
  const auto& program = static_cast<const Program&>(code);
  require<DeviceError>(blocks <= INT32_MAX, name(), ": kernel ", program.name, " cannot have ", blocks, " blocks");
  require<DeviceError>(!program.together || blocks <= capabilities_.together, name(), ": kernel ", program.name,
                       " cannot have ", blocks, " blocks that wait for each other, at most ", capabilities_.together);
  require<DeviceError>(arguments.size() == program.words.back(), name(), ": kernel ", program.name, " takes ",
                       program.words.back(), " arguments, got ", arguments.size());
  queue_.launch(Ref<const Program>(&program), blocks, arguments);
}

bool Driver::multiply(const gpu::Product& product) {
  if (const Products::Plan* const plan = products_.proven(product)) return queue_.multiply(*plan, product), true;
  return queue_.flush_and([&] { return products_.multiply(product); });
}

bool Driver::convolve(const gpu::Convolution& convolution) {
  const Dnn::Plan* const plan = plan_of(dnn_, convolution);
  return plan && run(*plan, addresses_of(convolution));
}

bool Driver::attend(const gpu::Attention& attention) {
  const auto made = [&](const gpu::Attention& piece) {
    const Dnn::Plan* const plan = plan_of(dnn_, piece);
    return plan && run(*plan, addresses_of(piece), piece.workspace);
  };
  return std::ranges::all_of(pieces_of(dnn_, attention), made);
}

std::int64_t Driver::attention_workspace(const gpu::Attention& attention) { return workspace_of(dnn_, attention); }

bool Driver::run(const Dnn::Plan& plan, Dnn::Addresses addresses, const std::byte* workspace) {
  const Address place = address_of(workspace);
  if (dnn_.proven(plan)) return queue_.run(plan, addresses, place), true;
  return queue_.flush_and([&] { return dnn_.prove(plan, addresses, place); });
}

// A single rank needs no NCCL.
bool Driver::can_start_collectives(Communicator& among) { return groups_.joins(among) || among.size() == 1; }

std::uint64_t Driver::start_collective(Communicator& among, const gpu::Collective& collective) {
  if (groups_.joins(among)) return queue_.flush_and([&] { return groups_.start_collective(among, collective); });
  copy(collective.result, collective.x, static_cast<std::size_t>(collective.count) * size_of(collective.dtype));
  return 0;
}

// The queue is flushed even if the collective has ended by now: then the commands between two waits are always the
// same, and can become a graph.
void Driver::wait_for_collective(std::uint64_t collective) {
  queue_.flush_and([&] { groups_.wait_for_collective(collective); });
}

void Driver::upload(std::byte* to, std::span<const std::byte> from) {
  queue_.flush_and([&] { uploads_.upload(to, from); });
}

Ref<gpu::Transfer> Driver::download(const std::byte* from, std::size_t bytes) {
  return queue_.flush_and([&] { return downloads_->start(from, bytes); });
}

void Driver::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes) queue_.copy(to, from, bytes);
}

void Driver::clear(std::byte* start, std::size_t bytes) {
  if (bytes) queue_.clear(start, bytes);
}

void Driver::synchronize() {
  Event reached(stream_);
  queue_.flush_and([&] { reached.record(); });
  reached.wait();
}

}  // namespace kiln::cuda
