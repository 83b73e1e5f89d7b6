#include "kiln/nn/embedding.hpp"

namespace kiln::nn {

Embedding EmbeddingConfig::init(const Device& device) const {
  require<ArgumentError>(count > 0 && size > 0, "EmbeddingConfig: count = ", count, " and size = ", size,
                         " must be positive");
  return {.weight = Param<2>(initialize(initializer, {count, size}, {.in = count, .out = size}, device))};
}

}  // namespace kiln::nn
