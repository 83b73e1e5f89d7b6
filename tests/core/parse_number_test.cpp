// Texts as numbers, by std::from_chars and by what stands in for it where a library lacks it for floating-point numbers.
#include "kiln/core/parse_number.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string_view>

namespace kiln {
namespace {

template <class T>
struct Row {
  std::string_view text;
  T value;
  std::size_t read;  // letters
};

template <class T, class Parse>
void expect_numbers(std::initializer_list<Row<T>> rows, Parse parse) {
  for (const Row<T>& row : rows) {
    T value = 77;
    const auto [end, error] = parse(row.text.data(), row.text.data() + row.text.size(), value);
    EXPECT_EQ(error, std::errc()) << row.text;
    EXPECT_EQ(end - row.text.data(), static_cast<std::ptrdiff_t>(row.read)) << row.text;
    EXPECT_EQ(value, row.value) << row.text;
    EXPECT_EQ(std::signbit(value), std::signbit(row.value)) << row.text;
  }
}

template <class Parse>
void expect_all(Parse parse) {
  expect_numbers<double>({{"0", 0.0, 1},
                          {"-0.0", -0.0, 4},
                          {"1.5e3", 1500.0, 5},
                          {".5", 0.5, 2},
                          {"-2.", -2.0, 3},
                          {"7,5", 7.0, 1},
                          {"1e", 1.0, 1},
                          {"0x10", 0.0, 1},
                          {"0.1", 0x1.999999999999ap-4, 3},
                          {"1.7976931348623157e308", 0x1.fffffffffffffp1023, 22},
                          {"2.2250738585072014e-308", 0x1p-1022, 23},
                          // Subnormal, of which strtod says that they are out of range.
                          {"2.2250738585072011e-308", 0x0.fffffffffffffp-1022, 23},
                          {"1e-310", 0x0.012688b70e62bp-1022, 6},
                          {"-4.9406564584124654e-324", -0x1p-1074, 24},
                          {"3e-324", 0x1p-1074, 6},
                          {"inf", std::numeric_limits<double>::infinity(), 3},
                          {"-infinity", -std::numeric_limits<double>::infinity(), 9}},
                         parse);
  expect_numbers<float>({{"0.1", 0x1.99999ap-4f, 3},
                         {"3.4028235e38", 0x1.fffffep127f, 12},
                         {"1.1754944e-38", 0x1p-126f, 13},
                         {"1.1754942e-38", 0x0.fffffep-126f, 13},
                         {"1e-40", 0x1.16c2p-133f, 5},
                         {"-1.4e-45", -0x1p-149f, 8},
                         {"1e-45", 0x1p-149f, 5}},
                        parse);
}

TEST(ParseNumber, TakesAllNumbersThatThereAre) {
  expect_all([](const char* first, const char* last, auto& value) { return parse_number(first, last, value); });
  expect_all(
      [](const char* first, const char* last, auto& value) { return detail::parse_by_strtod(first, last, value); });
}

TEST(ParseNumber, RefusesWhatNoNumberIs) {
  for (const std::string_view text : {"", "-", "+1", " 1", "e5", ".", "-.e", "abc", "--1"}) {
    double value = 77;
    const char* const last = text.data() + text.size();
    EXPECT_EQ(parse_number(text.data(), last, value).ec, std::errc::invalid_argument) << text;
    EXPECT_EQ(detail::parse_by_strtod(text.data(), last, value).ec, std::errc::invalid_argument) << text;
    EXPECT_EQ(value, 77) << text;
  }
}

TEST(ParseNumber, SaysWhatIsTooLargeOrTooSmall) {
  for (const std::string_view text : {"1e309", "-1e400", "1e-400", "-2e-324"}) {
    double value = 77;
    const auto [end, error] = detail::parse_by_strtod(text.data(), text.data() + text.size(), value);
    EXPECT_EQ(error, std::errc::result_out_of_range) << text;
    EXPECT_EQ(end, text.data() + text.size()) << text;
    EXPECT_EQ(value, 77) << text;
  }
  float value = 77;
  const std::string_view text = "1e39";
  EXPECT_EQ(detail::parse_by_strtod(text.data(), text.data() + text.size(), value).ec, std::errc::result_out_of_range);
  EXPECT_EQ(value, 77);
}

TEST(ParseNumber, ReadsIntegers) {
  int value = 0;
  const std::string_view text = "-123x";
  EXPECT_EQ(parse_number(text.data(), text.data() + text.size(), value).ptr, text.data() + 4);
  EXPECT_EQ(value, -123);
}

}  // namespace
}  // namespace kiln
