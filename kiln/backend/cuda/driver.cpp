#include "kiln/backend/cuda/driver.hpp"

#include <algorithm>

#include "kiln/backend/cuda/attentions.hpp"
#include "kiln/backend/cuda/convolutions.hpp"

namespace kiln::cuda {
namespace {

gpu::Capabilities capabilities_of(const Stream& stream) {
  std::size_t free = 0, total = 0;
  stream.check(stream.api().memory_get_info(&free, &total), "asking for the device's memory");
  // Code, and libraries' own memory, take some of it later.
  const std::size_t kept_free = std::min(free / 16, std::size_t{1} << 30);
  return {.multiprocessors = stream.attribute(kMultiprocessorCount),
          .memory = static_cast<std::int64_t>(free - kept_free),
          .shared_memory = stream.attribute(kMaxSharedMemoryPerBlockOptin),
          .fragments = stream.attribute(kComputeCapabilityMajor) >= 8,
          .few_channels = 16,
          .least_attention = std::int64_t{1} << 28};
}

}  // namespace

Driver::Driver(int index)
    : stream_(make_ref<Stream>(index)),
      capabilities_(capabilities_of(*stream_)),
      compiler_(stream_->architecture()),
      memory_(stream_, [this](FunctionRef<void()> f) { queue_.flush_and(f); }),
      uploads_(stream_),
      downloads_(make_ref<Downloads>(stream_)),
      products_(stream_),
      dnn_(stream_),
      queue_(stream_, products_, dnn_) {}

Ref<gpu::Code> Driver::compile(const gpu::Kernel& kernel) {
  const gpu::KernelText text = gpu::print(kernel, expr::kCuda);
  require<DeviceError>(text.shared_bytes <= capabilities_.shared_memory, name(), ": kernel ", kernel.name, " needs ",
                       text.shared_bytes, " bytes of shared memory, a block has ", capabilities_.shared_memory);
  const std::size_t words = kernel.words().back();
  require<DeviceError>(words <= gpu::kMostArguments, name(), ": kernel ", kernel.name, " has ", words,
                       " parameters, at most ", gpu::kMostArguments, " can be given");
  return make_ref<Program>(stream_, kernel, text, compiler_.code(kernel.name, text.text));
}

void Driver::launch(const gpu::Code& code, std::int64_t blocks, std::span<const std::uint64_t> arguments) {
  if (blocks <= 0) return;
  const auto& program = static_cast<const Program&>(code);
  require<DeviceError>(blocks <= INT32_MAX, name(), ": kernel ", program.name, " cannot have ", blocks, " blocks");
  KILN_CHECK(arguments.size() == program.words.back());
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
    return plan && run(*plan, addresses_of(piece), piece.room);
  };
  return std::ranges::all_of(pieces_of(dnn_, attention), made);
}

std::int64_t Driver::attention_room(const gpu::Attention& attention) { return room_of(dnn_, attention); }

bool Driver::run(const Dnn::Plan& plan, Dnn::Addresses addresses, const std::byte* workspace) {
  const Address place = address_of(workspace);
  if (dnn_.proven(plan)) return queue_.run(plan, addresses, place), true;
  return queue_.flush_and([&] { return dnn_.prove(plan, addresses, place); });
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
