#include "kiln/backend/cpu/amx/block.hpp"

#include "kiln/backend/cpu/amx/amx.hpp"

namespace kiln::cpu::amx {

using std::int64_t;
using std::uint16_t;

Tiles::Tiles() {
  if (has_tiles()) set_tiles_up();
}
Tiles::~Tiles() {
  if (has_tiles()) give_tiles_back();
}

namespace {

void multiply_block(const uint16_t* left, const uint16_t* right, int64_t rows, int64_t columns, int64_t depth, bool add,
                    float* sums, Places at) {
  static const auto multiply_there = has_tiles() ? multiply_on_tiles : multiply_on_vectors;
  multiply_there(left, right, rows, columns, depth, add, sums, at);
}

}  // namespace

void multiply(const uint16_t* left, const uint16_t* right, int64_t rows, int64_t columns, int64_t depth, bool add,
              float* sums) {
  multiply_block(left, right, rows, columns, depth, add, sums, kSumsPlaces);
}
void multiply_rows(const uint16_t* left, const uint16_t* right, int64_t rows, int64_t columns, int64_t depth, bool add,
                   float* sums, int64_t step) {
  multiply_block(left, right, rows, columns, depth, add, sums, {step, kTile, kTile * step});
}

}  // namespace kiln::cpu::amx
