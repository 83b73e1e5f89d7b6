#include "kiln/backend/cpu/amx/pieces.hpp"

#include <algorithm>

#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::cpu::amx {

using std::int64_t;
using std::uint16_t;

PieceSize cut(int64_t m, int64_t n, int64_t k, int64_t matrices) {
  const int64_t all = cost(m, n, k) * matrices, most = all >> 30 > 16 ? 64 : 16;
  const int64_t wanted = std::clamp<int64_t>(all / kMinOpsPerPiece, 1, most);
  PieceSize piece{std::min<int64_t>(m, 256), std::min<int64_t>(n, 1024)};
  const auto count = [&] { return matrices * divide_up(m, piece.rows) * divide_up(n, piece.columns); };
  const auto halve = [&](int64_t& size, int64_t least) {
    while (count() < wanted && size > least) size = round_up(divide_up(size, 2), kBlock);
  };
  halve(piece.columns, 512);
  halve(piece.rows, 64);
  halve(piece.columns, 32);
  halve(piece.rows, 32);
  return piece;
}

Scratch scratch(int64_t numbers, int64_t sums) {
  thread_local Ref<Memory> block;
  const auto split = static_cast<std::size_t>(round_up(numbers, kPairs)) * sizeof(uint16_t);
  const auto bytes = split + static_cast<std::size_t>(sums) * sizeof(float);
  if (!block || block->size() < bytes) {
    block = {};
    block = make_ref<Memory>(bytes);
  }
  return {reinterpret_cast<uint16_t*>(block->bytes()), reinterpret_cast<float*>(block->bytes() + split)};
}

}  // namespace kiln::cpu::amx
