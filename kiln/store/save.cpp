#include "kiln/store/save.hpp"

#include <cstdio>

#include "kiln/core/file.hpp"
#include "kiln/store/load/pytorch_layers.hpp"

namespace kiln {

void save_tensors(const TensorFile& file, const std::string& path) { detail::save_source(source_of(file), path); }

TensorFile load_tensors(const std::string& path) {
  const TensorSource source = open_tensors(path);
  TensorFile file{.tensors = {}, .metadata = source.metadata};
  for (const auto& [name, tensor] : source.tensors) file.tensors.emplace(name, tensor.read());
  return file;
}

Metadata load_metadata(const std::string& path) { return open_tensors(path).metadata; }

namespace detail {

void save_source(const TensorSource& source, const std::string& path) {
  for (const Format& format : formats())
    for (const std::string_view extension : format.extensions)
      if (format.write && !extension.empty() && path.ends_with(extension)) return write_tensors(source, path);
  write_file_atomically(path, [&](FileReplacement& file) {
    write_safetensors(source, [&](std::span<const std::byte> piece) { file.write(piece); });
  });
}

OpenRecord::OpenRecord(const std::string& path) : file(map_file(path)), view(view_safetensors(file.bytes, path)) {}

Fitted fit(const std::string& path, const std::vector<RecordPart>& parts, std::string_view owner,
           const LoadOptions& options) {
  const TensorSource source = edited(open_tensors(path), options, path);
  try {
    return fit(source, parts, owner, path, options);
  } catch (const LoadError& error) {
    if (options.pytorch_layers || !has_pytorch_layers(source)) throw;
    fail<LoadError>(error.message(), "\n  LoadOptions::pytorch_layers reads layers by the names of PyTorch's, as here");
  }
}

void warn(const LoadReport& report, std::string_view file) {
  for (const std::string& warning : report.warnings)
    std::fputs(text("kiln: ", file, ": ", warning, '\n').c_str(), stderr);
}

}  // namespace detail
}  // namespace kiln
