#include "kiln/ops/precision.hpp"

#include <array>
#include <type_traits>
#include <variant>

#include "kiln/ops/device.hpp"

namespace kiln::op {
namespace {

using Level = Float32Precision::Level;

/// The field of an op that has one, in the op itself or in what it is made of; or null.
template <class T>
const Level* field_of(const T& op) {
  if constexpr (requires { op.precision; }) return &op.precision;
  else if constexpr (requires { op.conv.precision; }) return &op.conv.precision;
  else if constexpr (std::is_same_v<T, Epilogue>)
    return std::visit([](const auto& product) { return field_of(product); }, op.product);
  else return nullptr;
}

/// Whether the op of each alternative may have a precision, so that the others are not visited.
constexpr auto kMayHave = []<class... Ops>(const std::variant<Ops...>*) {
  return std::array{(
      requires(const Ops& op) { op.precision; } || requires(const Ops& op) { op.conv.precision; } ||
      std::is_same_v<Ops, Epilogue>)...};
}(static_cast<const Op::Alternatives*>(nullptr));

/// A user's operation may multiply whatever its operands are.
template <class T>
bool multiplies_float32(Inputs in) {
  if constexpr (std::is_same_v<T, Custom>) return true;
  for (const Value& value : in)
    if (value.node() && value.dtype() == DType::F32) return true;
  return false;
}

}  // namespace

Level precision_of(const Op& op) {
  const Level* const field = visit(op, [](const auto& o) { return field_of(o); });
  return field ? *field : Level::OfDevice;
}

bool is_unsettled(const Op& op, Inputs in) {
  if (!kMayHave[op.is.index()]) return false;
  return visit(op, [&]<class T>(const T& o) {
    const Level* const field = field_of(o);
    return field && *field == Level::OfDevice && multiplies_float32<T>(in);
  });
}

Op settled(const Op& op, const Device& device) {
  const Level said = Float32Precision::said();
  Op made = op;
  const Level* const field = visit(made, [](const auto& o) { return field_of(o); });
  if (field) *const_cast<Level*>(field) = said == Level::OfDevice ? Float32Precision::of(device) : said;
  return made;
}

}  // namespace kiln::op
