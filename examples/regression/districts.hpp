// What a census knows of Californian districts, as numbers that a model can learn from.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "kiln/data/loader.hpp"
#include "kiln/kiln.hpp"

namespace housing {

/// What a model learns of a district.
struct Example {
  std::vector<float> features;
  float price = 0;  // in 100,000 dollars
};

/// The columns that count things as logarithms, rooms and people for each household beside them, and a column for each kind
/// of `ocean_proximity`.
/// Throws kiln::DataError that names the file, and the district where one is at fault.
std::vector<Example> read_examples(const std::string& file);

/// Gives batches as lists.
kiln::DataLoader<std::vector<Example>> loader(const kiln::DatasetPtr<Example>& examples,
                                              const kiln::LoaderConfig& config);

/// The same as tensors: features [districts, columns], and a price each.
struct Districts {
  kiln::Tensor<2> features;
  kiln::Tensor<1> prices;
};
Districts to_tensors(std::span<const Example> examples, const kiln::Device& device);
Districts all_of(const kiln::DatasetPtr<Example>& examples, const kiln::Device& device);

/// Root mean square of the residuals of a plane through the training districts, in dollars.
double least_squares(const Districts& train, const Districts& test);

}  // namespace housing
