#include "kiln/backend/rocm/driver.hpp"

namespace kiln::rocm {
namespace {

gpu::Capabilities capabilities_of(const Stream& stream) {
  const int multiprocessors = stream.attribute(kMultiprocessorCount), lanes = stream.attribute(kWarpSize);
  const bool together = stream.api().launch_together && stream.attribute(kCooperativeLaunch);
  return {.lanes = {lanes, lanes},
          .shared_memory = stream.attribute(kMaxSharedMemoryPerBlock),
          // One block per multiprocessor always fits.
          .together = together ? multiprocessors : 0,
          .multiprocessors = multiprocessors,
          .memory = usable_memory(stream)};
}

}  // namespace

Driver::Driver(const Ref<Stream>& stream)
    : StreamDriver(stream, capabilities_of(*stream), gpu::kHipTarget, compiler_for(architecture_of(*stream))),
      products_(stream) {}

bool Driver::multiply(const gpu::Product& product) {
  return queue().flush_and([&] { return products_.multiply(product); });
}

}  // namespace kiln::rocm
