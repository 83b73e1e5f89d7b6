// The inner loops of products of 8-bit integers on one thread: sums in int32 of products of unsigned left and signed
// right numbers, which are exact, except that sums wrap around. 128 has been added to signed left numbers and
// subtracted from unsigned right ones; the caller corrects the sums together with the zero points.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace kiln::cpu {
enum class Algorithm : std::uint8_t;
}

namespace kiln::cpu::integer {

/// Right operands are stored in panels of so many columns: for every four terms, the terms of all columns are side by
/// side. The number of terms is rounded up to a multiple of kDepth, with zeros at the end.
inline constexpr std::int64_t kPanel = 16, kQuad = 4, kDepth = 64;

struct Tiles {
  const char* name;
  Algorithm algorithm;
  /// Left operands must be readable up to multiples of so many rows and terms.
  std::int64_t rows, depth;
  /// Writes row i, column j of the sums to sums[i * row + j]: `count` rows `step` apart times `panels` panels,
  /// `panel_step` apart, over `depth` terms. The sums have whole panels, and as many rows as must be readable.
  void (*multiply)(const std::uint8_t* left, std::int64_t step, std::int64_t count, const std::int8_t* right,
                   std::int64_t panel_step, std::int64_t panels, std::int64_t depth, std::int32_t* sums,
                   std::int64_t row);
};

/// Rows and panels, as multiply() takes them, for functions that process them in blocks.
struct Block {
  const std::uint8_t* left;
  std::int64_t step;
  const std::int8_t* right;
  std::int64_t panel_step, depth;
  std::int32_t* sums;
  std::int64_t row;
};

/// Returns the tiles that this processor can run; the last ones run on any processor.
std::span<const Tiles* const> all_tiles();
/// Returns the fastest tiles for so many rows.
const Tiles& tiles_for(std::int64_t rows);

/// Adds `add[j]` to sums[i * row + j], and subtracts `factors[j] * row_sums[i]`, unless these are null.
struct Correction {
  const std::int32_t *add, *factors, *row_sums;
};
struct ByteKernels {
  Tiles tiles;  // for the vectors of any processor that Highway supports
  /// Corrects sums.
  void (*correct)(const std::int32_t* sums, std::int64_t row, std::int64_t rows, std::int64_t columns,
                  const Correction& correction, std::int32_t* to, std::int64_t to_row);
  /// Computes the sum of each row's `depth` numbers.
  void (*sum_rows)(const std::uint8_t* left, std::int64_t step, std::int64_t rows, std::int64_t depth,
                   std::int32_t* sums);
  /// Writes x - zero as floats, for signed or unsigned bytes.
  void (*to_floats)(const std::byte* x, bool is_signed, std::int32_t zero, std::int64_t count, float* to);
  /// Converts whole numbers in floats back to integers.
  void (*to_words)(const float* x, std::int64_t count, std::int32_t* to);
};
/// Returns the functions for the instruction set of this machine.
const ByteKernels& byte_kernels();

/// Tiles for instructions that only some processors have, the fastest first; builds for other processors have none.
std::span<const Tiles* const> machine_tiles();

// These functions are compiled only for processors with their instructions.

/// Multiplies by AVX-512's products of four bytes (VNNI).
void multiply_vnni(const std::uint8_t* left, std::int64_t step, std::int64_t count, const std::int8_t* right,
                   std::int64_t panel_step, std::int64_t panels, std::int64_t depth, std::int32_t* sums,
                   std::int64_t row);
/// Multiplies by Intel's tiles (AMX) of 16 rows of 64 bytes.
void multiply_amx(const std::uint8_t* left, std::int64_t step, std::int64_t count, const std::int8_t* right,
                  std::int64_t panel_step, std::int64_t panels, std::int64_t depth, std::int32_t* sums,
                  std::int64_t row);

}  // namespace kiln::cpu::integer
