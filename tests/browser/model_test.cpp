// Models from bytes: ONNX files, captured graphs and safetensors, whole, damaged and cut.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/browser/convert.hpp"
#include "kiln/browser/model.hpp"
#include "kiln/core/error/trace.hpp"
#include "kiln/onnx/save.hpp"
#include "kiln/store/graph_file.hpp"
#include "kiln/store/safetensors/safetensors.hpp"
#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "tests/browser/javascript.hpp"

namespace kiln {
namespace {

using browser::Item;
using testing::HasSubstr;
using testing::StartsWith;
using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class BrowserModel : public testing::Test {
 protected:
  static void SetUpTestSuite() { browser::offer(browser::model_functions()); }

  BrowserModel() { std::filesystem::create_directories(folder_); }
  ~BrowserModel() override { std::filesystem::remove_all(folder_); }

  /// x [2, 3] -> x * 2 + 1
  Bytes onnx() {
    const auto function = [](const Tensor<2>& x) { return x * 2.0 + 1.0; };
    onnx::save(function, zeros({2, 3}, Device::cpu()), (folder_ / "m.onnx").string());
    return bytes_of(folder_ / "m.onnx");
  }
  Bytes graph() {
    save(capture([](const Tensor<2>& x) { return x.sum(1); }, zeros({2, 3}, Device::cpu())),
         (folder_ / "g.safetensors").string());
    return bytes_of(folder_ / "g.safetensors");
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      text("kiln-browser-", testing::UnitTest::GetInstance()->random_seed(), ::getpid());
};

Item load(const Bytes& bytes) {
  const auto data =
      TensorData::of<std::uint8_t>({static_cast<std::int64_t>(bytes.size())}, std::span<const std::uint8_t>(bytes));
  return browser::call("kiln.load", Item::List{Item::Record{{"bytes", data}, {"name", std::string("m")}}});
}
const Item& field(const Item& item, std::string_view name) {
  for (const auto& [key, value] : std::get<Item::Record>(item.is))
    if (key == name) return value;
  fail<ArgumentError>("no field ", name);
}
std::vector<float> run(const Item& loaded, const Item& inputs, std::string_view output) {
  const Item results = browser::call("kiln.run", Item::List{field(loaded, "model"), inputs});
  return std::get<Value>(field(results, output).is).data().to_vector<float>();
}
std::string error_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const Error& error) { return std::string(without_calls(error.what())); }
  return "none";
}
TensorData six() { return TensorData::of<float>({6}, {1, 2, 3, 4, 5, 6}); }

TEST_F(BrowserModel, RunsAnOnnxFile) {
  const Item model = load(onnx());
  EXPECT_EQ(std::get<std::string>(field(model, "kind").is), "onnx");
  const auto inputs = std::get<Item::List>(field(model, "inputs").is);
  ASSERT_EQ(inputs.size(), 1u);
  const auto name = std::get<std::string>(field(inputs[0], "name").is);
  const auto output = std::get<std::string>(field(std::get<Item::List>(field(model, "outputs").is)[0], "name").is);
  EXPECT_EQ(std::get<std::string>(field(inputs[0], "dtype").is), "float32");
  EXPECT_EQ(std::get<Item::List>(field(inputs[0], "shape").is).size(), 2u);

  const std::vector<float> expected{3, 5, 7, 9, 11, 13};
  EXPECT_EQ(run(model, Item::Record{{name, six()}}, output), expected);  // by name
  EXPECT_EQ(run(model, Item::List{six()}, output), expected);            // by position
  EXPECT_EQ(run(model, six(), output), expected);                        // the only one
  EXPECT_EQ(run(model, from_data(six().reshaped({2, 3}), Device::cpu()), output), expected);
  const Item arrays = browser::call("kiln.run", Item::List{field(model, "model"), six(), true});
  EXPECT_EQ(std::get<TensorData>(field(arrays, output).is).to_vector<float>(), expected);

  EXPECT_THAT(error_of([&] { run(model, Item::Record{{"image", six()}}, output); }),
              StartsWith("ArgumentError: m: there is no input 'image'"));
  EXPECT_THAT(error_of([&] { run(model, Item::Record{}, output); }), HasSubstr("is missing"));
  EXPECT_THAT(error_of([&] { run(model, Item::List{six(), six()}, output); }), HasSubstr("takes 1 inputs, and got 2"));
  EXPECT_THAT(error_of([&] { run(model, TensorData::of<float>({5}, {1, 2, 3, 4, 5}), output); }),
              StartsWith("ShapeError"));
  EXPECT_THAT(error_of([&] { run(model, std::string("cat"), output); }),
              HasSubstr("should be a typed array or a tensor, and is a text"));
}

TEST_F(BrowserModel, LeavesDataAsTheyAreWhereAFileDeclaresHugeSizes) {
  const double huge = std::ldexp(1.0, 62);
  for (const std::vector<Item>& sizes :
       {std::vector<Item>{huge, 4.0}, {huge, std::string("n")}, {huge, huge, 2.0 * huge}})
    EXPECT_EQ(browser::with_shape(six(), {.name = "x", .dtype = "float32", .shape = sizes}).shape(), six().shape());
}

TEST_F(BrowserModel, RunsACapturedGraph) {
  const Item model = load(graph());
  EXPECT_EQ(std::get<std::string>(field(model, "kind").is), "graph");
  EXPECT_EQ(run(model, six(), "output"), (std::vector<float>{6, 15}));
  EXPECT_EQ(run(model, Item::Record{{"input", six()}}, "output"), (std::vector<float>{6, 15}));
  EXPECT_THAT(error_of([&] { run(model, TensorData::of<float>({4}, {1, 2, 3, 4}), "output"); }), HasSubstr("[4]"));
}

TEST_F(BrowserModel, ReadsTensors) {
  const auto written =
      write_safetensors(TensorFile{{{"w", six()}, {"b", TensorData::of<std::int64_t>({1}, {7})}}, {{"by", "me"}}});
  const Item loaded = load(Bytes(reinterpret_cast<const std::uint8_t*>(written.data()),
                                 reinterpret_cast<const std::uint8_t*>(written.data()) + written.size()));
  EXPECT_EQ(std::get<std::string>(field(loaded, "kind").is), "tensors");
  EXPECT_EQ(std::get<Value>(field(field(loaded, "tensors"), "w").is).data().to_vector<float>(),
            six().to_vector<float>());
  EXPECT_EQ(std::get<std::string>(field(field(loaded, "metadata"), "by").is), "me");
}

/// Each file, cut at any length and with any byte changed, is read or refused with a sentence.
TEST_F(BrowserModel, RefusesDamagedFiles) {
  EXPECT_EQ(error_of([] { load({}); }), "DataError: m: the file is empty");
  EXPECT_THAT(error_of([] { load({'h', 'e', 'l', 'l', 'o'}); }), HasSubstr("m"));
  for (const Bytes& whole : {onnx(), graph()}) {
    ASSERT_EQ(error_of([&] { load(whole); }), "none");
    for (std::size_t length = 1; length < whole.size(); length += 3)
      EXPECT_THAT(error_of([&] { load(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))); }),
                  HasSubstr("m"))
          << length << " of " << whole.size();
    for (std::size_t at = 0; at < whole.size(); at += 2) {
      Bytes damaged = whole;
      damaged[at] ^= 0x5a;
      error_of([&] { load(damaged); });
    }
  }
}

TEST_F(BrowserModel, SaysThatAGraphIsOfALaterVersion) {
  const Bytes bytes = graph();
  std::vector<std::byte> file(bytes.size());
  std::memcpy(file.data(), bytes.data(), bytes.size());
  TensorFile record = read_safetensors(file, "g");
  auto& program = record.tensors.at("program");
  program.bytes()[4] = std::byte{120};  // the version follows four letters (docs/wire.md)
  const auto later = write_safetensors(record);
  const auto* const first = reinterpret_cast<const std::uint8_t*>(later.data());
  EXPECT_THAT(error_of([&] { load(Bytes(first, first + later.size())); }), HasSubstr("version"));
}

}  // namespace
}  // namespace kiln
