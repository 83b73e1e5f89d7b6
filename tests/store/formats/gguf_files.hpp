// GGUF files by hand: quantised blocks with figures of the `gguf` package, and headers of any tensors.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "kiln/store/format/byte_reader.hpp"

#include "samples.hpp"

namespace kiln::gguf_files {

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
inline const Block kBlocks[] = {
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

inline std::string text_of(std::string_view text) {
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

/// A file with two keys and these tensors.
inline std::vector<std::byte> file_of(const std::vector<Described>& tensors, std::string_view data,
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

/// All kinds of blocks, behind each other.
inline std::vector<std::byte> quantised_file() {
  std::vector<Described> tensors;
  std::string data;
  for (const Block& block : kBlocks) {
    tensors.push_back({std::string(block.name), {block.count}, block.id, data.size()});
    data += block.bytes;
    data.resize((data.size() + 31) / 32 * 32, '\0');
  }
  data.resize(data.size() - 14);  // q6_k's 210 bytes end the file
  return file_of(tensors, data);
}

}  // namespace kiln::gguf_files
