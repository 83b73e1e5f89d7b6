// Takes the place of re2.cpp in a build without it.
#include "kiln/onnx/operators/text/full_match.hpp"

namespace kiln::onnx {

std::vector<std::uint8_t> full_matches(std::string_view op, const std::string&, const Strings&) {
  fail<ArgumentError>(op,
                      ": this Kiln was built without libre2, which matches patterns: install it (Debian: libre2-dev) "
                      "and configure again");
}

}  // namespace kiln::onnx
