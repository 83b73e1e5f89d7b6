// Kernels of tests, run on vectors.
#pragma once
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "kiln/backend/gpu/kernel/builder.hpp"
#include "kiln/backend/gpu/kernel/interpret.hpp"
#include "kiln/core/error/error.hpp"
#include "tests/backend/gpu/lowered.hpp"
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

/// Copies of the memory that a kernel is given, with other bytes around them that it must leave alone.
class Surrounded {
 public:
  /// 32 bytes and `apart`, twice or three times that, stand before a piece of memory.
  Surrounded(const std::vector<Given>& given, std::size_t apart) {
    for (const Given& each : given) {
      const std::size_t before = 32 + apart * (1 + copies_.size() % 3);
      const std::size_t bytes = each.extent.begin == 0 ? 0 : each.extent.end - each.extent.begin;
      std::vector<std::uint64_t>& copy = copies_.emplace_back((before + bytes + 15) / 16 * 2, 0x5a5a5a5a5a5a5a5a);
      std::byte* const memory = reinterpret_cast<std::byte*>(copy.data()) + before;
      if (bytes) std::memcpy(memory, reinterpret_cast<const void*>(each.bits), bytes);
      arguments.push_back(bytes ? reinterpret_cast<std::uintptr_t>(memory) : each.bits);
    }
  }
  Extent extent_of(std::uint64_t address) const {
    for (const std::vector<std::uint64_t>& each : copies_)
      if (const auto begin = reinterpret_cast<std::uintptr_t>(each.data()), end = begin + 8 * each.size();
          address >= begin && address < end)
        return {begin, end};
    return {address, address};
  }
  friend bool operator==(const Surrounded& a, const Surrounded& b) { return a.copies_ == b.copies_; }

  std::vector<std::uint64_t> arguments;

 private:
  std::vector<std::vector<std::uint64_t>> copies_;
};

inline std::size_t widest_access(const Kernel& kernel, const Statements& statements) {
  std::size_t widest = 1;
  for (const Statement& each : statements) {
    if (each.instruction.kind == Instruction::Kind::Load)
      widest = std::max<std::size_t>(widest, each.instruction.width);
    if (each.kind == Statement::Kind::Store) widest = std::max(widest, each.operands.size() - 1);
    for (const Statements* const part : {&each.head, &each.body, &each.otherwise})
      widest = std::max(widest, widest_access(kernel, *part));
  }
  return widest;
}

/// What a rule of lowering makes of the kernel does the same, bit for bit, unless the rule says that it cannot.
inline void expect_same_lowered(const Kernel& kernel, std::int64_t blocks, const std::vector<Given>& given,
                                const LoweringRule& rule, std::vector<std::string>* refused = nullptr) {
  Kernel made;
  try {
    made = rule.apply(kernel);
  } catch (const DeviceError& error) {
    if (refused) refused->push_back(error.what());
    return;
  }
  // Elements that are not accessed several at a time may begin anywhere.
  std::size_t apart = 16;
  if (widest_access(kernel, kernel.body) == 1) {
    apart = 1;
    for (const Parameter& each : kernel.parameters)
      if (each.kind != Parameter::Kind::Number) apart = std::max(apart, size_of(each.dtype));
  }
  Surrounded plain(given, apart), lowered(given, apart);
  interpret_lowered(kernel, blocks, plain.arguments, [&](std::uint64_t at) { return plain.extent_of(at); });
  interpret_lowered(made, blocks, lowered.arguments, [&](std::uint64_t at) { return lowered.extent_of(at); });
  EXPECT_TRUE(plain == lowered) << "kernel " << kernel.name << " computes something else with the rule " << rule.name;
}

/// Runs the kernel, and what each rule of lowering makes of it.
inline void run(const Kernel& kernel, std::int64_t blocks, const std::vector<Given>& given) {
  std::vector<std::uint64_t> arguments;
  std::vector<Extent> extents;
  for (const Given& each : given) {
    arguments.push_back(each.bits);
    extents.push_back(each.extent);
  }
  const Surrounded before(given, 0);
  const auto lower = [&](const std::vector<Given>& again) {
    for (const LoweringRule& rule : kLoweringRules) expect_same_lowered(kernel, blocks, again, rule);
  };
  std::vector<Given> again = given;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].extent.begin == 0) continue;
    again[i].extent = {before.arguments[i], before.arguments[i] + (given[i].extent.end - given[i].extent.begin)};
    again[i].bits = before.arguments[i];
  }
  interpret(kernel, blocks, arguments, extents);
  lower(again);
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
