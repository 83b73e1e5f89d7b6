#include "kiln/ops/product/wider_input.hpp"

#include <cstdio>

#include "kiln/core/error/trace.hpp"

namespace kiln {

void say_input_is_wider(std::string_view function, const Value& x, const Value& weight) {
  const std::string sentence = text(
      "kiln: warning: ", function, ": the input, ", x, ", meets the weight, ", weight,
      "; this result and all that is computed from it is float64, which takes twice the memory and more than twice "
      "the time. Cast the input, x.to(DType::F32), or read it as float: a tensor made of a vector<double> is "
      "float64 (docs/numbers.md). This is said once.",
      detail::lines_of_error(), '\n');
  std::fputs(sentence.c_str(), stderr);
}

}  // namespace kiln
