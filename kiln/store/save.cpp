#include "kiln/store/save.hpp"

#include <algorithm>
#include <cstdio>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/file.hpp"
#include "kiln/store/load/pytorch_layers.hpp"

namespace kiln {

void save_tensors(const TensorFile& file, const std::string& path) try {
  detail::save_source(source_of(file), path);
} catch (...) { rethrow_as_memory_error(path); }

TensorFile load_tensors(const std::string& path) try {
  const TensorSource source = open_tensors(path);
  TensorFile file{.tensors = {}, .metadata = source.metadata};
  for (const auto& [name, tensor] : source.tensors) file.tensors.emplace(name, tensor.read());
  return file;
} catch (...) { rethrow_as_memory_error(path); }

Metadata load_metadata(const std::string& path) try { return open_tensors(path).metadata; } catch (...) {
  rethrow_as_memory_error(path);
}

namespace detail {
namespace {

/// Counts the parts that the source has under one of their names.
std::size_t count_known(const TensorSource& source, const std::vector<RecordPart>& parts) {
  return static_cast<std::size_t>(std::ranges::count_if(parts, [&](const RecordPart& part) {
    return source.tensors.contains(part.name) || std::ranges::any_of(part.places, [&](const nn::PartPath& place) {
             return source.tensors.contains(place.path);
           });
  }));
}

}  // namespace

void save_source(const TensorSource& source, const std::string& path) try {
  const Format& format = format_for_saving(path);
  write_file_atomically(path, [&](FileReplacement& file) {
    format.write(source, [&](std::span<const std::byte> piece) { file.write(piece); });
  });
} catch (...) { rethrow_as_memory_error(path); }

OpenRecord::OpenRecord(const std::string& path) try : file(map_file(path)), view(view_safetensors(file.bytes, path)) {
} catch (...) { rethrow_as_memory_error(path); }

LoadedValues fit(const std::string& path, const std::vector<RecordPart>& parts, std::string_view owner,
                 const LoadOptions& options) try {
  const TensorSource source = edited(open_tensors(path), options, path);
  try {
    return fit(source, parts, owner, path, options);
  } catch (const LoadError& error) {
    const std::size_t known = count_known(source, parts);
    // More of the parts get a tensor, or fewer tensors are left without a part.
    const auto helps = [&](auto edit) {
      try {
        const TensorSource other = edit();
        const std::size_t then = count_known(other, parts);
        return then > known || (then == known && other.tensors.size() < source.tensors.size());
      } catch (const Error&) { return false; }
    };
    if (!options.pytorch_layers && has_pytorch_layers(source) &&
        helps([&] { return with_pytorch_layers(source, path); }))
      fail<LoadError>(error.message(),
                      "\n  LoadOptions::pytorch_layers reads layers by the names of PyTorch's, as here");
    if (helps([&] { return renamed(source, old_recurrent_names()); }))
      fail<LoadError>(
          error.message(),
          "\n  LoadOptions::rename by the rules of old_recurrent_names() reads recurrent layers by the names that "
          "they had while they were single, as here");
    throw;
  }
} catch (...) { rethrow_as_memory_error(path); }

void warn(const LoadReport& report, std::string_view file) {
  for (const std::string& warning : report.warnings)
    std::fputs(text("kiln: ", file, ": ", warning, '\n').c_str(), stderr);
}

}  // namespace detail
}  // namespace kiln
