#include "kiln/core/dtype.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "kiln/core/text.hpp"

namespace kiln {
namespace {

// What each type is, apart from the table under test.
struct Facts {
  const char* name;
  int bits;
  bool real, whole, has_sign;
};
constexpr Facts kFacts[kDTypeCount] = {
    {"float64", 64, true, false, true},  {"float32", 32, true, false, true}, {"float16", 16, true, false, true},
    {"bfloat16", 16, true, false, true}, {"int64", 64, false, true, true},   {"int32", 32, false, true, true},
    {"int16", 16, false, true, true},    {"int8", 8, false, true, true},     {"uint64", 64, false, true, false},
    {"uint32", 32, false, true, false},  {"uint16", 16, false, true, false}, {"uint8", 8, false, true, false},
    {"bool", 8, false, false, false},
};

DType find(int bits, bool has_sign) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (kFacts[i].whole && kFacts[i].bits == bits && kFacts[i].has_sign == has_sign) return static_cast<DType>(i);
  return DType::Bool;
}

// The rules in words, in code: PyTorch's (torch.promote_types), with the unsigned types as NumPy has them but
// without a way from integers to floats.
DType expected_promotion(int i, int j) {
  const Facts &a = kFacts[i], &b = kFacts[j];
  const auto first = static_cast<DType>(i), second = static_cast<DType>(j);
  if (i == j) return first;
  if (a.real && b.real) {
    if (a.bits == b.bits) return DType::F32;  // the two halves: neither holds the other
    return a.bits > b.bits ? first : second;
  }
  if (a.real || b.real) return a.real ? first : second;
  if (!a.whole || !b.whole) return a.whole ? first : second;  // bool beside an integer
  if (a.has_sign == b.has_sign) return a.bits > b.bits ? first : second;
  const int with_sign = a.has_sign ? a.bits : b.bits, without = a.has_sign ? b.bits : a.bits;
  return find(std::min(64, std::max(with_sign, 2 * without)), true);
}

TEST(DTypes, PromoteByTheRulesInAllPairs) {
  for (int i = 0; i < kDTypeCount; ++i)
    for (int j = 0; j < kDTypeCount; ++j)
      EXPECT_EQ(promote(static_cast<DType>(i), static_cast<DType>(j)), expected_promotion(i, j))
          << kFacts[i].name << " and " << kFacts[j].name;
}

TEST(DTypes, KnowTheirNamesSizesAndKinds) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(name(dtype), kFacts[i].name);
    EXPECT_EQ(text(dtype), kFacts[i].name);
    EXPECT_EQ(size_of(dtype) * 8, static_cast<std::size_t>(kFacts[i].bits));
    EXPECT_EQ(is_float(dtype), kFacts[i].real);
    EXPECT_EQ(is_integer(dtype), kFacts[i].whole);
    EXPECT_EQ(kind_of(dtype), kFacts[i].real ? Kind::Float : kFacts[i].whole ? Kind::Int : Kind::Bool);
    visit_dtype(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      EXPECT_EQ(dtype_of<T>, dtype);
      EXPECT_EQ(sizeof(T), size_of(dtype));
    });
  }
}

TEST(DTypes, APlainNumberChangesOnlyTheKind) {
  EXPECT_EQ(promote_scalar(DType::F16, Kind::Float), DType::F16);
  EXPECT_EQ(promote_scalar(DType::F64, Kind::Int), DType::F64);
  EXPECT_EQ(promote_scalar(DType::I32, Kind::Float), DType::F32);
  EXPECT_EQ(promote_scalar(DType::U8, Kind::Int), DType::U8);
  EXPECT_EQ(promote_scalar(DType::I16, Kind::Bool), DType::I16);
  EXPECT_EQ(promote_scalar(DType::Bool, Kind::Float), DType::F32);
  EXPECT_EQ(promote_scalar(DType::Bool, Kind::Int), DType::I64);
  EXPECT_EQ(promote_scalar(DType::Bool, Kind::Bool), DType::Bool);
}

}  // namespace
}  // namespace kiln
