// Files of tensors: each format, read and written again; and captured programs, which are run.
#include <algorithm>

#include "kiln/backend/capture/graph.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/file.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/store/format/source.hpp"
#include "kiln/store/graph_record.hpp"
#include "kiln/store/record/record_file.hpp"
#include "kiln/store/safetensors/sharded.hpp"
#include "tests/fuzz/changes.hpp"
#include "tests/fuzz/readers.hpp"
#include "tests/store/formats/mending.hpp"

#include "../store/formats/gguf_files.hpp"
#include "../store/formats/pickles.hpp"
#include "../store/formats/samples.hpp"
#include "../store/formats/zip_files.hpp"

namespace kiln::test {
namespace {

constexpr std::int64_t kMost = 1 << 22;  // bytes that are read or written of a file

FileContents as(const char* path, const TensorSource& source) {
  return written(source, [&](const TensorSource& from, ByteSink sink) { format_for_writing(path).write(from, sink); });
}

/// All tensors, each of which is what the file said; then the same in every format that can hold them.
void read_tensors(const TensorSource& source) {
  std::int64_t total = 0;
  for (const auto& [name, tensor] : source.tensors) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(numel(tensor.shape), static_cast<std::int64_t>(size_of(tensor.dtype)), &bytes)) continue;
    if (bytes > kMost || (total += bytes) > kMost) return;
    const TensorData data = door([&] { return tensor.read(); });
    expect(data.shape() == tensor.shape && data.dtype() == tensor.dtype, "a tensor is not what its file said");
    look_at(data.bytes());
  }
  for (const std::string path : {"x.safetensors", "x.kiln", "x.gguf", "x.npz", "x.pt"}) {
    try {
      FileContents bytes;
      door([&] {
        format_for_writing(path).write(source, [&](std::span<const std::byte> piece) {
          or_memory_error("x", [&] { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
        });
      });
      const FileBytes file{bytes, path, nullptr};
      const TensorSource again = door([&] { return open_tensors(file); });
      if (path != "x.gguf") continue;  // which has words of its own for names and shapes
      expect(again.tensors.size() <= source.tensors.size(), "there are more tensors than were written");
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Argument && error.kind() != ErrorKind::Config && error.kind() != ErrorKind::Data &&
          error.kind() != ErrorKind::Memory)
        throw;
    }
  }
}

/// As files of the format, whatever their bytes say that they are.
template <std::size_t kLength>
struct Extension {
  char letters[kLength];
  constexpr Extension(const char (&text)[kLength]) { std::copy_n(text, kLength, letters); }
};
template <Extension kName>
void read_format(std::span<const std::byte> file) {
  const FileBytes bytes{file, std::string("file.") + kName.letters, nullptr};
  read_tensors(door([&] { return format_for_writing(bytes.name).open(bytes); }));
}

TensorSource zeros_too() {
  TensorSource source = sample();
  source.metadata = {{"epoch", "3"}, {"näme", "a \"value\"\n"}};
  source.tensors.emplace("zeros", stored(TensorData({300}, DType::F32)));
  return source;
}

TensorSource one_tensor() {
  TensorSource one;
  one.tensors.emplace("array", sample().tensors.at("conv1.weight"));
  return one;
}

// A sharded model: the shards are sound, the index may be anything.
const std::string& shards() {
  static const std::string path = [] {
    const std::string index = on_disk("shards/model.safetensors.index.json", {});
    write_sharded(sample(), index.substr(0, index.size() - std::string_view(".index.json").size()), 24);
    return index;
  }();
  return path;
}

FileContents program() {
  const Device device = Device::cpu();
  const Value weight = from_data(TensorData::of<float>({3, 2}, {1, -1, 0.5f, 2, 0, 1}), device);
  const Values examples{zeros({4, 3}, device), zeros({2}, device)};
  const Graph graph = capture_graph(
      [&](const Values& in) {
        const Value hidden = relu(matmul(in[0], weight) + in[1]);
        return Values{softmax(hidden, 1), sum(hidden, Dims{0}, false)};
      },
      examples);
  const TensorFile record = record_of(graph);
  return write_safetensors(record);
}

void run_program(std::span<const std::byte> file) {
  const Graph graph = or_memory_error("x", [&] {  // as load_graph() does, of a file
    return graph_from_record(view_safetensors(file, "graph"), "graph", Device::cpu());
  });
  Values inputs;
  for (const Desc& desc : graph.inputs()) {
    if (numel(desc.shape) > kMost) return;
    inputs.push_back(
        full(desc.shape, is_float(desc.dtype) ? Scalar(0.5) : Scalar(std::int64_t{1}), Device::cpu(), desc.dtype));
  }
  for (const Value& result : graph.replay(inputs)) {
    const TensorData data = result.data();
    look_at(data.bytes());
  }
}

const Reader kStoreReaders[] = {
    {.name = "safetensors",
     .sound = [] { return Files{as("x.safetensors", sample()), as("x.safetensors", zeros_too())}; },
     .read = read_format<"safetensors">,
     .change = change_safetensors},
    {.name = "index",
     .sound = [] { return Files{contents_of(read_text_file(shards()))}; },
     .read =
         [](std::span<const std::byte> file) {
           const FileBytes index{file, shards(), nullptr};
           read_tensors(door([&] { return open_sharded(index); }));
         },
     .change = change_json,
     .text = true},
    {.name = "kiln",
     .sound =
         [] {
           return Files{as("x.kiln", zeros_too()), written(zeros_too(), [](auto& source, ByteSink sink) {
                          write_record(source, sink, {.compress = true});
                        })};
         },
     .read = read_format<"kiln">,
     .mend = mend_record},
    {.name = "pt",
     .sound =
         [] {
           Files files{as("x.pt", sample()), deflated(as("x.pt", zeros_too()))};
           for (const int protocol : {2, 4}) {
             files.push_back(contents_of(legacy_file(protocol)));
             files.push_back(contents_of(objects_file(protocol)));
           }
           return files;
         },
     .read = read_format<"pt">,
     .mend = mend_zip},
    {.name = "npz",
     .sound = [] { return Files{as("x.npz", sample()), deflated(as("x.npz", zeros_too()))}; },
     .read = read_format<"npz">,
     .mend = mend_zip},
    {.name = "npy", .sound = [] { return Files{as("x.npy", one_tensor())}; }, .read = read_format<"npy">},
    {.name = "gguf",
     .sound = [] { return Files{as("x.gguf", zeros_too()), gguf_files::quantised_file()}; },
     .read = read_format<"gguf">},
    {.name = "graph", .sound = [] { return Files{program()}; }, .read = run_program},
};

}  // namespace

std::span<const Reader> store_readers() { return kStoreReaders; }

}  // namespace kiln::test
