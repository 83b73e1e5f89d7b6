// The simulated GPU with an eye on what it is asked for.
#pragma once
#include <map>
#include <string>

#include "kiln/backend/gpu/kernel/print/print.hpp"
#include "kiln/fusion/fusion.hpp"
#include "tests/backend/gpu/family/library.hpp"

namespace kiln::test {

/// Notes the names of kernels, and what they look like in CUDA, and among them where meetings of ranks are waited for.
class WatchedDriver final : public ForwardingDriver {
 public:
  Ref<gpu::Code> compile(const gpu::Kernel& kernel) override {
    Ref<gpu::Code> code = ForwardingDriver::compile(kernel);
    names_[code.get()] = kernel.name;
    texts[kernel.name] = gpu::print(kernel, gpu::kCudaTarget).text;
    return code;
  }
  void launch(const gpu::Code& code, std::int64_t blocks, std::span<const std::uint64_t> arguments) override {
    launched.push_back(names_.at(&code));
    ForwardingDriver::launch(code, blocks, arguments);
  }
  void wait_for_collective(std::uint64_t meeting) override {
    launched.push_back("await");
    ForwardingDriver::wait_for_collective(meeting);
  }
  std::vector<std::string> launched;
  std::map<std::string, std::string> texts;  // the latest of each name

 private:
  std::map<const gpu::Code*, std::string> names_;
};

/// A GPU behind a Fusion.
struct WatchedDevice {
  explicit WatchedDevice(std::unique_ptr<gpu::Choices> choices = nullptr)
      : device(make_ref<fusion::Fusion>(make_ref<gpu::Gpu>(driver, std::move(choices)))) {}
  ~WatchedDevice() { device.flush(); }  // what nobody read would keep the device alive
  /// The kernels that it takes to run what waits.
  std::vector<std::string> launches() const {
    driver->launched.clear();
    device.flush();
    return driver->launched;
  }
  Value of(const Shape& shape, DType dtype = DType::F32, unsigned seed = 1) const {
    return from_data(whole_numbers(shape, dtype, 9, seed), device);
  }
  const Ref<WatchedDriver> driver = make_ref<WatchedDriver>();
  const Device device;
};

using Names = std::vector<std::string>;

}  // namespace kiln::test
