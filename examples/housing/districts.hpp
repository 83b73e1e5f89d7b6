// What a census knows of Californian districts, as numbers that a model can learn from.
#pragma once
#include <string>
#include <vector>

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

}  // namespace housing
