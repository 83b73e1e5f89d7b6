// The text of a tensor, in NumPy's layout: nested brackets, aligned columns, "..." for long dimensions.
#pragma once
#include <string>

#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// When floats are written with exponents: where that is easier to read, always, or never.
enum class Exponents : std::uint8_t { Automatic, Always, Never };

struct PrintOptions {
  int precision = 8;              // digits after the point, at most
  std::int64_t threshold = 1000;  // a tensor with more elements is shown by its edges
  std::int64_t edge_items = 3;    // the number of elements shown at either end of a dimension
  int line_width = 75;
  bool suppress_small = false;  // small numbers cause no exponents: they round to 0
  Exponents exponents = Exponents::Automatic;
};

/// The default options of to_text() and print(). Set them before other threads exist.
PrintOptions print_options();
void set_print_options(const PrintOptions& options);

std::string to_text(const TensorData& data, const PrintOptions& options = print_options());
/// Waits for the device.
std::string to_text(const Value& tensor, const PrintOptions& options = print_options());
template <int D, class K>
std::string to_text(const Tensor<D, K>& tensor, const PrintOptions& options = print_options()) {
  return to_text(tensor.value(), options);
}

}  // namespace kiln
