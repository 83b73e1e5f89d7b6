#include "kiln/fusion/simplification.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "kiln/ops/composite.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/fusion_traits.hpp"

namespace kiln::fusion {
namespace {

// A repeat long after the last use of the first result is done again: the tensor would have to be kept in between, and
// what checkpoints compute again would not go in the meantime.
constexpr std::uint32_t kNear = 16;

bool keeps_elements(const op::Op& op) {
  return std::holds_alternative<op::Reshape>(op.is) || std::holds_alternative<op::Expand>(op.is) ||
         std::holds_alternative<op::Permute>(op.is);
}

/// What gives the same bits as a number and as a tensor: a few functions that are rounded once.
std::optional<std::variant<op::Unary, op::Binary, op::Cast>> arithmetic(const op::Op& op) {
  if (const auto* unary = std::get_if<op::Unary>(&op.is))
    if (unary->fn == op::UnaryFn::Neg || unary->fn == op::UnaryFn::Square) return *unary;
  if (const auto* binary = std::get_if<op::Binary>(&op.is))
    if (binary->fn == op::BinaryFn::Add || binary->fn == op::BinaryFn::Sub || binary->fn == op::BinaryFn::Mul ||
        binary->fn == op::BinaryFn::Div)
      return *binary;
  return std::nullopt;
}

/// What an element of the type keeps of the number that it is filled with.
Scalar stored(const Scalar& number, DType dtype) {
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) -> Scalar {
    if constexpr (is_half<T>) return static_cast<float>(T(number.to<double>()));
    else return number.to<T>();
  });
}

/// The number as tensors of the type compute with it.
Scalar taken(const Scalar& number, DType dtype) {
  return dtype == DType::F64 ? Scalar(number.to<double>()) : Scalar(number.to<float>());
}

/// The element that a result of arithmetic is stored as.
Scalar rounded(const Scalar& number, DType dtype) {
  switch (dtype) {
    case DType::F32: return number.to<float>();
    case DType::F16: return static_cast<float>(F16(number.to<float>()));
    case DType::BF16: return static_cast<float>(BF16(number.to<float>()));
    default: return number.to<double>();
  }
}

}  // namespace

Scalar ConstantFold::of(const std::vector<Scalar>& numbers) const {
  if (std::holds_alternative<op::Cast>(op)) return stored(numbers[in[0].index()], dtype);
  const auto number = [&](std::size_t i) { return taken(numbers[in[i].index()], dtype); };
  // Float64 has so many digits that rounding twice is rounding once.
  return rounded(std::visit(
                     [&]<class Op>(const Op& op) {
                       if constexpr (std::is_same_v<Op, op::Unary>) return op::evaluate(op.fn, number(0));
                       else if constexpr (std::is_same_v<Op, op::Cast>) return number(0);
                       else return op::evaluate(op.fn, number(0), number(1));
                     },
                     op),
                 dtype);
}

