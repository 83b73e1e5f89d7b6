// Thousands of damaged files: each is either read or refused with a DataError that begins with the file's name.
// Meant to run under the address and undefined behaviour sanitizers as well.
#include <cstring>

#include <gtest/gtest.h>

#include "kiln/core/random.hpp"
#include "kiln/store/safetensors.hpp"

namespace kiln {
namespace {

std::vector<std::byte> sound_file() {
  TensorFile file;
  file.metadata = {{"format", "kiln"}, {"näme", "a \"value\"\n"}};
  file.tensors.emplace("conv1.weight", TensorData({2, 1, 3, 3}, DType::F32));
  file.tensors.emplace("conv1.bias", TensorData({2}, DType::F16));
  file.tensors.emplace("step", TensorData({}, DType::I64));
  file.tensors.emplace("mask", TensorData({5}, DType::Bool));
  file.tensors.emplace("empty", TensorData({0, 4}, DType::BF16));
  return write_safetensors(file);
}

// What parsers stumble over: signs, limits, brackets that do not close, halves of characters.
constexpr std::string_view kTokens[] = {"{",
                                        "}",
                                        "[",
                                        "]",
                                        "\"",
                                        ",",
                                        ":",
                                        "-1",
                                        "0",
                                        "1e9",
                                        "9223372036854775807",
                                        "18446744073709551616",
                                        "\\u",
                                        "\\ud800",
                                        "\xff",
                                        "\xc3",
                                        "null",
                                        "__metadata__",
                                        "\"shape\"",
                                        "\"dtype\":\"F64\"",
                                        "data_offsets",
                                        "4294967296",
                                        "\\"};

void put(std::vector<std::byte>& bytes, std::size_t at, std::string_view token) {
  const auto* first = reinterpret_cast<const std::byte*>(token.data());
  bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), first, first + token.size());
}

void damage(std::vector<std::byte>& bytes, Random& random) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  const auto at = static_cast<std::size_t>(random.below(size));
  switch (random.below(6)) {
    case 0: bytes[at] ^= std::byte(1u << random.below(8)); break;
    case 1: bytes[at] = std::byte(random.below(256)); break;
    case 2: bytes.resize(at + 1); break;
    case 3: bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at)); break;
    case 4: put(bytes, at, kTokens[random.below(std::ssize(kTokens))]); break;
    case 5: {  // a digit of the header for another: shapes and offsets that lie
      for (std::size_t i = at; i < bytes.size(); ++i) {
        if (bytes[i] < std::byte{'0'} || bytes[i] > std::byte{'9'}) continue;
        bytes[i] = std::byte('0' + random.below(10));
        break;
      }
    }
  }
}

/// Makes the length at the file's beginning that of the header again, so that the parser is reached.
void mend_length(std::vector<std::byte>& bytes, std::size_t data_size) {
  if (bytes.size() < 8 + data_size) return;
  const std::uint64_t length = bytes.size() - 8 - data_size;
  std::memcpy(bytes.data(), &length, 8);
}

TEST(SafetensorsFuzz, ReadsOrRefusesTwentyThousandDamagedFiles) {
  const std::vector<std::byte> sound = sound_file();
  const std::size_t data_size = 2 * 9 * 4 + 2 * 2 + 8 + 5;
  Random random(2024);
  int refused = 0, read = 0;
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = sound;
    for (std::int64_t count = 1 + random.below(4); count > 0 && !bytes.empty(); --count) damage(bytes, random);
    if (random.below(2)) mend_length(bytes, data_size);
    bytes.shrink_to_fit();  // so that the sanitizer sees the end where it is
    try {
      const TensorFile file = read_safetensors(bytes, "damaged");
      for (const auto& [name, data] : file.tensors)
        ASSERT_EQ(data.bytes().size(), static_cast<std::size_t>(data.numel()) * size_of(data.dtype())) << name;
      ++read;
    } catch (const DataError& error) {
      ASSERT_TRUE(error.message().starts_with("damaged: ")) << error.what();
      ++refused;
    }
  }
  // Both outcomes are common: damage to data or to a letter of a name is no damage to the format.
  EXPECT_GT(refused, 10'000);
  EXPECT_GT(read, 200);
}

}  // namespace
}  // namespace kiln
