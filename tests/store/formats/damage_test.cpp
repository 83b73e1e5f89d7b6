// Thousands of damaged files: each is either read or refused with a DataError that begins with the file's name.
// Meant to run under the address and undefined behaviour sanitizers as well.
#include <cstring>

#include <gtest/gtest.h>

#include "kiln/core/random.hpp"
#include "kiln/store/gguf/gguf.hpp"
#include "kiln/store/numpy/numpy.hpp"
#include "kiln/store/pickle/pytorch.hpp"
#include "kiln/store/record/record_file.hpp"
#include "kiln/store/safetensors/safetensors.hpp"
#include "kiln/store/zip/deflate.hpp"
#include "kiln/store/zip/zip_reader.hpp"

#include "pickles.hpp"
#include "samples.hpp"

namespace kiln {
namespace {

std::vector<std::byte> sound_safetensors() {
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
constexpr std::string_view kTokens[] = {"{", "}", "[", "]", "\"", ",", ":", "-1", "0", "1e9", "9223372036854775807",
                                        "18446744073709551616", "\\u", "\\ud800", "\xff", "\xc3", "null",
                                        "__metadata__", "\"shape\"", "\"dtype\":\"F64\"", "data_offsets", "4294967296",
                                        "\\",
                                        // and of binary formats: counts, pickles' opcodes, names of what could run
                                        "\xff\xff\xff\xff", "\xff\xff\xff\xff\xff\xff\xff\x7f", "PK\x01\x02",
                                        "cos\nsystem\n", "R", "(", "\x85", "\x94", "h\x01", "}q\x01s"};

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

/// The record's directory has its checksum mended, so that what reads the directory is reached.
void mend_record(std::vector<std::byte>& bytes) {
  constexpr std::size_t kFooter = 24;
  if (bytes.size() < kFooter) return;
  std::uint64_t length = 0;
  std::byte* const footer = bytes.data() + bytes.size() - kFooter;
  std::memcpy(&length, footer, 8);
  if (length > bytes.size() - kFooter) return;
  const std::uint32_t crc = crc32_of(std::span<const std::byte>(footer - length, static_cast<std::size_t>(length)));
  std::memcpy(footer + 8, &crc, 4);
}

/// Likewise a zip archive's entries.
void mend_zip(std::vector<std::byte>& bytes) {
  const FileBytes file{bytes, "mended", nullptr};
  try {
    for (const auto& [name, entry] : read_zip(file)) {
      const std::uint32_t crc = crc32_of(file.bytes.subspan(entry.begin, static_cast<std::size_t>(entry.stored)));
      for (std::size_t at = 0; at + 46 + name.size() <= bytes.size(); ++at) {
        if (std::memcmp(bytes.data() + at, "PK\x01\x02", 4) != 0 ||
            std::memcmp(bytes.data() + at + 46, name.data(), name.size()) != 0)
          continue;
        std::memcpy(bytes.data() + at + 16, &crc, 4);
      }
    }
  } catch (const DataError&) {}
}

TensorSource sample_for_damage() {
  TensorSource source = sample();
  source.metadata = {{"epoch", "3"}, {"näme", "a \"value\"\n"}};
  return source;
}

struct Case {
  std::string_view name;
  std::vector<std::byte> (*sound)();
  TensorSource (*open)(const FileBytes&);
  void (*mend)(std::vector<std::byte>&);
  std::size_t padding = 0;  // at the end, of no tensor
};

const Case kCases[] = {
    {"safetensors", sound_safetensors, open_safetensors,
     [](std::vector<std::byte>& bytes) { mend_length(bytes, 2 * 9 * 4 + 2 * 2 + 8 + 5); }},
    {"record",
     [] {
       return written(sample_for_damage(),
                      [](const TensorSource& source, ByteSink sink) { write_record(source, sink, {}); });
     },
     open_record, mend_record},
    {"compressed_record",
     [] {
       TensorSource source = sample_for_damage();
       source.tensors.emplace("zeros", stored(TensorData({300}, DType::F32)));
       return written(source, [](const TensorSource& s, ByteSink sink) { write_record(s, sink, {.compress = true}); });
     },
     open_record, mend_record},
    {"pytorch", [] { return written(sample(), write_pytorch); }, open_pytorch, mend_zip},
    {"pytorch_legacy", [] { return bytes_of(legacy_file()); }, open_pytorch, nullptr},
    {"npz", [] { return written(sample(), write_npz); }, open_npz, mend_zip},
    {"npy",
     [] {
       TensorSource one;
       one.tensors.emplace("array", stored(TensorData::of<std::int16_t>({2, 3}, {1, 2, 3, 4, 5, 6})));
       return written(one, write_npy);
     },
     open_npy, nullptr},
    {"gguf", [] { return written(sample_for_damage(), write_gguf); }, open_gguf, nullptr, 16},
};

/// Reads all there is; what a file may be instead is a DataError that begins with its name, or one of memory.
bool reads(const Case& format, std::vector<std::byte> bytes) {
  const FileBytes file = in_memory(std::move(bytes));
  try {
    for (const auto& [name, tensor] : format.open(file).tensors) {
      const TensorData data = tensor.read();
      EXPECT_EQ(data.shape(), tensor.shape) << name;
      EXPECT_EQ(data.bytes().size(), static_cast<std::size_t>(data.numel()) * size_of(data.dtype())) << name;
    }
    return true;
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::Data || error.kind() == ErrorKind::Memory) << error.what();
    EXPECT_TRUE(error.kind() == ErrorKind::Memory || error.message().starts_with("damaged: ")) << error.what();
    return false;
  }
}

class Damage : public testing::TestWithParam<Case> {};

TEST_P(Damage, ReadsOrRefusesTwentyThousandDamagedFiles) {
  const Case& format = GetParam();
  const std::vector<std::byte> sound = format.sound();
  ASSERT_TRUE(reads(format, sound));
  Random random(2024);
  int refused = 0, read = 0;
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = sound;
    for (std::int64_t count = 1 + random.below(4); count > 0 && !bytes.empty(); --count) damage(bytes, random);
    if (format.mend && random.below(2)) format.mend(bytes);
    ++(reads(format, std::move(bytes)) ? read : refused);
    if (HasFailure()) FAIL() << "round " << round;
  }
  // Both outcomes are common: damage to data or to a letter of a name is no damage to the format.
  EXPECT_GT(refused, 2'000);
  EXPECT_GT(read, 100);
}

TEST_P(Damage, AFileThatIsCutOffAnywhereIsRefused) {
  const std::vector<std::byte> sound = GetParam().sound();
  for (std::size_t size = 0; size + GetParam().padding < sound.size(); ++size)
    EXPECT_FALSE(reads(GetParam(), {sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(size)})) << size;
}

INSTANTIATE_TEST_SUITE_P(Formats, Damage, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kiln
