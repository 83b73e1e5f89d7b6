// GGUF: quantised blocks against figures of the `gguf` package, and headers that lie.
#include "kiln/store/gguf/gguf.hpp"

#include <cstring>

#include <gtest/gtest.h>

#include "kiln/store/format/byte_reader.hpp"

#include "samples.hpp"

namespace kiln {
namespace {

using namespace std::string_view_literals;

// A block of random bytes with a sane scale, and what gguf 0.19 (quants.dequantize) makes of some of its elements and of
// their sum: rng = numpy.random.default_rng(5); raw = rng.integers(0, 256, size); raw's scale = 0.0125, minimum 0.25.
struct Block {
  std::uint32_t id;
  std::string_view name;
  std::int64_t count;
  std::string_view bytes;
  std::vector<std::pair<std::int64_t, double>> elements;
  double sum;
};
const Block kBlocks[] = {
    {2,
     "q4_0",
     32,
     "f\042\270\253\356\253\024\316\365\231\314\005%5\325\316\300\255"sv,
     {{0, 0.0},
      {1, 0.0374908447265625},
      {15, 0.0624847412109375},
      {16, 0.0374908447265625},
      {17, 0.024993896484375},
      {31, 0.024993896484375}},
     0.3124237060546875},
    {8,
     "q8_0",
     32,
     "f\042\354\203v\004W\241|G*I\355\020\302\372\012g\316\015\217\002&G\205v$b"
     "\304#9\2222\263"sv,
     {{0, -0.24993896484375},
      {1, -1.5621185302734375},
      {15, 1.2871856689453125},
      {16, -0.624847412109375},
      {17, 0.1624603271484375},
      {31, -0.9622650146484375}},
     3.824066162109375},
    {12,
     "q4_k",
     256,
     "f\042\0004\265'\227\013\264\212B\000\245b{\014\220\270\030&\201\001\312\377U6\3440"
     "\177\251\001\247m\367\020\300N\334\010<\275\265@H\010\271Xo\277\212cC0Dd\371"
     "C(\177-!3\316\345\331U5\314x\206\037\330\016\177\240\035\320\241tdS\227\306\240"
     "\255\3016~~9v\252k\203;\2554\213\265\251\077\304\220\017\212\211\207\365\017\214;\216"
     "\374\214L\3473\332}E\227u\214\134\275\3210\341G\331\330/|[p\020-X\270_"
     "H\327\336\255"sv,
     {{0, -13.0},
      {1, -7.7012939453125},
      {31, -3.0649261474609375},
      {32, 1.8864288330078125},
      {63, 0.424285888671875},
      {64, 3.8114471435546875},
      {100, 0.4123992919921875},
      {127, 0.824798583984375},
      {128, -9.112838745117188},
      {161, -9.275054931640625},
      {200, -1.9884185791015625},
      {255, 1.4996337890625}},
     -667.0133666992188},
    {14,
     "q6_k",
     256,
     "$\222K\037\276\036\276\336\276KOW\377\2131:\205\011a\213\207\030<\3454kI\342"
     "\3023H\337J\275tN\134\213\275\004\270]4\307\363m\036\265\315\302^\305Y\237N\000"
     "m/\261\011\372u\334\200\017\255\314Uti\311o\224\353i\356\273`\0104\022\265)\207"
     "\357p/S\342\353\202K\300 d\316\351[9'\006\001\003QJ\316h\036\202d'&"
     "\260\203\360G\212\256\321\262\274\016]\224C\311\323r\251\200g+iL\207\314\326\323\276\314"
     "y\316J<\010\322H\0178h\335Q\362\225`%\225\347\304\314\015@\001\205\2617\317\201"
     "#6bJ\214r\242\201\324g\253\367\3507w<\276\351\237\304P\246\270\003\013\201UP"
     "\363\302\347\356l\032\013\337\325\255\370\025f\042"sv,
     {{0, -1.64959716796875},
      {1, -4.123992919921875},
      {31, 26.980911254882812},
      {32, 10.622406005859375},
      {63, 15.99609375},
      {64, -0.324920654296875},
      {100, 3.4366607666015625},
      {127, -5.398681640625},
      {128, -1.34967041015625},
      {161, -2.8867950439453125},
      {200, -4.8363189697265625},
      {255, -6.5608978271484375}},
     459.8876953125},
};

std::string text_of(std::string_view text) {
  std::string out;
  append_number(out, static_cast<std::uint64_t>(text.size()));
  return out.append(text);
}

struct Described {
  std::string name;
  std::vector<std::int64_t> dims;  // the fastest first
  std::uint32_t type;
  std::uint64_t begin;
};

/// A file with one key and these tensors.
std::vector<std::byte> file_of(const std::vector<Described>& tensors, std::string_view data,
                               std::uint32_t alignment = 32) {
  std::string out = "GGUF";
  append_number(out, std::uint32_t{3});
  append_number(out, static_cast<std::uint64_t>(tensors.size()));
  append_number(out, std::uint64_t{2});
  out += text_of("general.alignment");
  append_number(out, std::uint32_t{4});
  append_number(out, alignment);
  out += text_of("tokens");
  append_number(out, std::uint32_t{9});
  append_number(out, std::uint32_t{8});
  append_number(out, std::uint64_t{2});
  out += text_of("a") + text_of("bc");
  for (const auto& [name, dims, type, begin] : tensors) {
    out += text_of(name);
    append_number(out, static_cast<std::uint32_t>(dims.size()));
    for (const std::int64_t dim : dims) append_number(out, dim);
    append_number(out, type);
    append_number(out, begin);
  }
  while (alignment && out.size() % alignment) out += '\0';
  return bytes_of(out.append(data));
}

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
  EXPECT_NE(refused({{"w", {40}, 2, 0}}, data).find("rows of shape [40] are no whole blocks of 32"), std::string::npos);
  EXPECT_NE(refused({{"w", {4}, 99, 0}}, data).find("has the type 99, which Kiln does not read"), std::string::npos);
  EXPECT_EQ(refused({{"w", {16}, 0, 32}}, data),
            "DataError: m.gguf: tensor 'w': 64 bytes from 32 on do not lie within the file's 64 bytes of data");
  EXPECT_EQ(refused({{"v", {8}, 0, 0}, {"w", {8}, 0, 16}}, data), "DataError: m.gguf: tensor 'w' overlaps another");
  EXPECT_EQ(refused({{"w", {std::int64_t{1} << 62, 4}, 0, 0}}, data),
            "DataError: m.gguf: tensor 'w': shape [4, 4611686018427387904] is over 2^63 - 1 bytes");
  EXPECT_NE(refused({{"w", {-1}, 0, 0}}, data).find("has a negative size"), std::string::npos);
  EXPECT_EQ(refused({{"w", {4}, 0, 0}, {"w", {4}, 0, 32}}, data), "DataError: m.gguf: tensor 'w' stands there twice");
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

TEST(Gguf, SaysWhatItCannotHold) {
  TensorSource source;
  source.tensors.emplace("mask", stored(TensorData({2}, DType::Bool)));
  EXPECT_EQ(error_of([&] { written(source, write_gguf); }),
            "ArgumentError: write_gguf: tensor 'mask': GGUF has no bool");
}

}  // namespace
}  // namespace kiln
