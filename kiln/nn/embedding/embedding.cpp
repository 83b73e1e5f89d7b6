#include "kiln/nn/embedding/embedding.hpp"

#include <tuple>

namespace kiln::nn {
namespace {

/// An initialized table [count, size]; the row of the padding is zeros.
template <class Config>
Param<2> table(std::string_view name, const Config& config, const Device& device) {
  const auto& [count, size, padding] = std::tie(config.count, config.size, config.padding_index);
  require<ArgumentError>(count > 0 && size > 0, name, ": count = ", count, " and size = ", size, " must be positive");
  require<ArgumentError>(!padding || (*padding >= 0 && *padding < count), name,
                         ": padding_index = ", padding.value_or(0), " is none of the ", count, " rows");
  const Value drawn = initialize(config.initializer, {count, size}, {.in = count, .out = size}, device);
  if (!padding) return Param<2>(drawn);
  const Range row{padding, *padding + 1};
  return Param<2>(slice_assign(drawn, {&row, 1}, 0.0));
}

}  // namespace

Embedding EmbeddingConfig::init(const Device& device) const {
  return {.weight = table("EmbeddingConfig", *this, device), .padding_index = padding_index};
}

EmbeddingBag EmbeddingBagConfig::init(const Device& device) const {
  return {.weight = table("EmbeddingBagConfig", *this, device), .mode = mode, .padding_index = padding_index};
}

}  // namespace kiln::nn
