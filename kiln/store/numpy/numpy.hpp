// NumPy's files of one array, .npy (numpy.lib.format, versions 1 to 3), and of several, .npz: a zip archive of those.
#pragma once
#include "kiln/store/format/source.hpp"

namespace kiln {

bool is_npy(std::span<const std::byte> bytes);
/// One tensor, "array". Both byte orders and Fortran's order of elements. Throws DataError, also for what is no array of
/// plain numbers: structures, text, complex numbers, and objects, which are pickles.
TensorSource open_npy(const FileBytes& file);
/// Throws ArgumentError unless there is one tensor. NumPy has no bfloat16: such a tensor is written as float32.
void write_npy(const TensorSource& source, ByteSink sink);

/// A zip archive with entries *.npy.
bool is_npz(const FileBytes& file);
/// Reads the arrays' headers alone; texts, structures and complex numbers are left out (TensorSource::left_out).
TensorSource open_npz(const FileBytes& file);
/// Stored, not compressed, so that it can be mapped.
void write_npz(const TensorSource& source, ByteSink sink);

}  // namespace kiln
