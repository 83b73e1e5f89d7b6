// Sizes as functions of free dimensions, and as tensors of the file.
#include <algorithm>

#include "kiln/onnx/save/writing.hpp"

namespace kiln::onnx {

Size Writing::size(std::size_t line, FunctionRef<std::int64_t(const Program&, const Program::Line&)> read) {
  std::vector<std::int64_t> values;
  for (const Program& capture : captures_) values.push_back(read(capture, capture.lines[line]));
  if (const std::optional<Size> found = symbols_.fit(values)) return *found;
  complain(line, text("a size of it is ", values[0], " and ", values.back(),
                      ", no multiple of the free dimensions and an offset"));
  return {values[0], 0, 0, values[0]};
}

Size Writing::dim_of(std::int32_t value, int dim) {
  std::vector<std::int64_t> values;
  for (const Program& capture : captures_) values.push_back(capture.descs.at(value).shape[dim]);
  if (const std::optional<Size> found = symbols_.fit(values)) return *found;
  return {values[0], 0, ~0u, values[0]};  // some other function, which must not be used as a number
}

std::string Writing::symbol(int number) {
  std::string& name = symbol_names_[number];
  if (!name.empty()) return name;
  for (const FreeDim& dim : symbols_.dims())
    if (symbols_.number_of(dim.name) == number) {
      name = one("Shape", {name_of(static_cast<std::int32_t>(dim.input))},
                 {attribute("start", dim.dim), attribute("end", dim.dim + 1)});
      break;
    }
  return name;
}

std::string Writing::sizes(const std::vector<Size>& list) {
  Strings parts;
  Ints known;
  const auto flush = [&] {
    if (!known.empty()) parts.push_back(ints(known));
    known.clear();
  };
  for (const Size& size : list) {
    if (size.is_fixed()) {
      known.push_back(size.offset);
      continue;
    }
    flush();
    if (size.symbols == ~0u)
      complain("shape", "a size depends on free dimensions otherwise than as a multiple and an offset");
    std::string product;
    for (std::size_t k = 0; k < symbols_.names().size(); ++k) {
      if (!(size.symbols >> k & 1u)) continue;
      const std::string next = symbol(static_cast<int>(k));
      product = product.empty() ? next : one("Mul", {product, next});
    }
    if (size.factor != 1) product = one("Mul", {product, ints({size.factor})});
    if (size.offset != 0) product = one("Add", {product, ints({size.offset})});
    parts.push_back(product);
  }
  flush();
  if (parts.empty()) return ints({});
  return parts.size() == 1 ? parts[0] : one("Concat", parts, {attribute("axis", 0)});
}

std::string Writing::scalar(const Size& size) {
  if (size.is_fixed()) return number(size.offset, DType::I64);
  return one("Squeeze", {sizes({size}), ints({0})});
}

}  // namespace kiln::onnx
