#include "kiln/backend/cpu/signature.hpp"

namespace kiln::cpu {

std::size_t Signature::hash() const {
  std::uint64_t hash = 0x9e3779b97f4a7c15u;
  for (const std::int64_t number : numbers_) {
    hash = (hash ^ static_cast<std::uint64_t>(number)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

}  // namespace kiln::cpu
