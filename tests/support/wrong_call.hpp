// Wrong calls with their error sentences, and operands for them.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <span>

#include "kiln/ops/functions.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {

struct WrongCall {
  const char* sentence;
  std::function<void()> call;
};

inline void expect_sentences(std::span<const WrongCall> calls) {
  for (const auto& [sentence, call] : calls) EXPECT_EQ(sentence_of(call), sentence);
}

inline Value floats(const Shape& shape) { return ones(shape, Device::cpu()); }
inline Value integers(const Shape& shape, int value = 1) { return full(shape, value, Device::cpu(), DType::I64); }
inline Value flags(const Shape& shape) { return full(shape, true, Device::cpu(), DType::Bool); }

}  // namespace kiln
