#include "kiln/store/save.hpp"

#include "kiln/core/file.hpp"

namespace kiln {

void save_tensors(const TensorFile& file, const std::string& path) {
  write_file_atomically(path, [&](FileReplacement& replacement) {
    write_safetensors(file, [&](std::span<const std::byte> piece) { replacement.write(piece); });
  });
}

TensorFile load_tensors(const std::string& path) { return read_safetensors(read_file(path), path); }

Metadata load_metadata(const std::string& path) { return detail::OpenRecord(path).view.metadata; }

detail::OpenRecord::OpenRecord(const std::string& path) : bytes(read_file(path)), view(view_safetensors(bytes, path)) {}

}  // namespace kiln
