// Kiln's own file format of tensors, .kiln, with checksums and optional compression. The tensors come first, so that
// they are written one by one, and a directory comes last:
//
//   "KILNREC\n", zeros up to 64
//   tensors, each at a multiple of 64, row-major and little-endian, deflated or as they are
//   the directory, JSON: names, types, shapes, offsets and CRC-32s of the tensors, and metadata
//   its length (8 bytes), its CRC-32 (4), the version (4), "KILNREC\n"
//
// This is version 1. A reader reads all versions up to its own.
#pragma once
#include "kiln/store/format/source.hpp"

namespace kiln {

struct RecordFileOptions {
  bool compress = false;  // compresses tensors that get smaller
};

bool is_record(std::span<const std::byte> bytes);
/// The directory is checked when the file is opened, a tensor when it is read. Throws DataError.
TensorSource open_record(const FileBytes& file);
/// Throws ArgumentError for names that are not UTF-8.
void write_record(const TensorSource& source, ByteSink sink, const RecordFileOptions& options);
void write_record(const TensorSource& source, ByteSink sink);

}  // namespace kiln
