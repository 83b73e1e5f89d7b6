// ONNX models: loaded as they stand and simplified, and run where that works.
#include <filesystem>

#include "kiln/onnx/model.hpp"
#include "tests/fuzz/changes.hpp"
#include "tests/onnx/small_models.hpp"

namespace kiln::test {
namespace {

constexpr std::int64_t kMost = 1 << 16;  // elements of an input

const Device& limited_device() {
  static const Device device = [] {
    Device::cpu().set_memory_limit(std::int64_t{1} << 30);
    return Device::cpu();
  }();
  return device;
}

/// Sizes that are free or absurd are 2.
onnx::Datum made_up(const onnx::ValueInfo& info) {
  Shape shape;
  if (info.type.shape)
    for (const onnx::DimProto& dim : *info.type.shape) {
      if (shape.size() == kMaxRank) break;
      shape.push_back(dim.value && *dim.value >= 0 && *dim.value < 64 ? *dim.value : 2);
    }
  if (numel(shape) > kMost) shape = {2};
  if (info.type.element == onnx::Element::String)
    return onnx::Datum::of_strings(shape, onnx::Strings(static_cast<std::size_t>(numel(shape)), "ab 1"),
                                   limited_device());
  std::vector<float> numbers(static_cast<std::size_t>(numel(shape)));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 7) - 3;
  const onnx::Datum floats(from_data(TensorData::of<float>(shape, std::span<const float>(numbers)), limited_device()));
  return onnx::is_known(info.type.element) ? onnx::cast_to(floats, info.type.element) : floats;
}

void run_model(const onnx::Model& model) {
  std::vector<onnx::Datum> inputs;
  for (const onnx::ValueInfo& info : model.inputs()) inputs.push_back(made_up(info));
  for (const onnx::Datum& out : door([&] { return model.run(std::move(inputs)); }))
    if (out.is_tensor() && out.value().numel() < 1 << 22) {
      const TensorData data = out.value().data();
      look_at(data.bytes());
    }
}

/// A tensor whose elements lie in another file.
FileContents with_external_data() {
  using namespace onnx::test;
  const auto entry = [](std::string_view key, std::string_view value) { return Message().text(1, key).text(2, value); };
  const Message weights = Message()
                              .number(1, 2)
                              .number(1, 3)
                              .number(2, 1)
                              .text(8, "w")
                              .number(14, 1)
                              .message(13, entry("location", "weights.bin"))
                              .message(13, entry("offset", "8"))
                              .message(13, entry("length", "24"));
  return contents_of(model(
      graph({{node("MatMul", {"x", "w"}, {"y"})}, {weights}, {value("x", {"n", "2"})}, {value("y", {"n", "3"})}})));
}
const std::string& folder() {
  static const std::string path =
      std::filesystem::path(on_disk("external/weights.bin", FileContents(64, std::byte{0x3f}))).parent_path();
  return path;
}

Files models() {
  Files files{with_external_data()};
  for (const std::string& model : onnx::test::small_models()) files.push_back(contents_of(model));
  return files;
}

void read_model(std::span<const std::byte> file) {
  Ways ways;
  for (const bool simplify : {false, true})
    ways.take([&] {
      run_model(door([&] {
        return onnx::load(file, "file.onnx", folder(), limited_device(), {.simplify = simplify, .most_trips = 1000});
      }));
    });
  ways.finish_all();
}

const Reader kOnnxReaders[] = {{.name = "onnx", .sound = models, .read = read_model, .change = change_onnx}};

}  // namespace

std::span<const Reader> onnx_readers() { return kOnnxReaders; }

}  // namespace kiln::test
