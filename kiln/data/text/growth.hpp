// How much of a text a tokenizer may make. Stages make it longer: letters that stand for bytes, marks that are taken apart, a sign
// for each space. Stages that double it, one behind the other, would fill any memory.
#pragma once
#include <cstddef>

#include "kiln/core/error/error.hpp"

namespace kiln::tokens {

class Growth {
 public:
  static constexpr std::size_t kTimes = 64, kRoom = 1 << 16;

  explicit Growth(std::size_t bytes) : bytes_(bytes) {}
  /// Throws DataError where there are too many bytes of it.
  void allow(std::size_t bytes) const {
    require<DataError>(bytes <= kRoom || (bytes - kRoom) / kTimes <= bytes_, "tokenizer: its stages make more than ",
                       kTimes, " bytes for each of a text's ", bytes_, ", which no tokenizer needs");
  }

 private:
  std::size_t bytes_;
};

}  // namespace kiln::tokens
