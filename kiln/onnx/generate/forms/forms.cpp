#include "kiln/onnx/generate/forms/forms.hpp"

namespace kiln::onnx::cpp {

Statement said(std::string text) { return {.scope = {}, .results = {}, .places = {}, .text = std::move(text)}; }

Said method(const Site& n, std::string_view name) {
  if (!n.typed(0, kiln::Kind::Float) || !n.gives(kiln::Kind::Float)) return {};
  return said(text(n.in(0), '.', name, "()"));
}

std::string joined(const Ints& numbers) {
  std::string out;
  for (const std::int64_t number : numbers) out += text(out.empty() ? "" : ", ", literal(number));
  return out;
}

Said form_of(const Site& site) {
  if (!site.node.domain.empty()) return {};
  for (const std::span<const Form> family : {elementwise_forms(), view_forms(), reduce_forms()})
    for (const Form& form : family)
      if (form.op == site.node.op) return form.form(site);
  return form_of_function(site);
}

}  // namespace kiln::onnx::cpp
