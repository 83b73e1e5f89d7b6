#include <algorithm>
#include <array>
#include <filesystem>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/file.hpp"
#include "kiln/store/gguf/gguf.hpp"
#include "kiln/store/numpy/numpy.hpp"
#include "kiln/store/pickle/pytorch.hpp"
#include "kiln/store/record/record_file.hpp"
#include "kiln/store/safetensors/safetensors.hpp"
#include "kiln/store/safetensors/sharded.hpp"
#include "kiln/store/zip/zip_reader.hpp"

namespace kiln {
namespace {

template <bool (*kMatches)(std::span<const std::byte>)>
bool begins(const FileBytes& file) {
  return kMatches(file.bytes);
}
bool is_zip_of_pytorch(const FileBytes& file) { return is_zip(file.bytes) && is_pytorch_zip(file); }
bool is_zip_of_numpy(const FileBytes& file) { return is_zip(file.bytes) && is_npz(file); }

/// Opens a file with a row's reader. A lack of memory becomes a MemoryError, here and when a tensor is read.
template <TensorSource (*kOpen)(const FileBytes&)>
TensorSource opened(const FileBytes& file) try {
  TensorSource source = kOpen(file);
  for (auto& [name, tensor] : source.tensors)
    tensor.read = [read = std::move(tensor.read), what = text(file.name, ": tensor '", shown(name), "'")] {
      return or_memory_error(what, read);
    };
  return source;
} catch (...) { rethrow_as_memory_error(file.name); }
template <void (*kWrite)(const TensorSource&, ByteSink)>
void wrote(const TensorSource& source, ByteSink sink) try {
  kWrite(source, sink);
} catch (...) { rethrow_as_memory_error("a file of tensors"); }

constexpr std::string_view kSafetensors[] = {".safetensors"}, kRecord[] = {".kiln"}, kGguf[] = {".gguf"},
                           kPytorch[] = {".pt", ".pth", ".bin"}, kNpy[] = {".npy"}, kNpz[] = {".npz"}, kNone[] = {""};

constexpr Format kFormats[] = {
    {"kiln record", kRecord, begins<is_record>, opened<open_record>, wrote<write_record>},
    {"gguf", kGguf, begins<is_gguf>, opened<open_gguf>, wrote<write_gguf>},
    {"npy", kNpy, begins<is_npy>, opened<open_npy>, wrote<write_npy>},
    {"safetensors", kSafetensors, begins<is_safetensors>, opened<open_safetensors>, wrote<write_safetensors>},
    {"npz", kNpz, is_zip_of_numpy, opened<open_npz>, wrote<write_npz>},
    {"pytorch", kPytorch, is_zip_of_pytorch, opened<open_pytorch>, wrote<write_pytorch>},
    {"pytorch legacy", kNone, begins<is_pytorch_legacy>, opened<open_pytorch>, nullptr},
};

/// The extensions of other programs' files of models, settings, tables and archives, which save() refuses.
constexpr std::string_view kForeignExtensions[] = {
    ".onnx",       ".ort",    ".h5",     ".hdf5",    ".keras",  ".ckpt",     ".pb",      ".tflite",
    ".pkl",        ".pickle", ".joblib", ".msgpack", ".params", ".pdparams", ".mlmodel", ".mlpackage",
    ".caffemodel", ".t7",     ".pt2",    ".pte",     ".nemo",   ".ggml",     ".ggmf",    ".engine",
    ".plan",       ".mat",    ".json",   ".yaml",    ".toml",   ".txt",      ".csv",     ".xml",
    ".parquet",    ".arrow",  ".zip",    ".tar",     ".gz",     ".cpp",      ".hpp",     ".py"};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return lower;
}

bool has_extension(const Format& format, std::string_view name) {
  const std::string path = lower_case(name);
  return std::any_of(format.extensions.begin(), format.extensions.end(),
                     [&](std::string_view extension) { return !extension.empty() && path.ends_with(extension); });
}

/// Chooses the format by the contents. A file that is damaged from the first byte on is chosen by its name, so that the
/// reader of that format says what is wrong.
const Format& format_of(const FileBytes& file) {
  for (const Format& format : kFormats)
    if (format.matches(file)) return format;
  for (const Format& format : kFormats)
    if (has_extension(format, file.name) && format.extensions.data() != kPytorch) return format;
  fail<DataError>(file.name,
                  ": no file of tensors that Kiln reads: safetensors, Kiln's records, GGUF, NumPy's .npy and "
                  ".npz, PyTorch's .pt");
}

}  // namespace

std::span<const Format> formats() { return kFormats; }

namespace {

/// Returns null if the extension belongs to no format that Kiln writes.
const Format* find_written(const std::string& path) {
  for (const Format& format : kFormats)
    if (format.write && has_extension(format, path)) return &format;
  return nullptr;
}

std::string written_extensions() {
  std::string known;
  for (const Format& format : kFormats)
    if (format.write) known += text(known.empty() ? "" : ", ", format.extensions[0]);
  return known;
}

}  // namespace

const Format& format_for_writing(const std::string& path) try {
  if (const Format* const format = find_written(path)) return *format;
  fail<ArgumentError>(shown(path), ": the extension says in which format to write: ", written_extensions());
} catch (...) { rethrow_as_memory_error(path); }

const Format& format_for_saving(const std::string& path) try {
  if (const Format* const format = find_written(path)) return *format;
  const std::string lower = lower_case(path);
  for (const std::string_view other : kForeignExtensions) {
    if (!lower.ends_with(other)) continue;
    fail<ArgumentError>("save: ", shown(path), ": Kiln writes no tensors as ", other, ", but as ", written_extensions(),
                        other == ".onnx" ? "; onnx::save (kiln/onnx/save.hpp) writes a network that computes"
                                         : ", and as safetensors where there is no extension");
  }
  return *std::ranges::find(kFormats, "safetensors", &Format::name);
} catch (...) { rethrow_as_memory_error(path); }

TensorSource open_tensors(const FileBytes& file) try {
  const Format& format = format_of(file);
  TensorSource source = format.open(file);
  std::uint64_t all = 0;  // tensors may share bytes, or be compressed
  for (const auto& [name, tensor] : source.tensors) {
    const auto bytes = static_cast<std::uint64_t>(numel(tensor.shape)) * size_of(tensor.dtype);
    if (__builtin_add_overflow(all, bytes, &all)) all = ~std::uint64_t{0};
  }
  require_inflation(file.name, all, file.bytes.size());
  source.format = format.name;
  return source;
} catch (...) { rethrow_as_memory_error(file.name); }

TensorSource open_tensors(const std::string& path) try {
  if (std::filesystem::is_directory(path)) return open_tensors(only_model_in(path));
  const FileBytes file = map_file(path);
  return is_shard_index(path) ? open_sharded(file) : open_tensors(file);
} catch (...) { rethrow_as_memory_error(path); }

void write_tensors(const TensorSource& source, const std::string& path) try {
  const Format& format = format_for_writing(path);
  write_file_atomically(path, [&](FileReplacement& file) {
    format.write(source, [&](std::span<const std::byte> piece) { file.write(piece); });
  });
} catch (...) { rethrow_as_memory_error(path); }

}  // namespace kiln
