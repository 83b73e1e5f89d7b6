#include "kiln/ops/op.hpp"

#include "kiln/core/reflect_values.hpp"

namespace kiln::op {

std::string_view spoken_name(const Op& op) {
  return visit(op, []<class T>(const T& o) -> std::string_view {
    if constexpr (requires { name(o.fn); }) return name(o.fn);
    else return T::kName;
  });
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
        out += text(out.empty() ? "" : ", ", field, "=");
        reflect::append_text(out, value);
      });
  });
  return out;
}

void append(std::string& out, const Op& op) {
  if (const auto* custom = std::get_if<Custom>(&op.is)) out += custom->op->name();
  else out += spoken_name(op);
  out += text("(", attributes(op), ")");
}

}  // namespace kiln::op
