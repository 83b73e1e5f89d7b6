// Kernels of tests, run on vectors.
#pragma once
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "kiln/backend/gpu/kernel/builder.hpp"
#include "kiln/backend/gpu/kernel/interpret.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::gpu {

/// What a kernel is given: a vector's memory from end to end, or a number.
struct Given {
  std::uint64_t bits = 0;
  Extent extent{};
  template <class T>
  Given(std::vector<T>& memory) : bits(reinterpret_cast<std::uintptr_t>(memory.data())) {
    extent = {bits, bits + memory.size() * sizeof(T)};
  }
  template <class T>
  requires std::is_arithmetic_v<T> Given(T number) {
    std::memcpy(&bits, &number, sizeof(T));
  }
};

inline void run(const Kernel& kernel, std::int64_t blocks, const std::vector<Given>& given) {
  std::vector<std::uint64_t> arguments;
  std::vector<Extent> extents;
  for (const Given& each : given) {
    arguments.push_back(each.bits);
    extents.push_back(each.extent);
  }
  interpret(kernel, blocks, arguments, extents);
}

/// What is said of a kernel that `write` builds and one block of it, of 64 threads, does to 64 numbers.
template <class F>
std::string said_of(F write) {
  std::vector<std::int32_t> memory(64, 1);
  return sentence_of([&] {
    Builder k("wrong", 64);
    const Buffer x = k.both(DType::I32);
    write(k, x);
    run(k.finish(), 1, {memory});
    return 0;
  });
}

}  // namespace kiln::gpu
