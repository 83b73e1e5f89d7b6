#include "kiln/backend/remote/call_form.hpp"

#include "kiln/core/reflect/reflect_words.hpp"
#include "kiln/wire/fields.hpp"
#include "kiln/wire/op_wire.hpp"

namespace kiln::remote {
namespace {

/// Appends an op and its attributes: equal words mean equal ops. Planned ops are never sent.
void append_op(std::vector<std::uint64_t>& words, const op::Op& op) {
  words.push_back(op.is.index());
  op::visit(op, [&]<class T>(const T& o) {
    if constexpr (std::is_same_v<T, op::Custom>)
      o.op->identify(words), words.push_back(static_cast<std::uint64_t>(o.precision));
    else if constexpr (reflect::HasWords<T>) reflect::append_words(words, o);
  });
}

/// Whether a user's operation says only where it lies. Another one may lie there later, so that its form is never found again.
bool is_known_by_address(const op::Op& op) {
  const auto* const custom = std::get_if<op::Custom>(&op.is);
  if (!custom) return false;
  std::vector<std::uint64_t> words;
  custom->op->identify(words);
  return words.empty() || words.back() == reinterpret_cast<std::uintptr_t>(custom->op.get());
}

FormOperand::Is kind_of_operand(const Value& value) {
  return value.node()        ? FormOperand::Is::Tensor
         : value.is_scalar() ? FormOperand::Is::Number
                             : FormOperand::Is::Nothing;
}

}  // namespace

bool may_fail_on_data(const op::Op& op) {
  return op::visit(op, []<class T>(const T&) { return T::kTraits.may_fail == MayFail::OnData; });
}

void write_number(wire::Writer& out, const Scalar& number) {
  if (number.kind() == Kind::Float) wire::write_field(out, number.to<double>());
  else out.integer(number.to<std::int64_t>());
}

Scalar read_number(wire::Reader& in, Kind kind) {
  if (kind == Kind::Float) return std::bit_cast<double>(in.fixed(8));
  const std::int64_t whole = in.integer();
  if (kind == Kind::Int) return whole;
  if (whole < 0 || whole > 1) in.wrong("a truth value of ", whole);
  return whole != 0;
}

void write_form(wire::Writer& out, const op::Op& op, const Call& call, const char* function) {
  wire::write_op(out, op);
  out.text(function ? function : "");
  out.whole(call.in.size());
  for (const Value& value : call.in) {
    const FormOperand::Is is = kind_of_operand(value);
    out.byte(static_cast<std::uint8_t>(is));
    if (is == FormOperand::Is::Tensor) wire::write_desc(out, value.node()->desc);
    if (is == FormOperand::Is::Number) wire::write_field(out, value.scalar().kind());
  }
  out.whole(call.out.size());
  for (const Value& value : call.out) wire::write_desc(out, value.node()->desc);
}

CallForm read_form(wire::Reader& in) {
  CallForm form{wire::read_op(in), {}, {}, {}};
  form.function = in.text(128);
  for (std::size_t count = in.length(in.left(), "operands"); count > 0; --count) {
    FormOperand& operand = form.in.emplace_back();
    const std::uint8_t is = in.byte();
    if (is > static_cast<std::uint8_t>(FormOperand::Is::Number)) in.wrong("an operand of kind ", int{is});
    operand.is = static_cast<FormOperand::Is>(is);
    if (operand.is == FormOperand::Is::Tensor) operand.desc = wire::read_desc(in);
    if (operand.is == FormOperand::Is::Number) wire::read_field(in, operand.kind);
  }
  for (std::size_t count = in.length(in.left(), "results"); count > 0; --count) form.out.push_back(wire::read_desc(in));
  return form;
}

std::size_t FormNumbers::HashOfWords::operator()(const Words& words) const {
  std::uint64_t hash = words.size();
  for (const std::uint64_t word : words) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return static_cast<std::size_t>(hash);
}

FormNumbers::Found FormNumbers::find_or_add(const op::Op& op, const Call& call, const char* function) {
  if (is_known_by_address(op)) return {count_++, true};
  key_.clear();
  append_op(key_, op);
  key_.push_back(reinterpret_cast<std::uintptr_t>(function));
  key_.push_back(call.in.size() << 16 | call.out.size());
  for (const Value& value : call.in) {
    const FormOperand::Is is = kind_of_operand(value);
    key_.push_back(static_cast<std::uint64_t>(is));
    if (is == FormOperand::Is::Tensor) reflect::append_words(key_, value.node()->desc);
    if (is == FormOperand::Is::Number) key_.push_back(static_cast<std::uint64_t>(value.scalar().kind()));
  }
  for (const Value& value : call.out) reflect::append_words(key_, value.node()->desc);
  if (const auto known = numbers_.find(key_); known != numbers_.end()) return {known->second, false};
  numbers_.emplace(key_, count_);
  return {count_++, true};
}

}  // namespace kiln::remote
