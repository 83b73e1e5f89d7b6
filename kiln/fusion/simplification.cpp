#include "kiln/fusion/simplification.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "kiln/ops/composite.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/fusion_traits.hpp"

namespace kiln::fusion {
namespace {

bool keeps_elements(const op::Op& op) {
  return std::holds_alternative<op::Reshape>(op.is) || std::holds_alternative<op::Expand>(op.is) ||
         std::holds_alternative<op::Permute>(op.is);
}

/// Returns the op if it gives the same bits on numbers as on tensors: one of a few functions that are rounded once.
std::optional<std::variant<op::Unary, op::Binary, op::Cast>> arithmetic(const op::Op& op) {
  if (const auto* unary = std::get_if<op::Unary>(&op.is))
    if (unary->fn == op::UnaryFn::Neg || unary->fn == op::UnaryFn::Square) return *unary;
  if (const auto* binary = std::get_if<op::Binary>(&op.is))
    if (binary->fn == op::BinaryFn::Add || binary->fn == op::BinaryFn::Sub || binary->fn == op::BinaryFn::Mul ||
        binary->fn == op::BinaryFn::Div)
      return *binary;
  return std::nullopt;
}

/// Returns what an element of the type keeps of the number that its tensor is filled with.
Scalar stored(const Scalar& number, DType dtype) {
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) -> Scalar {
    if constexpr (is_half<T>) return static_cast<float>(T(number.to<double>()));
    else return number.to<T>();
  });
}

/// Returns the number as tensors of the type compute with it.
Scalar as_operand(const Scalar& number, DType dtype) {
  return dtype == DType::F64 ? Scalar(number.to<double>()) : Scalar(number.to<float>());
}

/// Returns the element as which a result of arithmetic is stored.
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
  const auto number = [&](std::size_t i) { return as_operand(numbers[in[i].index()], dtype); };
  // Float64 has enough digits that rounding twice gives the same as rounding once.
  return rounded(std::visit(
                     [&]<class Op>(const Op& op) {
                       if constexpr (std::is_same_v<Op, op::Unary>) return op::evaluate(op.fn, number(0));
                       else if constexpr (std::is_same_v<Op, op::Cast>) return number(0);
                       else return op::evaluate(op.fn, number(0), number(1));
                     },
                     op),
                 dtype);
}

/// Goes through the entries once, in order, and changes each in place.
class Simplification::Simplifier {
 public:
  Simplifier(Simplification& simplified, const Segment& segment, const FusionTraits& traits)
      : simplified_(simplified),
        segment_(segment),
        traits_(traits),
        filled_with_(segment.values().size()),
        widened_(segment.values().size()),
        last_use_(segment.values().size()) {
    const auto count = static_cast<std::uint32_t>(segment.values().size());
    for (std::uint32_t i = 0; i < count; ++i) same_.push_back(Reference::value(i));
    for (std::uint32_t i = 0; i < count; ++i)
      if (segment.visible(i)) last_use_[i] = kEnd;
    for (std::uint32_t i = 0; i < segment.size(); ++i)
      for (const Reference operand : segment.operands(segment.entries()[i]))
        if (operand.is_value()) last_use_[operand.index()] = std::max(last_use_[operand.index()], i);
  }

  void run() {
    for (std::uint32_t i = 0; i < simplified_.entries_.size(); ++i) {
      RecordedCall& entry = simplified_.entries_[i];
      replace_operands(entry);
      if (entry.results != 1 || entry.operands == 0 || std::holds_alternative<op::Custom>(entry.op.is)) continue;
      if (op::visit(entry.op, []<class T>(const T&) { return T::kTraits.may_fail == MayFail::WithRanks; })) continue;
      fold_numbers(entry);
      note_contents(entry);
      drop_repeat(entry, i);
    }
  }

 private:
  const Desc& desc(Reference value) const { return segment_.values()[value.index()]->desc; }
  Reference* operands(const RecordedCall& entry) { return &simplified_.references_[entry.first]; }
  Reference result(const RecordedCall& entry) { return operands(entry)[entry.operands]; }

  /// Replaces an entry by an op with a single operand.
  void become(RecordedCall& entry, op::Op op, Reference operand) {
    const Reference made = result(entry);
    operands(entry)[0] = operand;
    operands(entry)[1] = made;
    entry.operands = 1;
    entry.op = std::move(op);
  }

  Reference derive(const ConstantFold& constant_fold) {
    simplified_.constant_folds_.push_back(constant_fold);
    const std::size_t count = segment_.numbers().size() + simplified_.constant_folds_.size();
    return Reference::number(static_cast<std::uint32_t>(count - 1));
  }

