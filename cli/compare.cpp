#include "cli/commands.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/store/format/source.hpp"

namespace kiln::cli {
namespace {

/// Returns an empty string if they agree. Floats of different types are compared in the wider type.
std::string difference_of(const StoredTensor& a, const StoredTensor& b, const Tolerance& tolerance) {
  if (a.shape != b.shape) return text("has shape ", a.shape, " and ", b.shape);
  if (kind_of(a.dtype) != kind_of(b.dtype)) return text("is ", a.dtype, " and ", b.dtype);
  const DType common = promote(a.dtype, b.dtype);
  return difference(a.read().to(common), b.read().to(common), tolerance);
}

}  // namespace

Difference compare(const DiffOptions& options) {
  const TensorSource a = open_tensors(options.a), b = open_tensors(options.b);
  const Tolerance tolerance{.relative = options.relative, .absolute = options.absolute};
  Difference result;
  std::size_t same = 0;
  const auto note = [&](const std::string& name, std::string_view what) {
    result.text += text(shown(name), ' ', what, what.ends_with('\n') ? "" : "\n");
    result.same = false;
  };
  for (const auto& [name, tensor] : a.tensors) {
    const auto other = b.tensors.find(name);
    if (other == b.tensors.end()) {
      if (!b.left_out.contains(name)) note(name, "is only in a");
    } else if (const std::string found = difference_of(tensor, other->second, tolerance); !found.empty()) {
      note(name, found);
    } else {
      ++same;
    }
  }
  for (const auto& [name, tensor] : b.tensors)
    if (!a.tensors.contains(name) && !a.left_out.contains(name)) note(name, "is only in b");
  for (const auto& [source, letter] : {std::pair(&a, 'a'), std::pair(&b, 'b')})
    for (const auto& [name, reason] : source->left_out)
      note(name, text("is not compared: that of ", letter, ' ', reason));
  result.text += text(same, " tensors are the same\n");
  return result;
}

}  // namespace kiln::cli
