#include "kiln/ops/op.hpp"

#include "kiln/core/reflect/reflect_values.hpp"
#include "kiln/ops/planned/sequence.hpp"

namespace kiln::op {

Op::Op(const Op& other) : is(other.is) {}
Op::Op(Op&& other) noexcept : is(std::move(other.is)) {}
Op& Op::operator=(const Op& other) {
  is = other.is;
  return *this;
}
Op& Op::operator=(Op&& other) noexcept {
  is = std::move(other.is);
  return *this;
}
Op::~Op() { is.~variant(); }

std::string_view function_name(const Op& op) {
  return visit(op, []<class T>(const T& o) -> std::string_view {
    if constexpr (requires { name(o.fn); }) return name(o.fn);
    else return T::kName;
  });
}

namespace {

std::string display_name_of(const Program& program) {
  constexpr std::size_t kShown = 8;
  std::string out;
  for (std::size_t i = 0; i < program.steps.size() && i < kShown; ++i)
    out += text(i ? "+" : "", std::visit([](const auto& step) { return function_name(step); }, program.steps[i].op));
  if (program.steps.size() > kShown) out += text("+... (", program.steps.size(), " steps)");
  return out;
}

}  // namespace

std::string display_name(const Op& op) {
  if (const Sequence* const sequence = sequence_of(op)) {
    std::string out;
    for (const SequenceStep& step : sequence->steps) out += text(out.empty() ? "" : ", ", display_name(step.op));
    return out;
  }
  if (const auto* horizontal = std::get_if<Batched>(&op.is))
    return text(horizontal->parts->all.size(), " x ", display_name(horizontal->parts->all[0].op));
  if (const auto* custom = std::get_if<Custom>(&op.is)) return custom->op->name();
  if (const auto* fused = std::get_if<Fused>(&op.is)) return display_name_of(*fused->program);
  if (const auto* epilogue = std::get_if<Epilogue>(&op.is))
    return text(std::visit([](const auto& product) { return function_name(product); }, epilogue->product), "+",
                display_name_of(*epilogue->program));
  return std::string(function_name(op));
}

bool operator==(const Op& a, const Op& b) { return reflect::equal(a.is, b.is); }

std::size_t hash(const Op& op) { return static_cast<std::size_t>(reflect::hash(op.is)); }

std::string attributes(const Op& op) {
  std::string out;
  visit(op, [&]<class T>(const T& o) {
    if constexpr (std::is_same_v<T, Custom>) return;
    else
      reflect::for_each_field(o, [&](std::string_view field, const auto& value) {
        if (field == "fn") return;  // it is the spoken name
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, Float32Precision::Level>)
          if (value != Float32Precision::High) return;
        out += text(out.empty() ? "" : ", ", field, "=");
        reflect::append_text(out, value);
      });
  });
  return out;
}

void append(std::string& out, const Op& op) {
  if (const auto* custom = std::get_if<Custom>(&op.is)) out += custom->op->name();
  else out += function_name(op);
  out += text("(", attributes(op), ")");
}

}  // namespace kiln::op