Simplification::Simplification(const Segment& segment, const FusionTraits& traits)
    : entries_(segment.entries()), references_(segment.references()) {
  const auto desc = [&](Reference value) -> const Desc& { return segment.values()[value.index()]->desc; };
  std::vector<Reference> same;  // of each value: the first that is equal
  for (std::uint32_t i = 0; i < segment.values().size(); ++i) same.push_back(Reference::value(i));
  std::vector<std::optional<Reference>> filled_with(same.size());  // the number, of values that are nothing else
  std::vector<std::optional<Reference>> widened(same.size());      // the halves, of values that are those in float32
  using Words = SpareVector<std::uint64_t>;
  using Known = std::pair<const Words, Reference>;
  std::map<Words, Reference, std::less<>, SpareAllocator<Known>> known;  // what an operation on its operands has given
  std::vector<std::uint64_t> words;

  constexpr std::uint32_t kEnd = ~0u;
  std::vector<std::uint32_t> last_use(same.size());
  for (std::uint32_t i = 0; i < same.size(); ++i)
    if (segment.visible(i)) last_use[i] = kEnd;
  for (std::uint32_t i = 0; i < entries_.size(); ++i)
    for (const Reference operand : segment.operands(entries_[i]))
      if (operand.is_value()) last_use[operand.index()] = std::max(last_use[operand.index()], i);

  const auto derive = [&](const ConstantFold& constant_fold) {
    constant_folds_.push_back(constant_fold);
    return Reference::number(static_cast<std::uint32_t>(segment.numbers().size() + constant_folds_.size() - 1));
  };
  for (std::uint32_t index = 0; index < entries_.size(); ++index) {
    Segment::Entry& entry = entries_[index];
    Reference* const operands = &references_[entry.first];
    for (std::size_t i = 0; i < entry.operands; ++i)
      if (operands[i].is_value()) operands[i] = same[operands[i].index()];
    if (traits.widens)
      for (std::size_t i = 0; i < entry.operands; ++i)
        if (operands[i].is_value() && widened[operands[i].index()] && traits.widens(entry.op, i))
          operands[i] = *widened[operands[i].index()];
    if (entry.results != 1 || entry.operands == 0 || std::holds_alternative<op::Custom>(entry.op.is)) continue;
    if (op::visit(entry.op, []<class T>(const T&) { return T::kFacts.may_fail == MayFail::WithRanks; })) continue;
    const Reference result = operands[entry.operands];

    const auto number_of = [&](Reference operand) -> std::optional<Reference> {
      return operand.is_number() ? operand : filled_with[operand.index()];
    };
    const auto numbers = arithmetic(entry.op);
    if (numbers && is_float(desc(result).dtype) && number_of(operands[0]) &&
        (entry.operands == 1 || number_of(operands[1]))) {
      operands[0] =
          derive({*numbers, {*number_of(operands[0]), *number_of(operands[entry.operands - 1])}, desc(result).dtype});
      operands[1] = result;
      entry.operands = 1;
      entry.op = op::Fill{desc(result).shape, desc(result).dtype};
    }

    if (std::holds_alternative<op::Fill>(entry.op.is) && operands[0].is_number()) {
      const DType dtype = desc(result).dtype;
      const bool whole = dtype == DType::F32 || dtype == DType::F64;  // those who read the number round it themselves
      filled_with[result.index()] = whole ? operands[0] : derive({op::Cast{dtype}, {operands[0], operands[0]}, dtype});
    } else if (keeps_elements(entry.op)) {
      filled_with[result.index()] = filled_with[operands[0].index()];
      if (std::holds_alternative<op::Reshape>(entry.op.is)) widened[result.index()] = widened[operands[0].index()];
    } else if (std::holds_alternative<op::Cast>(entry.op.is) && operands[0].is_value() &&
               desc(result).dtype == DType::F32 && op::is_half(desc(operands[0]).dtype)) {
      widened[result.index()] = operands[0];
    } else if (std::holds_alternative<op::Binary>(entry.op.is) && operands[0].is_value() && operands[1].is_value()) {
      for (const std::size_t i : {0, 1}) {
        const std::optional<Reference> number = filled_with[operands[i].index()];
        if (!number || desc(operands[1 - i]).shape != desc(result).shape) continue;
        operands[i] = *number;
        break;
      }
    }

    words.clear();
    encode(entry.op, words);
    for (std::size_t i = 0; i < entry.operands; ++i) words.push_back(operands[i].code());
    const auto [found, fresh] = known.try_emplace(Words(words.begin(), words.end()), result);
    const Reference first = found->second;
    if (fresh) continue;
    if (last_use[first.index()] < kEnd && last_use[first.index()] + kNear < index) {
      found->second = result;
      continue;
    }
    last_use[first.index()] = std::max(last_use[first.index()], last_use[result.index()]);
    entry.op = op::Reshape{desc(result).shape};
    entry.operands = 1;
    operands[0] = same[result.index()] = first;
    operands[1] = result;
    filled_with[result.index()] = filled_with[first.index()];
  }
}

}  // namespace kiln::fusion
