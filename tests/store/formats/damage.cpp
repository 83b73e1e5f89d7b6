#include "damage.hpp"

#include <cstring>
#include <stdexcept>

#include "kiln/core/config/config.hpp"
#include "kiln/core/file.hpp"
#include "kiln/store/format/byte_reader.hpp"
#include "kiln/store/gguf/gguf.hpp"
#include "kiln/store/numpy/numpy.hpp"
#include "kiln/store/pickle/pytorch.hpp"
#include "kiln/store/record/record_file.hpp"
#include "kiln/store/safetensors/safetensors.hpp"
#include "kiln/store/safetensors/sharded.hpp"
#include "kiln/store/zip/deflate.hpp"
#include "kiln/store/zip/zip_reader.hpp"

#include "../temporary.hpp"
#include "gguf_files.hpp"
#include "mending.hpp"
#include "pickles.hpp"
#include "samples.hpp"
#include "zip_files.hpp"

namespace kiln {
namespace {

std::vector<std::byte> sound_safetensors() {
  TensorFile file;
  file.metadata = {{"format", "kiln"}, {"näme", "a \"value\"\n"}};
  file.tensors.emplace("conv1.weight", TensorData({2, 1, 3, 3}, DType::F32));
  file.tensors.emplace("conv1.bias", TensorData({2}, DType::F16));
  file.tensors.emplace("step", TensorData({}, DType::I64));
  file.tensors.emplace("mask", TensorData({5}, DType::Bool));
  file.tensors.emplace("empty", TensorData({0, 4}, DType::BF16));
  return write_safetensors(file);
}

/// Makes the length at the file's beginning that of the header again, so that the parser is reached.
void mend_length(std::vector<std::byte>& bytes, std::size_t data_size) {
  if (bytes.size() < 8 + data_size) return;
  const std::uint64_t length = bytes.size() - 8 - data_size;
  std::memcpy(bytes.data(), &length, 8);
}

TensorSource sample_for_damage() {
  TensorSource source = sample();
  source.metadata = {{"epoch", "3"}, {"näme", "a \"value\"\n"}};
  return source;
}

TensorSource sample_with_zeros() {
  TensorSource source = sample_for_damage();
  source.tensors.emplace("zeros", stored(TensorData({300}, DType::F32)));
  return source;
}

/// The folder of three files of tensors, to which an index belongs.
const std::string& shards() {
  static const TemporaryFile folder("model.safetensors");
  static const std::string path = [] {
    write_sharded(sample(), folder.path, 24);
    return folder.directory;
  }();
  return path;
}

// What a config may consist of.
struct Sgd {
  double momentum = 0.9;
};
struct Adam {
  std::array<double, 2> betas = {0.9, 0.999};
};
enum class Order : std::uint8_t { Rows, Columns };
struct Layer {
  std::int64_t width;
  bool bias = true;
  Order order = Order::Rows;
};
struct Config {
  std::string name;
  std::uint8_t heads = 4;
  std::vector<Layer> layers;
  std::variant<Sgd, Adam> optimizer;
  std::optional<float> clip;
  std::map<std::string, std::int64_t> sizes;
  Shape input;
};
constexpr std::string_view kConfig = R"({"name": "a \"näme\" \ud83d\ude00", "heads": 8,
  "layers": [{"width": 64}, {"width": 128, "bias": false, "order": "Columns"}],
  "optimizer": {"Adam": {"betas": [0.8, 9.9e-1]}}, "clip": 1.5, "sizes": {"a": 1, "b": -2}, "input": [1, 28, 28]})";

std::string_view text_of(const FileBytes& file) {
  return {reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()};
}

/// Reads all tensors; each is what the source said.
template <TensorSource (*kOpen)(const FileBytes&)>
void read_all(const FileBytes& file) {
  for (const auto& [name, tensor] : kOpen(file).tensors) {
    const TensorData data = tensor.read();
    const std::size_t bytes = static_cast<std::size_t>(numel(tensor.shape)) * size_of(tensor.dtype);
    if (data.shape() != tensor.shape || data.bytes().size() != bytes)
      throw std::logic_error("tensor '" + name + "' is not what it should be");
  }
}

const DamageCase kCases[] = {
    {.name = "safetensors",
     .sound = sound_safetensors,
     .read = read_all<open_safetensors>,
     .mend = [](std::vector<std::byte>& bytes) { mend_length(bytes, 2 * 9 * 4 + 2 * 2 + 8 + 5); }},
    {.name = "sharded",
     .sound = [] { return bytes_of(read_text_file(shards() + "/model.safetensors.index.json")); },
     .read = read_all<open_sharded>,
     .padding = 1,  // a line's end
     .path = [] { return shards() + "/damaged"; },
     .or_else = ErrorKind::Io},  // where it names a file that is not there
    {.name = "record",
     .sound = [] { return written(sample_for_damage(), [](auto& s, ByteSink sink) { write_record(s, sink, {}); }); },
     .read = read_all<open_record>,
     .mend = mend_record},
    {.name = "compressed_record",
     .sound =
         [] {
           return written(sample_with_zeros(),
                          [](auto& s, ByteSink sink) { write_record(s, sink, {.compress = true}); });
         },
     .read = read_all<open_record>,
     .mend = mend_record},
    {.name = "pytorch",
     .sound = [] { return written(sample(), write_pytorch); },
     .read = read_all<open_pytorch>,
     .mend = mend_zip},
    {.name = "pytorch_deflated",
     .sound = [] { return deflated(written(sample_with_zeros(), write_pytorch)); },
     .read = read_all<open_pytorch>,
     .mend = mend_zip},
    {.name = "pytorch_legacy", .sound = [] { return bytes_of(legacy_file()); }, .read = read_all<open_pytorch>},
    {.name = "pytorch_objects", .sound = [] { return bytes_of(objects_file(2)); }, .read = read_all<open_pytorch>},
    {.name = "npz", .sound = [] { return written(sample(), write_npz); }, .read = read_all<open_npz>, .mend = mend_zip},
    {.name = "npz_deflated",
     .sound = [] { return deflated(written(sample_with_zeros(), write_npz)); },
     .read = read_all<open_npz>,
     .mend = mend_zip},
    {.name = "npy",
     .sound =
         [] {
           TensorSource one;
           one.tensors.emplace("array", stored(TensorData::of<std::int16_t>({2, 3}, {1, 2, 3, 4, 5, 6})));
           return written(one, write_npy);
         },
     .read = read_all<open_npy>},
    {.name = "gguf",
     .sound = [] { return written(sample_for_damage(), write_gguf); },
     .read = read_all<open_gguf>,
     .padding = 16},
    {.name = "gguf_quantised", .sound = gguf_files::quantised_file, .read = read_all<open_gguf>},
    {.name = "config",
     .sound = [] { return bytes_of(kConfig); },
     .read = [](const FileBytes& file) { from_json<Config>(text_of(file), file.name); },
     .refusal = ErrorKind::Config},
};

}  // namespace

std::span<const DamageCase> damage_cases() { return kCases; }

}  // namespace kiln
