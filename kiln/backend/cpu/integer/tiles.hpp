// The inner loops of products of 8-bit integers on one thread: sums in int32 of products of unsigned left and signed right
// numbers, exact but that sums wrap around. Signed left ones come with 128 added, unsigned right ones less 128; who asks
// takes that back with the zero points.
#pragma once
#include <cstdint>
#include <span>

namespace kiln::cpu {
enum class Algorithm : std::uint8_t;
}

namespace kiln::cpu::integer {

/// Right operands come in panels of so many columns: for every four terms, those of each column side by side. There are as
/// many terms as the next multiple of kDepth, zeros at the end.
inline constexpr std::int64_t kPanel = 16, kQuad = 4, kDepth = 64;

struct Tiles {
  const char* name;
  Algorithm algorithm;
  /// Left operands can be read up to multiples of so many rows and terms.
  std::int64_t rows, depth;
  /// Row i, column j of the sums goes to sums[i * row + j]: `count` rows `step` apart times `panels` panels, `panel_step`
  /// apart, over `depth` terms. Of the sums there are whole panels, and as many rows as can be read.
  void (*multiply)(const std::uint8_t* left, std::int64_t step, std::int64_t count, const std::int8_t* right,
                   std::int64_t panel_step, std::int64_t panels, std::int64_t depth, std::int32_t* sums,
                   std::int64_t row);
};

/// Rows and panels as multiply() has them, for those that go over them in blocks.
struct Block {
  const std::uint8_t* left;
  std::int64_t step;
  const std::int8_t* right;
  std::int64_t panel_step, depth;
  std::int32_t* sums;
  std::int64_t row;
};

/// Those that this machine can run; the last is for any machine.
std::span<const Tiles* const> all_tiles();
/// The quickest for so many rows.
const Tiles& tiles_for(std::int64_t rows);

/// What becomes of sums[i * row + j]: more `add[j]`, and less `factors[j] * row_sums[i]`, where these are not null.
struct Correction {
  const std::int32_t *add, *factors, *row_sums;
};
void correct(const std::int32_t* sums, std::int64_t row, std::int64_t rows, std::int64_t columns,
             const Correction& correction, std::int32_t* to, std::int64_t to_row);

/// The sum of each row's `depth` numbers.
void sum_rows(const std::uint8_t* left, std::int64_t step, std::int64_t rows, std::int64_t depth, std::int32_t* sums);
/// x - zero as floats, of bytes that are signed or not.
void to_floats(const std::byte* x, bool is_signed, std::int32_t zero, std::int64_t count, float* to);
/// Whole numbers back from floats.
void to_words(const float* x, std::int64_t count, std::int32_t* to);

/// For vectors of any processor that Highway knows.
const Tiles& vector_tiles();
/// For instructions that only some have, the quickest first; of a build for others there are none.
std::span<const Tiles* const> machine_tiles();

}  // namespace kiln::cpu::integer
