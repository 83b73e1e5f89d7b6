// What the machine has: a GPU, or a driver that runs on the processor.
#pragma once
#include <gtest/gtest.h>

#include <cstring>

#include "kiln/backend/gpu/kernel/builder.hpp"
#include "kiln/backend/vulkan/driver.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::vulkan::test {

/// Why there is no device; empty where there is one.
inline std::string missing_device() {
  try {
    (void)Instance::get();
    return "";
  } catch (const Error& error) { return error.what(); }
}

/// The first device, for all tests.
inline Driver& driver() {
  static const Ref<Driver>& driver = *new Ref<Driver>(make_ref<Driver>(0));
  return *driver;
}

/// Memory of a device, given back at the end.
class Block {
 public:
  Block(Driver& driver, std::size_t bytes)
      : driver_(driver), start_(driver.memory().map((bytes + 4095) / 4096 * 4096)), bytes_(bytes) {}
  ~Block() { driver_.memory().unmap(start_, bytes_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  std::byte* start() const { return start_; }
  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(start_); }

  template <class T>
  void fill(const std::vector<T>& values) const {
    driver_.upload(start_, std::as_bytes(std::span(values)));
  }
  template <class T>
  std::vector<T> read(std::size_t count) const {
    std::vector<T> values(count);
    driver_.download(start_, count * sizeof(T))->wait(reinterpret_cast<std::byte*>(values.data()));
    return values;
  }

 private:
  Driver& driver_;
  std::byte* const start_;
  const std::size_t bytes_;
};

inline std::uint64_t bits(float number) {
  std::uint32_t word = 0;
  std::memcpy(&word, &number, sizeof(word));
  return word;
}

/// y[i] = x[i] * factor, of `count` float32.
inline gpu::Kernel scale_kernel(std::string_view name = "scale") {
  gpu::Builder k(name, 128);
  const gpu::Buffer y = k.output(DType::F32), x = k.input(DType::F32);
  const gpu::Expr count = k.number(DType::I32), factor = k.number(DType::F32);
  const gpu::Expr i = k.block() * 128 + k.thread();
  k.when(i < count, [&] { y.store(i, x[i] * factor); });
  return k.finish();
}

}  // namespace kiln::vulkan::test

#define KILN_NEEDS_DEVICE() \
  if (const std::string why = ::kiln::vulkan::test::missing_device(); !why.empty()) GTEST_SKIP() << "no device: " << why
