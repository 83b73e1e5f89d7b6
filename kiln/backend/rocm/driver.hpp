// An AMD GPU as a Driver: kernels are printed as HIP and compiled by HIPRTC; products use rocBLAS where it is installed.
// It has never run on AMD's hardware.
#pragma once
#include "kiln/backend/rocm/products.hpp"
#include "kiln/backend/streams/driver.hpp"

namespace kiln::rocm {

class Driver final : public StreamDriver, public gpu::Library {
 public:
  /// Throws DeviceError if the machine has no such device, or no driver.
  explicit Driver(int index) : Driver(make_ref<Stream>(driver_api(), index)) {}

  gpu::Library* library() override { return this; }
  gpu::Language language() const override { return gpu::Language::Hip; }
  bool multiply(const gpu::Product& product) override;
  /// None but the first: nobody has tried others, and rocBLAS has a handle for one.
  gpu::Streams* streams() override { return nullptr; }

 private:
  explicit Driver(const Ref<Stream>& stream);
  // Nothing of a library is queued.
  void multiply(const Stream&, const void*, const gpu::Product&) override {}
  void run(const Stream&, const void*, std::span<const std::uint64_t>) override {}

  Products products_;
};

}  // namespace kiln::rocm
