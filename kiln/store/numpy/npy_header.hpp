// The header of an array in NumPy's format: a dictionary as Python would print it.
#pragma once
#include "kiln/store/format/source.hpp"

namespace kiln {

struct NpyHeader {
  Shape shape;
  DType dtype = DType::F32;
  bool fortran_order = false, big_endian = false;
  std::size_t data_begin = 0;
  std::string unread;  // why the elements cannot be read; the element type has no meaning then
};

/// The bytes that contain any header that is read.
inline constexpr std::size_t kLongestNpyHeader = 1 << 17;

/// Reads the header of an array in a file of `size` bytes, whose first bytes are `beginning`. Checks that the file
/// contains exactly the data. Throws DataError.
NpyHeader read_npy_header(const FileBytes& beginning, std::uint64_t size);
/// Returns the header of an array in row-major order up to the data, which begin at a multiple of 64.
std::string npy_header(const Shape& shape, DType dtype);

}  // namespace kiln
