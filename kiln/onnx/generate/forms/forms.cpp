#include "kiln/onnx/generate/forms/forms.hpp"

namespace kiln::onnx::cpp {

Statement statement_of(Code code) { return {.code = std::move(code)}; }

MaybeStatement method(const Site& n, std::string_view name) {
  if (!n.typed(0, kiln::Kind::Float) || !n.gives(kiln::Kind::Float)) return {};
  return statement_of(Code::method(n.in(0), name));
}

Code::List literals(const Ints& numbers) {
  Code::List list;
  for (const std::int64_t number : numbers) list.push_back(Code::literal(number));
  return list;
}

MaybeStatement form_of(const Site& site) {
  if (!site.node.domain.empty()) return {};
  for (const std::span<const Form> family : {elementwise_forms(), view_forms(), reduce_forms()})
    for (const Form& form : family)
      if (form.op == site.node.op) return form.form(site);
  return form_of_function(site);
}

}  // namespace kiln::onnx::cpp
