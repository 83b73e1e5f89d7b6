// Using the trained model: one digit, drawn, with the ten probabilities.
#pragma once
#include <filesystem>
#include <optional>

#include "examples/guide/settings.hpp"

namespace guide {

struct InferOptions {
  std::filesystem::path artifacts = "artifacts/guide";
  std::optional<std::filesystem::path> image;  // a picture; otherwise
  std::int64_t index = 0;                      // this item of the test set that the model was trained for
};

/// Draws the digit, prints the probabilities and the guess, which is returned.
std::int64_t infer(const InferOptions& options, const Device& device);

}  // namespace guide
