#include "kiln/backend/cuda/driver.hpp"

#include <algorithm>

#include "kiln/backend/cuda/attentions.hpp"
#include "kiln/backend/cuda/convolutions.hpp"

namespace kiln::cuda {
namespace {

gpu::Capabilities capabilities_of(const Stream& stream) {
  const int multiprocessors = stream.attribute(kMultiprocessorCount);
  return {.shared_memory = stream.attribute(kMaxSharedMemoryPerBlockOptin),
          .fragments = stream.attribute(kComputeCapabilityMajor) >= 8 ? std::span(gpu::kHalfFragments)
                                                                      : std::span<const gpu::Fragment>(),
          // One block per multiprocessor always fits.
          .together = stream.attribute(kCooperativeLaunch) ? multiprocessors : 0,
          .multiprocessors = multiprocessors,
          .memory = usable_memory(stream)};
}

}  // namespace

Driver::Driver(int index) : Driver(make_ref<Stream>(driver_api(), index)) {}

Driver::Driver(const Ref<Stream>& stream)
    : StreamDriver(stream, capabilities_of(*stream), gpu::kCudaTarget, compiler_for(architecture_of(*stream))),
      worth_{.tf32 = stream->attribute(kComputeCapabilityMajor) >= 8,
             .min_library_channels = 16,
             .min_library_attention = std::int64_t{1} << 28},
      groups_(stream) {
  prepare(stream);
}

void Driver::prepare(const Ref<Stream>& stream) {
  libraries_[static_cast<std::size_t>(stream->number_of_stream())] = std::make_unique<Libraries>(stream, budget());
}

bool Driver::multiply(const gpu::Product& product) {
  Products& products = libraries().products;
  if (const Products::Plan* const plan = products.proven(product)) return queue().multiply(plan, product), true;
  return queue().flush_and([&] { return products.multiply(product); });
}

bool Driver::convolve(const gpu::Convolution& convolution) {
  const Dnn::Plan* const plan = plan_of(libraries().dnn, convolution);
  return plan && run(*plan, addresses_of(convolution));
}

bool Driver::attend(const gpu::Attention& attention) {
  Dnn& dnn = libraries().dnn;
  const auto made = [&](const gpu::Attention& piece) {
    const Dnn::Plan* const plan = plan_of(dnn, piece);
    return plan && run(*plan, addresses_of(piece), piece.workspace);
  };
  return std::ranges::all_of(pieces_of(dnn, attention), made);
}

std::int64_t Driver::attention_workspace(const gpu::Attention& attention) {
  return workspace_of(libraries().dnn, attention);
}

bool Driver::run(const Dnn::Plan& plan, Dnn::Addresses addresses, const std::byte* workspace) {
  const Address place = address_of(workspace);
  Dnn& dnn = libraries().dnn;
  if (!dnn.proven(plan)) return queue().flush_and([&] { return dnn.prove(plan, addresses, place); });
  std::vector<std::uint64_t> words;
  for (void* const address : addresses) words.push_back(reinterpret_cast<std::uintptr_t>(address));
  words.push_back(place);
  queue().run(&plan, words);
  return true;
}

void Driver::multiply(const Stream& stream, const void* plan, const gpu::Product& product) {
  libraries(stream.number_of_stream()).products.multiply(*static_cast<const Products::Plan*>(plan), product);
}

void Driver::run(const Stream& stream, const void* plan, std::span<const std::uint64_t> words) {
  std::vector<void*> addresses;
  for (const std::uint64_t word : words.first(words.size() - 1)) addresses.push_back(reinterpret_cast<void*>(word));
  libraries(stream.number_of_stream()).dnn.run(*static_cast<const Dnn::Plan*>(plan), addresses, words.back());
}

// A single rank needs no NCCL.
bool Driver::can_start_collectives(Communicator& among) { return groups_.joins(among) || among.size() == 1; }

std::uint64_t Driver::start_collective(Communicator& among, const gpu::Collective& collective) {
  if (groups_.joins(among)) return queue(0).flush_and([&] { return groups_.start_collective(among, collective); });
  queue(0).copy(collective.result, collective.x,
                static_cast<std::size_t>(collective.count) * size_of(collective.dtype));
  return 0;
}

// The queue is flushed even if the collective has ended by now: then the commands between two waits are always the
// same, and can become a graph.
void Driver::wait_for_collective(std::uint64_t collective) {
  queue(0).flush_and([&] { groups_.wait_for_collective(collective); });
}

}  // namespace kiln::cuda
