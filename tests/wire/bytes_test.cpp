// Numbers, text and names as bytes.
#include <gtest/gtest.h>

#include <limits>

#include "kiln/wire/reader.hpp"
#include "kiln/wire/writer.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::wire {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> numbers) {
  std::vector<std::byte> bytes;
  for (const int number : numbers) bytes.push_back(static_cast<std::byte>(number));
  return bytes;
}
template <class F>
std::vector<std::byte> written(F&& write) {
  Writer out;
  write(out);
  return out.take();
}
/// What a reader of these bytes says.
template <class F>
std::string refusal(std::initializer_list<int> numbers, F&& read) {
  const std::vector<std::byte> bytes = bytes_of(numbers);
  return sentence_of([&] {
    Reader in("a.kiln", bytes);
    read(in);
  });
}

// DWARF 5, section 7.6, has these examples of LEB128.
TEST(WireBytes, WholeNumbersTakeAsFewAsTheyNeed) {
  const std::pair<std::uint64_t, std::vector<std::byte>> examples[] = {
      {2, bytes_of({2})},
      {127, bytes_of({127})},
      {128, bytes_of({0x80, 1})},
      {129, bytes_of({0x81, 1})},
      {12857, bytes_of({0xb9, 0x64})},
      {0, bytes_of({0})},
      {std::numeric_limits<std::uint64_t>::max(), bytes_of({255, 255, 255, 255, 255, 255, 255, 255, 255, 1})}};
  for (const auto& [number, bytes] : examples) {
    EXPECT_EQ(written([&](Writer& out) { out.whole(number); }), bytes);
    Reader in("here", bytes);
    EXPECT_EQ(in.whole(), number);
    in.finish();
  }
}

TEST(WireBytes, IntegersNearZeroAreShortOnBothSides) {
  for (const auto& [number, bytes] : {std::pair{0L, bytes_of({0})},
                                      {-1L, bytes_of({1})},
                                      {1L, bytes_of({2})},
                                      {-64L, bytes_of({127})},
                                      {64L, bytes_of({0x80, 1})}}) {
    EXPECT_EQ(written([&](Writer& out) { out.integer(number); }), bytes);
    Reader in("here", bytes);
    EXPECT_EQ(in.integer(), number);
  }
  for (const std::int64_t number :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    const auto bytes = written([&](Writer& out) { out.integer(number); });
    EXPECT_EQ(bytes.size(), 10u);
    EXPECT_EQ(Reader("here", bytes).integer(), number);
  }
}

TEST(WireBytes, FixedNumbersAreLittleEndian) {
  EXPECT_EQ(written([](Writer& out) { out.fixed(0x01020304, 4); }), bytes_of({4, 3, 2, 1}));
  EXPECT_EQ(Reader("here", bytes_of({4, 3, 2, 1})).fixed(4), 0x01020304u);
}

TEST(WireBytes, SpellNamesOnceInAllMessages) {
  Writer out;
  out.name("add");
  out.name("mul");
  out.name("add");
  const auto first = out.take();
  EXPECT_EQ(first, bytes_of({0, 3, 'a', 'd', 'd', 0, 3, 'm', 'u', 'l', 1}));
  out.name("mul");
  const auto second = out.take();
  EXPECT_EQ(second, bytes_of({2}));

  Reader in("peer", first);
  EXPECT_EQ(in.name().text, "add");
  EXPECT_EQ(in.name().text, "mul");
  EXPECT_EQ(in.name().text, "add");
  in.finish();
  in.open(second);
  EXPECT_EQ(in.name().text, "mul");
}

TEST(WireBytes, WhatDoesNotFitIsASentence) {
  const auto whole = [](Reader& in) { in.whole(); };
  EXPECT_EQ(refusal({}, whole), "DataError: a.kiln: byte 0 of the program: it ends here, too early");
  EXPECT_EQ(refusal({0x80}, whole), "DataError: a.kiln: byte 1 of the program: it ends here, too early");
  EXPECT_EQ(refusal({0x80, 0}, whole), "DataError: a.kiln: byte 2 of the program: a number with superfluous digits");
  EXPECT_EQ(refusal({255, 255, 255, 255, 255, 255, 255, 255, 255, 2}, whole),
            "DataError: a.kiln: byte 10 of the program: a number over 2^64 - 1");
  EXPECT_EQ(refusal({255, 255, 255, 255, 255, 255, 255, 255, 255, 129, 1}, whole),
            "DataError: a.kiln: byte 11 of the program: a number over 2^64 - 1");
  EXPECT_EQ(refusal({2}, [](Reader& in) { in.flag(); }),
            "DataError: a.kiln: byte 1 of the program: a truth value of 2");
  EXPECT_EQ(refusal({7, 'a'}, [](Reader& in) { in.text(100); }),
            "DataError: a.kiln: byte 1 of the program: 7 bytes of text should follow, in 1 bytes");
  EXPECT_EQ(refusal({7, 'a'}, [](Reader& in) { in.text(6); }),
            "DataError: a.kiln: byte 1 of the program: 7 bytes of text, there can be 6");
  EXPECT_EQ(refusal({3}, [](Reader& in) { in.name(); }),
            "DataError: a.kiln: byte 1 of the program: name 2 of 0 that were spelled");
  EXPECT_EQ(refusal({0, 1, 27, 0, 1, 27}, [](Reader& in) { in.name(), in.name(); }),
            "DataError: a.kiln: byte 6 of the program: '\\x1b' is spelled twice");
  EXPECT_EQ(refusal({1, 2}, [](Reader& in) { in.whole(), in.finish(); }),
            "DataError: a.kiln: byte 1 of the program: 1 bytes follow its end");
}

TEST(WireBytes, NoMoreNamesAreKeptThanTheLimitSays) {
  const auto bytes = written([](Writer& out) {
    for (char letter = 'a'; letter < 'e'; ++letter) out.name(std::string(1, letter));
  });
  Reader in("peer", bytes, {.names = 3});
  for (int i = 0; i < 3; ++i) in.name();
  EXPECT_EQ(sentence_of([&] { in.name(); }), "DataError: peer: byte 10 of the program: more than 3 different names");
}

}  // namespace
}  // namespace kiln::wire
