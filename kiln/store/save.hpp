// Models and optimizers to and from files. A file is replaced atomically: whatever goes wrong while it is written, the
// old one survives. save() writes the format that the extension names, or safetensors where it names none, and rejects
// the extension of another format, such as .onnx (onnx::save) or .h5. It writes one tensor after another. load() reads
// any format, including PyTorch's .pt, and borrows tensors from the mapped file: a model on the processor is loaded
// without a copy.
#pragma once
#include <string>
#include <utility>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/store/record.hpp"

namespace kiln {

/// Throws IoError, and ArgumentError where the extension names a format that is not written.
void save_tensors(const TensorFile& file, const std::string& path);
/// Throws IoError or DataError.
TensorFile load_tensors(const std::string& path);
Metadata load_metadata(const std::string& path);

namespace detail {

void save_source(const TensorSource& source, const std::string& path);
/// The bytes of a safetensors file and their contents.
struct OpenRecord {
  explicit OpenRecord(const std::string& path);
  FileBytes file;
  TensorFileView view;
};
/// Fits the file's tensors, edited as `options` say, to `parts`. A LoadError also says which option is perhaps missing.
LoadedValues fit(const std::string& path, const std::vector<RecordPart>& parts, std::string_view owner,
                 const LoadOptions& options);
/// Prints the warnings of a report that nobody reads on the standard error stream.
void warn(const LoadReport& report, std::string_view file);

}  // namespace detail

/// Saves a model, save(model, "model.safetensors", {{"epoch", "3"}}), or an optimizer. save(model, "head.safetensors",
/// {}, "head") saves a part, which load(model, "head.safetensors", {.only = "head"}) loads. Throws IoError, and
/// ArgumentError where `only` selects nothing, or the extension names a format that is not written.
template <Recordable T>
void save(const T& object, const std::string& path, const Metadata& metadata = {},
          const Selector& only = Selector::all()) {
  or_memory_error(path, [&] {
    const auto parts = detail::selected(detail::parts_of(object), only, detail::kOwner<T>);
    detail::save_source(detail::source_of(parts, detail::with_version<T>(metadata)), path);
  });
}

template <class = void>
void save(const nn::NoModule&, const std::string&, const Metadata& = {}, const Selector& = Selector::all()) {}

/// Loads the contents of a file: load(model, "resnet18.pth", {.under = "state_dict", .allow_unexpected = true}). See
/// from_record() for conversions and LoadOptions for the rest. Throws IoError, DataError, or a LoadError that names
/// every mismatch; the object is unchanged then.
template <Recordable T>
LoadReport load(T& object, const std::string& path, const LoadOptions& options = {}) {
  return or_memory_error(path, [&] {
    const auto parts = detail::parts_of(object);
    detail::require_selected("load", parts, options.only, detail::kOwner<T>);
    auto fitted = detail::fit(path, parts, detail::kOwner<T>, options);
    detail::assign(object, fitted);
    return std::move(fitted.report);
  });
}

template <class = void>
void load(const nn::NoModule&, const std::string&, const LoadOptions& = {}) {}

template <class T = void>
nn::NoModule load(const std::string&) {
  static_assert(!std::is_void_v<T>, "load(path) takes a model, which it fills: load(path, config.init(device))");
  return 0;
}

/// Returns the model or optimizer with the contents of the file: auto model = load("model.safetensors",
/// config.init(device)). Warnings go to the standard error stream.
template <Recordable T>
[[nodiscard("load(path, model) changes no model: it returns one; load(model, path) changes it")]] T load(
    const std::string& path, T object, const LoadOptions& options = {}) {
  detail::warn(load(object, path, options), path);
  return object;
}
template <class = void>
nn::NoModule load(const std::string&, const nn::NoModule& model, const LoadOptions& = {}) {
  return model;
}

}  // namespace kiln
