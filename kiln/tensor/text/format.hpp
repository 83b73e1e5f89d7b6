// The text of a tensor, laid out as NumPy does it: nested brackets, aligned columns, "..." in what is long.
#pragma once
#include <string>

#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// Where floats are written with exponents: where they are easier to read so, everywhere, or nowhere.
enum class Exponents : std::uint8_t { Automatic, Always, Never };

struct PrintOptions {
  int precision = 8;              // digits after the point, at most
  std::int64_t threshold = 1000;  // a tensor of more elements is shown by its edges
  std::int64_t edge_items = 3;    // how many at either end of a dimension
  int line_width = 75;
  bool suppress_small = false;  // no exponents because of small numbers: they round to 0
  Exponents exponents = Exponents::Automatic;
};

/// What to_text() and print() use where a call says nothing else. Set it before there are other threads.
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
