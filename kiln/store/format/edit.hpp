// Renames, filters, transposes and converts tensors. Each function makes a TensorSource of another one, and reads
// nothing.
#pragma once
#include <vector>

#include "kiln/core/function_ref.hpp"
#include "kiln/store/format/source.hpp"

namespace kiln {

/// Regex::replace with these is applied to a name: {R"(^module\.)", ""}, {R"(layer(\d+)_)", "layers.$1."}.
struct Rename {
  std::string pattern, replacement;
};
/// Applies each rule in turn to every name. Throws ArgumentError for a pattern that is not a valid regular expression,
/// or where two tensors get the same name.
TensorSource renamed(const TensorSource& source, std::span<const Rename> rules);
/// Renames gamma and beta, moving_mean and moving_variance, which are the names of TensorFlow and older models, to
/// weight and bias, running_mean and running_var, which are those of PyTorch and Kiln.
std::span<const Rename> norm_names();
/// Renames weight_ih, weight_hh, bias_ih, bias_hh to those of layers.0: Kiln called the weights of an Lstm so before it
/// had several layers.
std::span<const Rename> old_recurrent_names();

/// Renumbers the elements of each list without gaps, in their order: PyTorch's Sequential of layers and functions has
/// fc.0.weight and fc.3.weight, a vector of layers has fc.0.weight and fc.1.weight.
TensorSource renumbered(const TensorSource& source);
[[deprecated("without_gaps() is now renumbered()")]] inline TensorSource without_gaps(const TensorSource& source) {
  return renumbered(source);
}

/// Selects the tensors below a key, "model" or "state.ema", and removes the key from their names. Throws DataError if
/// there are none.
TensorSource under(const TensorSource& source, std::string_view key, std::string_view file);
/// Selects the tensors for whose names `keeps` returns true.
TensorSource filtered(const TensorSource& source, FunctionRef<bool(const std::string& name)> keeps);

/// A tensor whose name the pattern finds is split into equal parts along `dim`, one for each replacement: for example
/// the queries, keys and values that some transformers store as one tensor, {R"(\.c_attn\.)", {".query.", ".key.",
/// ".value."}, -1}.
struct TensorSplit {
  std::string pattern;
  std::vector<std::string> replacements;
  Dim dim = 0;
};
/// Applies each rule in turn. Throws like renamed(), and a DataError for sizes that are not multiples of the number of
/// parts.
TensorSource split(const TensorSource& source, std::span<const TensorSplit> rules, std::string_view file);

/// Dimension i of a tensor whose name matches is dimension order[i] in the file. Tensors of another rank stay as they
/// are.
struct Layout {
  std::string glob;
  Dims order;
};
/// Throws ArgumentError for an order that is not a permutation.
TensorSource with_layout(const TensorSource& source, const Layout& layout);
[[deprecated("laid_out() is now with_layout()")]] inline TensorSource laid_out(const TensorSource& source,
                                                                               const Layout& layout) {
  return with_layout(source, layout);
}
/// The weights of linear layers become [out, in], as in PyTorch and Kiln, from [in, out], as in JAX, TensorFlow and
/// Burn.
Layout transposed_linear(std::string glob = "**.weight");
/// The weights of convolutions become [out, in, height, width] from [out, height, width, in] or [height, width, in,
/// out].
Layout from_ohwi(std::string glob = "**.weight");
Layout from_hwio(std::string glob = "**.weight");

/// Converts floats to `dtype`; integers and booleans stay as they are.
TensorSource with_floats(const TensorSource& source, DType dtype);

}  // namespace kiln
