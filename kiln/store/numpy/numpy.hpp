// NumPy's files of one array, .npy (numpy.lib.format, versions 1 to 3), and of several, .npz, a zip archive of .npy
// files.
#pragma once
#include "kiln/store/format/source.hpp"

namespace kiln {

bool is_npy(std::span<const std::byte> bytes);
/// Opens one tensor, "array", of either byte order and of C or Fortran order. Throws DataError, also for arrays of
/// other things than plain numbers: structures, text, complex numbers, and objects, which are pickles.
TensorSource open_npy(const FileBytes& file);
/// Throws ArgumentError unless there is exactly one tensor. NumPy has no bfloat16, so such a tensor is written as
/// float32.
void write_npy(const TensorSource& source, ByteSink sink);

/// Returns whether it is a zip archive with entries *.npy.
bool is_npz(const FileBytes& file);
/// Reads only the arrays' headers. Text, structures and complex numbers are left out (TensorSource::left_out).
TensorSource open_npz(const FileBytes& file);
/// Writes the arrays uncompressed, so that the file can be mapped.
void write_npz(const TensorSource& source, ByteSink sink);

}  // namespace kiln
