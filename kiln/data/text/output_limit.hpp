// A limit of how much text a tokenizer's stages may produce. Stages make it longer: characters for bytes, decomposed
// marks, a sign for each space. A chain of stages that double it would fill any memory.
#pragma once
#include <cstddef>

#include "kiln/core/error/error.hpp"

namespace kiln::tokens {

class OutputLimit {
 public:
  static constexpr std::size_t kTimes = 64, kRoom = 1 << 16;

  explicit OutputLimit(std::size_t bytes) : bytes_(bytes) {}
  /// Throws DataError if there are too many bytes.
  void allow(std::size_t bytes) const {
    require<DataError>(bytes <= kRoom || (bytes - kRoom) / kTimes <= bytes_, "tokenizer: its stages make more than ",
                       kTimes, " bytes for each of a text's ", bytes_, ", which no tokenizer needs");
  }

 private:
  std::size_t bytes_;
};

}  // namespace kiln::tokens
