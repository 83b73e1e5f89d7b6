// GGUF: quantised blocks against figures of the `gguf` package, and headers that lie.
#include "kiln/store/gguf/gguf.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "gguf_files.hpp"

namespace kiln {
namespace {

using namespace gguf_files;

std::string refused(const std::vector<Described>& tensors, std::string_view data, std::uint32_t alignment = 32) {
  return error_of([&] { open_gguf(in_memory(file_of(tensors, data, alignment), "m.gguf")); });
}

TEST(Gguf, DequantisesBlocksAsGgmlDoes) {
  for (const Block& block : kBlocks) {
    const FileBytes file = in_memory(file_of({{"w", {block.count, 2}, block.id, 0}}, text(block.bytes, block.bytes)));
    const TensorSource source = open_gguf(file);
    const StoredTensor& tensor = source.tensors.at("w");
    EXPECT_EQ(tensor.encoding, block.name);
    EXPECT_EQ(tensor.shape, (Shape{2, block.count}));
    EXPECT_EQ(tensor.stored_bytes, 2 * static_cast<std::int64_t>(block.bytes.size()));
    const TensorData data = tensor.read();
    double sum = 0;
    for (std::int64_t i = 0; i < block.count; ++i) {
      sum += data.at(i);
      EXPECT_EQ(data.at(i), data.at(block.count + i)) << block.name;
    }
    for (const auto& [place, expected] : block.elements)
      EXPECT_EQ(data.at(place), expected) << block.name << ' ' << place;
    EXPECT_NEAR(sum, block.sum, 1e-6) << block.name;
  }
}

TEST(Gguf, KeysAreMetadataAndArraysLists) {
  const TensorSource source = open_gguf(in_memory(file_of({}, "")));
  EXPECT_EQ(source.metadata, (Metadata{{"general.alignment", "32"}, {"tokens", "[a, bc]"}}));
}

TEST(Gguf, RefusesWhatDoesNotFitTogether) {
  const std::string data(64, '\0');
  EXPECT_EQ(refused({{"w", {40}, 2, 0}}, data).substr(0, 31), "DataError: m.gguf: header, byte");
  EXPECT_NE(refused({{"w", {40}, 2, 0}}, data).find("rows of shape [40] are not whole blocks of 32"),
            std::string::npos);
  EXPECT_NE(refused({{"w", {4}, 99, 0}}, data).find("has the type 99, which Kiln does not read"), std::string::npos);
  EXPECT_EQ(refused({{"w", {16}, 0, 32}}, data),
            "DataError: m.gguf: tensor 'w': 64 bytes from 32 on are not within the file's 64 bytes of data");
  EXPECT_EQ(refused({{"v", {8}, 0, 0}, {"w", {8}, 0, 16}}, data), "DataError: m.gguf: tensor 'w' overlaps another");
  EXPECT_EQ(refused({{"w", {std::int64_t{1} << 62, 4}, 0, 0}}, data),
            "DataError: m.gguf: tensor 'w': shape [4, 4611686018427387904] is over 2^63 - 1 bytes");
  EXPECT_NE(refused({{"w", {-1}, 0, 0}}, data).find("has a negative size"), std::string::npos);
  EXPECT_EQ(refused({{"w", {4}, 0, 0}, {"w", {4}, 0, 32}}, data), "DataError: m.gguf: tensor 'w' occurs twice");
  EXPECT_NE(refused({}, data, 12).find("'general.alignment' is 12, no multiple of 8"), std::string::npos);
}

TEST(Gguf, WritesNumbersAsNumbersAndTheRestAsText) {
  TensorSource source = sample();
  source.metadata = {{"a.count", "12"}, {"a.rate", "0.25"}, {"a.flag", "true"}, {"a.name", "nan"}, {"a.code", "007"}};
  const std::vector<std::byte> bytes = written(source, write_gguf);
  EXPECT_EQ(open_gguf(in_memory(bytes)).metadata, source.metadata);
  const auto type_of = [&](std::string_view key) {
    const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return static_cast<int>(all[all.find(key) + key.size()]);
  };
  EXPECT_EQ(type_of("a.count"), 11);
  EXPECT_EQ(type_of("a.rate"), 12);
  EXPECT_EQ(type_of("a.flag"), 7);
  EXPECT_EQ(type_of("a.name"), 8);
  EXPECT_EQ(type_of("a.code"), 8);
}

// numpy.sin(numpy.arange(64) * 0.37 + 0.2).astype("f4") * 3 as two rows, and what gguf 0.19 (quants.quantize) makes of it.
TEST(Gguf, QuantisesAsGgmlDoes) {
  const std::pair<std::string_view, std::string_view> kQuantised[] = {
      {"q8_0",
       "\011\046\031\105\147\173\177\161\124\054\376\320\250\215\201\206\234\277\353\032\105\147\173\176"
       "\161\123\053\375\317\250\215\201\207\235\012\046\300\354\033\106\150\173\176\160\123\052\374\316"
       "\247\214\201\207\235\301\355\034\107\150\174\176\160\122\051\373\315\247\214\201"sv},
      {"q4_0",
       "\375\065\172\254\316\377\377\377\375\333\270\205\122\041\020\000\002\044\376\065\044\107\172\254"
       "\317\377\377\377\375\333\270\205\122\041\020\000"sv}};
  std::vector<float> numbers(64);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(std::sin(static_cast<double>(i) * 0.37 + 0.2)) * 3;
  TensorSource source;
  source.tensors.emplace("w", stored(TensorData::of<float>({2, 32}, std::span<const float>(numbers))));
  source.tensors.emplace("rows_of_three", stored(TensorData({32, 3}, DType::F32)));
  source.tensors.emplace("bias", stored(TensorData({32}, DType::F32)));
  for (const auto& [encoding, blocks] : kQuantised) {
    const std::vector<std::byte> bytes = written(quantised_for_gguf(source, encoding), write_gguf);
    const std::vector<std::byte> expected = bytes_of(blocks);
    EXPECT_NE(std::ranges::search(bytes, expected).size(), 0u) << encoding;
    const TensorSource read = open_gguf(in_memory(bytes));
    EXPECT_EQ(read.tensors.at("w").encoding, encoding);
    EXPECT_EQ(read.tensors.at("w").stored_bytes, std::ssize(expected));
    EXPECT_EQ(read.tensors.at("rows_of_three").encoding, "");
    EXPECT_EQ(read.tensors.at("bias").encoding, "");
    EXPECT_EQ(written(read, write_gguf), bytes) << "what was quantised stays as it is";
  }
  EXPECT_EQ(error_of([&] { quantised_for_gguf(source, "q4_k"); }),
            "ArgumentError: quantised_for_gguf: 'q4_k' is not q8_0 or q4_0, which Kiln writes");
  numbers[5] = NAN;
  source.tensors.at("w") = stored(TensorData::of<float>({2, 32}, std::span<const float>(numbers)));
  EXPECT_EQ(error_of([&] { written(quantised_for_gguf(source, "q8_0"), write_gguf); }),
            "ArgumentError: write_gguf: tensor 'w' has nan, which q8_0 cannot hold");
}

TEST(Gguf, QuantisesZerosAndTheSmallestNumbers) {
  std::vector<float> numbers(64, 0.0f);
  numbers[40] = 1e-44f;
  TensorSource source;
  source.tensors.emplace("w", stored(TensorData::of<float>({2, 32}, std::span<const float>(numbers))));
  for (const char* encoding : {"q8_0", "q4_0"}) {
    const auto bytes = written(quantised_for_gguf(source, encoding), write_gguf);
    EXPECT_EQ(open_gguf(in_memory(bytes)).tensors.at("w").read().to_vector<float>(), std::vector<float>(64, 0.0f));
  }
}

TEST(Gguf, SaysWhatItCannotHold) {
  TensorSource source;
  source.tensors.emplace("mask", stored(TensorData({2}, DType::Bool)));
  EXPECT_EQ(error_of([&] { written(source, write_gguf); }),
            "ArgumentError: write_gguf: tensor 'mask': GGUF has no bool");
}

}  // namespace
}  // namespace kiln
