// What the machine has, a GPU or the fake driver.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <optional>

#include "kiln/backend/cuda/driver.hpp"
#include "kiln/backend/cuda/nvrtc.hpp"
#include "kiln/backend/gpu/kernel/builder.hpp"
#include "tests/backend/cuda/fake_driver.hpp"

namespace kiln::cuda::test {

/// Why there is no device; empty where there is one.
inline std::string missing_device() {
  try {
    return device_count() > 0 ? "" : "the driver sees no GPU";
  } catch (const Error& error) { return error.what(); }
}
inline std::string missing_compiler() {
  try {
    (void)nvrtc();
    return "";
  } catch (const Error& error) { return error.what(); }
}

/// Nothing where the driver is a real one.
inline std::optional<FakeState> fake_state() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return std::nullopt;
  const auto state = reinterpret_cast<decltype(&kiln_fake_state)>(::dlsym(library, "kiln_fake_state"));
  return state ? std::optional(state()) : std::nullopt;
}

/// The first device, for all tests.
inline Driver& driver() {
  static const Ref<Driver>& driver = *new Ref<Driver>(make_ref<Driver>(0));
  return *driver;
}

/// Memory of a device, given back at the end.
class Block {
 public:
  Block(Driver& driver, std::size_t bytes) : driver_(driver), start_(driver.memory().map(bytes)), bytes_(bytes) {}
  ~Block() { driver_.memory().unmap(start_, bytes_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  std::byte* start() const { return start_; }

 private:
  Driver& driver_;
  std::byte* start_;
  std::size_t bytes_;
};

/// y[i] = x[i] * factor, of `count` float32.
inline gpu::Kernel scale_kernel(std::string_view name = "scale") {
  gpu::Builder k(name, 128);
  const gpu::Buffer y = k.output(DType::F32), x = k.input(DType::F32);
  const gpu::Expr count = k.number(DType::I64), factor = k.number(DType::F32);
  const gpu::Expr i = k.block().as(DType::I64) * 128 + k.thread().as(DType::I64);
  k.when(i < count, [&] { y.store(i, x[i] * factor); });
  return k.finish();
}

}  // namespace kiln::cuda::test

#define KILN_NEEDS_DEVICE() \
  if (const std::string why = ::kiln::cuda::test::missing_device(); !why.empty()) GTEST_SKIP() << "no GPU: " << why
#define KILN_NEEDS_COMPILER()                                                       \
  if (const std::string why = ::kiln::cuda::test::missing_compiler(); !why.empty()) \
  GTEST_SKIP() << "no compiler of kernels: " << why
