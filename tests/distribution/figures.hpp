// Figures of PyTorch (torch_figures.py) and of SciPy (scipy_figures.py), and comparisons with them.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "kiln/core/file.hpp"
#include "kiln/distribution.hpp"
#include "kiln/store/safetensors/safetensors.hpp"

#include "tests/support/devices.hpp"

namespace kiln::distribution {

inline const TensorData* stored_if_any(const std::string& name) {
  static const TensorFile files[] = {read_safetensors(read_file(KILN_TORCH_FIGURES), KILN_TORCH_FIGURES),
                                     read_safetensors(read_file(KILN_SCIPY_FIGURES), KILN_SCIPY_FIGURES)};
  for (const TensorFile& file : files)
    if (const auto found = file.tensors.find(name); found != file.tensors.end()) return &found->second;
  return nullptr;
}
/// A figure as a tensor. Throws ArgumentError where there is none of that name.
template <int D, class K = Float>
Tensor<D, K> stored(const std::string& name) {
  const TensorData* const data = stored_if_any(name);
  if (!data) throw ArgumentError("no figure is called " + name);
  return Tensor<D, K>::from_data(*data, test::cpu);
}
template <int D>
Tensor<D> parameter(const std::string& name, int i) {
  return stored<D>(name + ".parameter." + std::to_string(i));
}
template <int D>
Tensor<D> other(const std::string& name, int i) {
  return stored<D>(name + ".other." + std::to_string(i));
}

/// Compares with the figure NAME.KIND, which must exist.
template <int D>
void expect_figure(const Tensor<D>& actual, const std::string& name, const std::string& kind) {
  const TensorData* const figure = stored_if_any(name + "." + kind);
  ASSERT_NE(figure, nullptr) << name << " has no " << kind;
  EXPECT_EQ(difference(actual.data(), *figure, {1e-9, 1e-9}), "") << name << " " << kind;
}

}  // namespace kiln::distribution
