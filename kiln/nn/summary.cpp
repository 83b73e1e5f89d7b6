#include "kiln/nn/summary.hpp"

namespace kiln::nn {

std::string grouped(std::int64_t number) {
  std::string digits = text(number);
  for (auto at = static_cast<std::int64_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

void Tree::begin_line(int depth) {
  if (!text_.empty()) text_ += '\n';
  text_.append(static_cast<std::size_t>(options_.indentation * depth), ' ');
}

void Tree::open(std::string_view name, std::string_view type, std::int64_t params) {
  ++depth_;
  if (!is_shown()) return;
  begin_line(depth_ - 1);
  text_ += name;
  if (!name.empty() && !type.empty()) text_ += ": ";
  text_ += type;
  if (!params) return;
  const char* const comma = name.empty() && type.empty() ? "" : ", ";
  text_ += text(comma, grouped(params), params == 1 ? " parameter" : " parameters");
}

void Tree::option(std::string_view name, const std::string& value) {
  if (value == "[]") return;  // an option that was not given
  if (options_.options && is_shown()) text_ += text(", ", name, name.empty() ? "" : " ", value);
}

void Tree::tensor(std::string_view name, std::string_view role, const Value& value) {
  if (!options_.tensors || !is_shown()) return;
  begin_line(depth_);
  text_ += text(name, " ", value.shape());
  if (value.dtype() != DType::F32) text_ += text(" ", value.dtype());
  if (!role.empty()) text_ += text(" ", role);
}

}  // namespace kiln::nn
