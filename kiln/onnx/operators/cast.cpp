// Conversions between element types.
#include <algorithm>
#include <cstring>

#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/onnx/passes/shape_rules.hpp"

namespace kiln::onnx {
namespace {

// The type that versions up to 5 name by a word: "FLOAT".
Element named_type(const Call& c, std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char l) { return l >= 'A' && l <= 'Z' ? char(l + 32) : l; });
  for (std::int32_t i = 1; i < 17; ++i)
    if (onnx::name(static_cast<Element>(i)) == name) return static_cast<Element>(i);
  c.wrong("type '", name, "' is unknown");
}

NarrowRules rules_of(const Call& c, std::string& round_mode) {
  round_mode = c.word("round_mode", "up", {"up", "down", "nearest"});
  return {.saturate = c.i("saturate", 1) != 0, .round_mode = round_mode};
}

Results cast_of(Call& c) {
  std::string round_mode;
  const NarrowRules rules = rules_of(c, round_mode);
  const Element to = c.version() < 6 ? named_type(c, c.s("to", "")) : c.element("to", Element::Undefined);
  return cast_to(c.datum(0), to, rules);
}

Results cast_like(Call& c) {
  std::string round_mode;
  const NarrowRules rules = rules_of(c, round_mode);
  return cast_to(c.datum(0), c.datum(1).element(), rules);
}

Results bit_cast(Call& c) {
  const Element from = c.datum(0).element(), to = c.element("to", Element::Undefined);
  c.check(bits_of(from) > 0 && bits_of(from) == bits_of(to), "the bits of ", name(from), " are not those of ",
          name(to));
  const TensorData data = c[0].data();
  const std::vector<std::byte> bytes = pack(from, data);
  return Datum(from_data(unpack(to, data.shape(), bytes, "BitCast"), c.device()), to);
}

constexpr OperatorRow kCastRows[] = {
    {"BitCast", 26, bit_cast},
    {"Cast", 1, cast_of, {.kind = OperatorKind::Elementwise, .numbers = number_rules::cast}},
    {"CastLike", 15, cast_like, {.kind = OperatorKind::SameShape}},
};

}  // namespace

std::span<const OperatorRow> cast_rows() { return kCastRows; }

}  // namespace kiln::onnx
