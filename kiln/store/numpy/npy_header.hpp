// The header of an array in NumPy's format: a dictionary as Python would print it.
#pragma once
#include "kiln/store/format/source.hpp"

namespace kiln {

struct NpyHeader {
  Shape shape;
  DType dtype = DType::F32;
  bool fortran_order = false, big_endian = false;
  std::size_t data_begin = 0;
  std::string unread;  // why the elements are none that Kiln has; the element type says nothing then
};

/// As much of a file as holds any header that is read.
inline constexpr std::size_t kLongestNpyHeader = 1 << 17;

/// Of an array in a file of `size` bytes, whose first ones are there. Checks that the data are all there, neither more nor less.
/// Throws DataError.
NpyHeader read_npy_header(const FileBytes& beginning, std::uint64_t size);
/// Of an array in row-major order, up to the data, which begin at a multiple of 64.
std::string npy_header(const Shape& shape, DType dtype);

}  // namespace kiln
