// Models and optimizers to and from safetensors files. A file is replaced in one step: whatever goes wrong while it is
// written, the old one survives.
#pragma once
#include <string>
#include <utility>

#include "kiln/store/record.hpp"

namespace kiln {

/// Throws IoError.
void save_tensors(const TensorFile& file, const std::string& path);
/// Throws IoError or DataError.
TensorFile load_tensors(const std::string& path);
Metadata load_metadata(const std::string& path);

/// save(model, "model.safetensors", {{"epoch", "3"}}); optimizers likewise. Throws IoError.
template <Recordable T>
void save(const T& object, const std::string& path, const Metadata& metadata = {}) {
  save_tensors(record_of(object, metadata), path);
}

namespace detail {

/// The bytes of a file and what they hold.
struct OpenRecord {
  explicit OpenRecord(const std::string& path);
  std::vector<std::byte> bytes;
  TensorFileView view;
};

}  // namespace detail

/// The model or optimizer with the contents of the file: auto model = load("model.safetensors", config.init(device)).
/// See from_record() for what is converted. Throws IoError, DataError, or a LoadError that names every misfit.
template <Recordable T>
T load(const std::string& path, T object, const LoadOptions& options = {}) {
  return from_record(detail::OpenRecord(path).view, std::move(object), path, options);
}

}  // namespace kiln
