// Structs as bytes, by reflection.
#include "kiln/wire/fields.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <optional>
#include <variant>

#include "kiln/core/dtype.hpp"
#include "kiln/core/shape.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::wire {
namespace {

enum class Mode : std::uint8_t { Slow, Fast };
struct Inner {
  Shape shape;
  bool flag = false;
};
struct Everything {
  std::int32_t small = 0;
  std::uint64_t large = 0;
  double real = 0;
  float single = 0;
  Mode mode = Mode::Slow;
  DType dtype = DType::F32;
  std::optional<int> maybe;
  std::vector<Inner> list;
  std::array<std::int16_t, 2> pair{};
  std::variant<int, Inner> either;
  std::string label;
  Scalar number;
};

template <class T>
std::vector<std::byte> bytes_of(const T& value) {
  Writer out;
  write_field(out, value);
  return out.take();
}
template <class T>
T value_of(std::span<const std::byte> bytes) {
  Reader in("here", bytes);
  T value{};
  read_field(in, value);
  in.finish();
  return value;
}
template <class T, class From>
std::string refusal(const From& from) {
  const auto bytes = bytes_of(from);
  return sentence_of([&] { value_of<T>(bytes); });
}

TEST(WireFields, TravelWhateverTheyAre) {
  std::vector<Everything> all(9);
  all[1].small = std::numeric_limits<std::int32_t>::min();
  all[1].large = std::numeric_limits<std::uint64_t>::max();
  all[2].real = -0.1, all[2].single = 0.1f;
  all[3].mode = Mode::Fast, all[3].dtype = DType::BF16;
  all[4].maybe = -3;
  all[5].list = {{{2, 3}, true}, {{}, false}};
  all[6].pair = {-1, 300};
  all[7].either = Inner{{1}, true};
  all[8].label = "näme", all[8].number = Scalar(7);
  for (const Everything& value : all) {
    const Everything found = value_of<Everything>(bytes_of(value));
    EXPECT_TRUE(reflect::equal(found, value)) << reflect::to_text(found) << " of " << reflect::to_text(value);
  }
}

TEST(WireFields, NumbersKeepEveryBit) {
  for (const double number : {-0.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::denorm_min(),
                              std::bit_cast<double>(0x7ff8000000001234u)})
    EXPECT_EQ(std::bit_cast<std::uint64_t>(value_of<double>(bytes_of(number))), std::bit_cast<std::uint64_t>(number));
  for (const Scalar& number : {Scalar(0.5), Scalar(-7), Scalar(true)})
    EXPECT_TRUE(value_of<Scalar>(bytes_of(number)) == number);
}

TEST(WireFields, EnumeratorsTravelByName) {
  enum class Other : std::uint8_t { Fast, Slow };  // the same names in another order
  struct Of {
    Mode mode;
  };
  struct In {
    Other mode;
  };
  EXPECT_EQ(value_of<In>(bytes_of(Of{Mode::Fast})).mode, Other::Fast);
}

TEST(WireFields, OneNameMayMeanValuesOfSeveralEnums) {
  enum class Other : std::uint8_t { None, Fast };
  struct Both {
    Mode mode;
    Other other;
    Mode again;
  };
  const Both found = value_of<Both>(bytes_of(Both{Mode::Fast, Other::Fast, Mode::Fast}));
  EXPECT_EQ(found.mode, Mode::Fast);
  EXPECT_EQ(found.other, Other::Fast);
  EXPECT_EQ(found.again, Mode::Fast);
}

TEST(WireFields, WhatIsNoValueOfItsTypeIsASentence) {
  enum class Newer : std::uint8_t { Fastest };
  EXPECT_EQ(
      refusal<Mode>(Newer::Fastest),
      "DataError: here: byte 9 of the program: this version of Kiln knows no Mode 'Fastest': another one wrote it, "
      "or it is damaged");
  EXPECT_EQ(sentence_of([] { bytes_of(static_cast<Mode>(7)); }), "ArgumentError: Mode: 7 is none of its values");
  EXPECT_EQ(refusal<std::int16_t>(std::int32_t{40000}),
            "DataError: here: byte 3 of the program: 40000 does not fit into 16 bits");
  EXPECT_EQ(refusal<std::uint16_t>(std::uint64_t{65536}),
            "DataError: here: byte 3 of the program: 65536 does not fit into 16 bits");
  EXPECT_EQ(refusal<Shape>(std::vector<std::int64_t>(9)),
            "DataError: here: byte 1 of the program: 9 entries, there can be 8");
  EXPECT_EQ(refusal<std::vector<int>>(std::uint64_t{1} << 60),
            "DataError: here: byte 9 of the program: 1152921504606846976 entries should follow, in 0 bytes");
  EXPECT_EQ((refusal<std::variant<int, bool>>(std::uint8_t{2})),
            "DataError: here: byte 1 of the program: alternative 2 of 2");
}

TEST(WireFields, SchemasNameFieldsAndTypes) {
  std::string schema;
  append_schema<Everything>(schema);
  EXPECT_EQ(schema,
            "{small:i32,large:u64,real:f64,single:f32,mode:Mode,dtype:DType,maybe:i32?,list:[{shape:[i64],flag:bool}],"
            "pair:(i16,i16),either:(i32|{shape:[i64],flag:bool}),label:text,number:number}");
}

}  // namespace
}  // namespace kiln::wire
