// Other names, fewer tensors, other layouts and element types: each makes a TensorSource of another, and reads nothing.
#pragma once
#include <vector>

#include "kiln/core/function_ref.hpp"
#include "kiln/store/format/source.hpp"

namespace kiln {

/// What Regex::replace does to a name: {R"(^module\.)", ""}, {R"(layer(\d+)_)", "layers.$1."}.
struct Rename {
  std::string pattern, replacement;
};
/// Each rule in its turn, on every name. Throws ArgumentError for a pattern that is none, or where two tensors come to have
/// one name.
TensorSource renamed(const TensorSource& source, std::span<const Rename> rules);
/// gamma and beta, moving_mean and moving_variance, as TensorFlow and older models call what PyTorch and Kiln call weight
/// and bias, running_mean and running_var.
std::span<const Rename> norm_names();
/// weight_ih, weight_hh, bias_ih, bias_hh to those of layers.0: how Kiln called the weights of an Lstm before it had several
/// layers.
std::span<const Rename> old_recurrent_names();

/// The numbers of each list's elements without gaps, in their order: PyTorch's Sequential of layers and functions has
/// fc.0.weight and fc.3.weight, a vector of layers fc.0.weight and fc.1.weight.
TensorSource without_gaps(const TensorSource& source);

/// The tensors below a key, "model" or "state.ema", by their names below it. Throws DataError where there are none.
TensorSource under(const TensorSource& source, std::string_view key, std::string_view file);
/// Those whose names are to be kept.
TensorSource filtered(const TensorSource& source, FunctionRef<bool(const std::string& name)> keeps);

/// A tensor whose name the pattern finds becomes equal parts of it along `dim`, one for each replacement: the queries, keys
/// and values that some transformers keep as one, {R"(\.c_attn\.)", {".query.", ".key.", ".value."}, -1}.
struct TensorSplit {
  std::string pattern;
  std::vector<std::string> replacements;
  Dim dim = 0;
};
/// Each rule in its turn. Throws as renamed(), and for sizes that are no multiple of the number of parts, a DataError.
TensorSource split(const TensorSource& source, std::span<const TensorSplit> rules, std::string_view file);

/// Dimension i of a tensor whose name fits is dimension order[i] of what the file holds. Tensors of another rank stay.
struct Layout {
  std::string glob;
  Dims order;
};
/// Throws ArgumentError for an order that is no permutation.
TensorSource laid_out(const TensorSource& source, const Layout& layout);
/// The weights of linear layers [in, out], as JAX, TensorFlow and Burn have them, become [out, in], PyTorch's and Kiln's.
Layout transposed_linear(std::string glob = "**.weight");
/// Of convolutions: [out, height, width, in] becomes [out, in, height, width]; [height, width, in, out] likewise.
Layout from_ohwi(std::string glob = "**.weight");
Layout from_hwio(std::string glob = "**.weight");

/// Floats as `dtype`; integers and booleans stay.
TensorSource with_floats(const TensorSource& source, DType dtype);

}  // namespace kiln
