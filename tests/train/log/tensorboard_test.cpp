// TensorBoard's event files, read record by record.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>

#include <unistd.h>

#include "kiln/core/file.hpp"
#include "kiln/train/log/tensorboard.hpp"
#include "tests/train/fresh_directory.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

// A reader of TensorBoard's files, for what is written there: fields by number, of records whose checksums are right.
struct Field {
  int number = 0;
  std::uint64_t value = 0;
  std::string bytes = {};
  double as_double() const { return std::bit_cast<double>(value); }
};
std::vector<Field> fields(std::string_view bytes) {
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t number = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(at++));
      number |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return number;
    }
  };
  const auto fixed = [&](std::size_t size) {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.substr(at, size).data(), size);
    at += size;
    return number;
  };
  std::vector<Field> found;
  while (at < bytes.size()) {
    const std::uint64_t key = varint();
    Field field{static_cast<int>(key >> 3)};
    switch (key & 7) {
      case 0: field.value = varint(); break;
      case 1: field.value = fixed(8); break;
      case 5: field.value = fixed(4); break;
      default: {
        const std::uint64_t size = varint();
        field.bytes = bytes.substr(at, size);
        at += size;
      }
    }
    found.push_back(field);
  }
  return found;
}
std::uint32_t slow_crc32c(std::string_view bytes) {
  std::uint64_t crc = 0xffffffff;
  for (const char byte : bytes)
    for (int bit = 0; bit < 8; ++bit) {
      const bool one = (crc ^ static_cast<unsigned char>(byte) >> bit) & 1;
      crc = crc >> 1 ^ (one ? 0x82f63b78 : 0);
    }
  return ~static_cast<std::uint32_t>(crc);
}
std::vector<std::string> records(const fs::path& file) {
  const std::string bytes = read_text_file(file.string());
  const auto number = [&](std::size_t at, std::size_t size) {
    std::uint64_t n = 0;
    std::memcpy(&n, bytes.data() + at, size);
    return n;
  };
  const auto masked = [](std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; };
  std::vector<std::string> found;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::uint64_t size = number(at, 8);
    EXPECT_EQ(number(at + 8, 4), masked(slow_crc32c(bytes.substr(at, 8))));
    found.push_back(bytes.substr(at + 12, size));
    EXPECT_EQ(number(at + 12 + size, 4), masked(slow_crc32c(found.back())));
    at += 16 + size;
  }
  return found;
}

TEST(TensorBoard, IsGivenRecordsWithChecksums) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);            // the check value of the CRC's catalogues
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EventFile file(fresh_directory("events"), 5);
  file.scalar("valid/loss", 0.375, 300);
  file.histogram("weights", std::vector<float>{0, 0.25f, 1, 1, std::numeric_limits<float>::infinity()}, 6, 2);
  file.image("picture", {.pixels = {0, 1}, .height = 1, .width = 2}, 7);
  file.text("note", "words", 8);

  const auto found = records(file.path());
  ASSERT_EQ(found.size(), 6u);
  EXPECT_EQ(fields(found[0]).at(2).bytes, "brain.Event:2");
  EXPECT_EQ(fields(found[1]).at(1).value, 5u);
  EXPECT_EQ(fields(found[1]).at(2).number, 7);  // a session log
  const auto scalar = fields(found[2]);
  EXPECT_GT(scalar.at(0).as_double(), 1.6e9);
  EXPECT_EQ(scalar.at(1).value, 300u);
  const auto value = fields(fields(scalar.at(2).bytes).at(0).bytes);
  EXPECT_EQ(value.at(0).bytes, "valid/loss");
  EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(value.at(1).value)), 0.375f);
  const auto histogram = fields(fields(fields(fields(found[3]).at(2).bytes).at(0).bytes).at(1).bytes);
  EXPECT_EQ(histogram.at(2).as_double(), 4);     // the finite ones
  EXPECT_EQ(histogram.at(3).as_double(), 2.25);  // their sum
  double counts[2];
  std::memcpy(counts, histogram.at(6).bytes.data(), sizeof counts);
  EXPECT_EQ(counts[0], 2);
  EXPECT_EQ(counts[1], 2);
  const auto image = fields(fields(fields(fields(found[4]).at(2).bytes).at(0).bytes).at(1).bytes);
  EXPECT_EQ(image.at(1).value, 2u);
  EXPECT_EQ(image.at(3).bytes.substr(1, 3), "PNG");
}

TEST(TensorBoard, IsGivenHyperParameters) {
  EventFile file(fresh_directory("hparams"), 0);
  const std::vector<std::string> metrics = {"valid/loss"};
  file.hyper_parameters(
      parse_json(R"({"rate": 0.5, "seed": 7, "name": "adam", "sizes": [1, 2], "o": {"on": true}})", "x"), metrics);
  file.ended(true, 9);
  const auto found = records(file.path());
  ASSERT_EQ(found.size(), 5u);
  // The message that the plugin is given, beside the tag of its summary.
  const auto message = [&](std::size_t record, const std::string& tag) {
    const auto value = fields(fields(fields(found[record]).at(2).bytes).at(0).bytes);
    EXPECT_EQ(value.at(0).bytes, tag);
    const auto plugin = fields(fields(value.at(2).bytes).at(0).bytes);
    EXPECT_EQ(plugin.at(0).bytes, "hparams");
    return fields(fields(plugin.at(1).bytes).at(0).bytes);
  };
  const auto experiment = message(2, "_hparams_/experiment");
  ASSERT_EQ(experiment.size(), 6u);
  EXPECT_EQ(fields(experiment[0].bytes).at(0).bytes, "rate");
  EXPECT_EQ(fields(experiment[4].bytes).at(0).bytes, "o.on");
  EXPECT_EQ(fields(fields(experiment[5].bytes).at(0).bytes).at(0).bytes, "valid/loss");
  const auto start = message(3, "_hparams_/session_start_info");
  const auto value = [&](std::size_t i) { return fields(fields(start.at(i).bytes).at(1).bytes).at(0); };
  EXPECT_EQ(value(0).as_double(), 0.5);
  EXPECT_EQ(value(1).as_double(), 7);
  EXPECT_EQ(value(2).bytes, "adam");
  EXPECT_EQ(value(3).bytes, "[  1,  2]");
  EXPECT_EQ(value(4).number, 4);
  EXPECT_GT(start.at(5).as_double(), 1.6e9);
  EXPECT_EQ(message(4, "_hparams_/session_end_info").at(0).value, 1u);
}

}  // namespace
}  // namespace kiln