  /// Replaces repeats by the first result, and halves in float32 by the halves themselves, where the kernel takes them.
  void replace_operands(const RecordedCall& entry) {
    for (std::size_t i = 0; i < entry.operands; ++i) {
      Reference& operand = operands(entry)[i];
      if (!operand.is_value()) continue;
      operand = same_[operand.index()];
      const std::optional<Reference>& halves = widened_[operand.index()];
      if (halves && traits_.accepts_halves && traits_.accepts_halves(entry.op, i)) operand = *halves;
    }
  }

  /// Replaces arithmetic on numbers, or on tensors filled with one number, by a Fill with the resulting number.
  void fold_numbers(RecordedCall& entry) {
    const auto number_of = [&](Reference operand) -> std::optional<Reference> {
      return operand.is_number() ? operand : filled_with_[operand.index()];
    };
    const auto numbers = arithmetic(entry.op);
    const Desc& made = desc(result(entry));
    if (!numbers || !is_float(made.dtype)) return;
    const std::optional<Reference> first = number_of(operands(entry)[0]);
    if (!first) return;
    const std::optional<Reference> second = entry.operands == 1 ? first : number_of(operands(entry)[1]);
    if (second) become(entry, op::Fill{made.shape, made.dtype}, derive({*numbers, {*first, *second}, made.dtype}));
  }

  /// Notes the number that an entry's result is filled with, or the halves from which it was widened. Replaces one
  /// operand of a binary operation by the number that it is filled with.
  void note_contents(const RecordedCall& entry) {
    Reference* const in = operands(entry);
    const Reference made = result(entry);
    if (std::holds_alternative<op::Fill>(entry.op.is) && in[0].is_number()) {
      const DType dtype = desc(made).dtype;
      const bool whole = dtype == DType::F32 || dtype == DType::F64;  // kernels that read a number round it themselves
      filled_with_[made.index()] = whole ? in[0] : derive({op::Cast{dtype}, {in[0], in[0]}, dtype});
    } else if (keeps_elements(entry.op)) {
      filled_with_[made.index()] = filled_with_[in[0].index()];
      if (std::holds_alternative<op::Reshape>(entry.op.is)) widened_[made.index()] = widened_[in[0].index()];
    } else if (std::holds_alternative<op::Cast>(entry.op.is) && in[0].is_value() && desc(made).dtype == DType::F32 &&
               op::is_half(desc(in[0]).dtype)) {
      widened_[made.index()] = in[0];
    } else if (std::holds_alternative<op::Binary>(entry.op.is) && in[0].is_value() && in[1].is_value()) {
      for (const std::size_t i : {0, 1}) {
        const std::optional<Reference> number = filled_with_[in[i].index()];
        if (!number || desc(in[1 - i]).shape != desc(made).shape) continue;
        in[i] = *number;
        break;
      }
    }
  }

  /// Turns a repeat into a view of the first result. Long after the last use of that result, the operation runs again.
  void drop_repeat(RecordedCall& entry, std::uint32_t index) {
    const Reference made = result(entry);
    words_.clear();
    encode(entry.op, words_);
    for (std::size_t i = 0; i < entry.operands; ++i) words_.push_back(operands(entry)[i].code());
    const auto [found, fresh] = results_.try_emplace(Words(words_.begin(), words_.end()), made);
    const Reference first = found->second;
    if (fresh) return;
    if (last_use_[first.index()] < kEnd && last_use_[first.index()] + traits_.repeats_within < index) {
      found->second = made;
      return;
    }
    last_use_[first.index()] = std::max(last_use_[first.index()], last_use_[made.index()]);
    become(entry, op::Reshape{desc(made).shape}, first);
    same_[made.index()] = first;
    filled_with_[made.index()] = filled_with_[first.index()];
  }

  using Words = SpareVector<std::uint64_t>;
  static constexpr std::uint32_t kEnd = ~0u;

  Simplification& simplified_;
  const Segment& segment_;
  const FusionTraits& traits_;
  std::vector<Reference> same_;                        // for each value, the first value that is equal to it
  std::vector<std::optional<Reference>> filled_with_;  // the number that all elements of a value are
  std::vector<std::optional<Reference>> widened_;      // the halves from which a float32 value was widened
  std::vector<std::uint32_t> last_use_;                // the last entry that reads a value
  /// The first result of each operation on its operands.
  std::map<Words, Reference, std::less<>, SpareAllocator<std::pair<const Words, Reference>>> results_;
  std::vector<std::uint64_t> words_;
};

Simplification::Simplification(const Segment& segment, const FusionTraits& traits)
    : entries_(segment.entries()), references_(segment.references()) {
  Simplifier(*this, segment, traits).run();
}

}  // namespace kiln::fusion
