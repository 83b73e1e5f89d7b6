// What is alike for all formats: what is written is read again, from a mapped file, without a copy where that is
// possible.
#include "kiln/store/format/source.hpp"

#include <cstring>

#include <gtest/gtest.h>

#include "kiln/core/config/config.hpp"
#include "kiln/store/format/byte_reader.hpp"
#include "kiln/store/format/edit.hpp"
#include "kiln/store/numpy/numpy.hpp"
#include "kiln/store/record/record_file.hpp"
#include "kiln/store/safetensors/safetensors.hpp"
#include "kiln/store/safetensors/sharded.hpp"
#include "kiln/store/zip/deflate.hpp"
#include "kiln/store/zip/zip_reader.hpp"
#include "kiln/store/zip/zip_writer.hpp"

#include "../temporary.hpp"
#include "samples.hpp"
#include "zip_files.hpp"

namespace kiln {
namespace {

void expect_same(const TensorSource& actual, const TensorSource& expected) {
  ASSERT_EQ(actual.tensors.size(), expected.tensors.size());
  for (const auto& [name, tensor] : expected.tensors)
    EXPECT_EQ(difference(actual.tensors.at(name).read(), tensor.read(), {0, 0}), "") << name;
}

class EveryFormat : public testing::TestWithParam<std::string_view> {};

TEST_P(EveryFormat, GivesBackWhatWasWrittenInPlace) {
  const TemporaryFile file(text("model", GetParam()));
  const TensorSource source = sample();
  write_tensors(source, file.path);
  const TensorSource read = open_tensors(file.path);
  expect_same(read, source);
  for (const auto& [name, tensor] : read.tensors) EXPECT_TRUE(tensor.read().owner()) << name;
}

TEST_P(EveryFormat, WritesTheSameBytesForTheSameContents) {
  const TemporaryFile a(text("a", GetParam())), b(text("b", GetParam()));
  write_tensors(sample(), a.path);
  write_tensors(sample(), b.path);
  EXPECT_EQ(read_file(a.path), read_file(b.path));
}

// Each tensor is read after the one before was written and let go.
TEST_P(EveryFormat, HoldsOneTensorAtATime) {
  static int alive = 0, most = 0;
  struct Held {
    std::vector<float> values = std::vector<float>(8, 3);
    Held() { most = std::max(most, ++alive); }
    ~Held() { --alive; }
  };
  alive = most = 0;
  TensorSource source;
  for (const char* name : {"a", "b", "c"})
    source.tensors.emplace(name, StoredTensor{.shape = {8}, .dtype = DType::F32, .read = [] {
                                                const auto held = std::make_shared<Held>();
                                                return TensorData::lent({8}, DType::F32,
                                                                        std::as_bytes(std::span(held->values)), held);
                                              }});
  const TemporaryFile file(text("model", GetParam()));
  write_tensors(source, file.path);
  EXPECT_EQ(most, 1);
  EXPECT_EQ(alive, 0);
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryFormat,
                         testing::Values(".safetensors", ".kiln", ".gguf", ".pt", ".pth", ".bin", ".npz"));

TEST(Formats, AreToldByTheirContents) {
  const TemporaryFile pt("model.pt"), other("model.dat");
  write_tensors(sample(), pt.path);
  std::filesystem::rename(pt.path, other.path);
  EXPECT_EQ(open_tensors(other.path).format, "pytorch");
  write_text(other.path, "no tensors");
  EXPECT_EQ(error_of([&] { open_tensors(other.path); }),
            text("DataError: ", other.path,
                 ": no file of tensors that Kiln reads: safetensors, Kiln's records, GGUF, "
                 "NumPy's .npy and .npz, PyTorch's .pt"));
  EXPECT_EQ(error_of([&] { write_tensors(sample(), "model.onnx"); }),
            "ArgumentError: model.onnx: the extension says in which format to write: .kiln, .gguf, .npy, .safetensors, "
            ".npz, .pt");
  EXPECT_TRUE(error_of([&] { open_tensors(other.directory + "/none.pt"); }).starts_with("IoError: cannot read "));
}

TEST(Formats, ADirectoryHasOneModel) {
  const TemporaryFile file("model.gguf"), index("model.safetensors");
  EXPECT_TRUE(error_of([&] { open_tensors(file.directory); }).ends_with("it has 0 files of tensors, not one"));
  write_tensors(sample(), file.path);
  EXPECT_EQ(open_tensors(file.directory).format, "gguf");
  write_sharded(sample(), index.path, 20);
  expect_same(open_tensors(index.directory), sample());
}

TEST(Sharded, EachFileHasWhatFitsAndTheIndexNamesThem) {
  const TemporaryFile file("model.safetensors");
  write_sharded(sample(), file.path, 20);  // 4, 24, 3, 8 and 16 bytes
  EXPECT_EQ(open_tensors(file.directory + "/model-00001-of-00004.safetensors").tensors.size(), 1u);
  const std::string index = file.path + ".index.json";
  const TensorSource read = open_tensors(index);
  expect_same(read, sample());
  EXPECT_EQ(read.format, "shards");
  const auto json = parse_json(read_text_file(index), index);
  EXPECT_EQ(from_json<std::int64_t>(std::get<Json::Object>(std::get<Json::Object>(json.is)[0].second.is)[0].second, ""),
            55);
}

TEST(Sharded, AnIndexNamesFilesBesideIt) {
  const TemporaryFile file("model.safetensors.index.json");
  for (const char* name : {"../secret", "/etc/passwd", "", ".."}) {
    write_text(file.path, text(R"({"metadata": {}, "weight_map": {"w": ")", name, "\"}}"));
    EXPECT_EQ(error_of([&] { open_tensors(file.path); }), text("DataError: ", file.path, ": tensor 'w' lies in '", name,
                                                               "', which is not a file beside the index"));
  }
  for (const char* broken : {"", "{", "[]", R"({"weight_map": 3})", R"({"weight_map": {"w": 3}})"}) {
    write_text(file.path, broken);
    EXPECT_TRUE(error_of([&] { open_tensors(file.path); }).starts_with(text("DataError: ", file.path, ": "))) << broken;
  }
  write_tensors(sample(), file.directory + "/a.safetensors");
  write_text(file.path, R"({"weight_map": {"none": "a.safetensors"}})");
  EXPECT_TRUE(error_of([&] { open_tensors(file.path); }).ends_with("tensor 'none' is not in a.safetensors"));
}

TEST(Record, IsCheckedTensorByTensor) {
  std::vector<std::byte> bytes = written(sample(), [](const TensorSource& s, ByteSink sink) { write_record(s, sink); });
  const auto at = [&](const char* name) {
    const FileBytes file = in_memory(bytes, "r.kiln");
    return error_of([&] { open_record(file).tensors.at(name).read(); });
  };
  EXPECT_EQ(at("conv1.bias"), "no error");
  bytes[64] ^= std::byte{1};  // the first tensor
  EXPECT_EQ(at("conv1.bias"), "DataError: r.kiln: tensor 'conv1.bias': damaged: its checksum differs");
  EXPECT_EQ(at("conv1.weight"), "no error");
  bytes[bytes.size() - 12] = std::byte{9};  // the version
  EXPECT_EQ(at("conv1.weight"),
            "DataError: r.kiln: a record of version 9, this Kiln reads up to 1: a newer one wrote it");
}

TEST(Record, CompressesWhatGetsSmaller) {
  TensorSource source = sample();
  source.tensors.emplace("zeros", stored(TensorData({1000}, DType::F32)));
  const auto bytes =
      written(source, [](const TensorSource& s, ByteSink sink) { write_record(s, sink, {.compress = true}); });
  const TensorSource read = open_record(in_memory(bytes));
  expect_same(read, source);
  EXPECT_EQ(read.tensors.at("zeros").encoding, "deflate");
  EXPECT_LT(read.tensors.at("zeros").stored_bytes, 100);
  EXPECT_EQ(read.tensors.at("steps").encoding, "");
}

// As version 1 wrote it: later versions read this.
TEST(Record, ReadsVersion1) {
  std::string bytes = "KILNREC\n";
  bytes.resize(64);
  bytes += std::string_view("\0\0\x80\x3f\0\0\0\xc0", 8);  // 1, -2
  bytes.resize(128);
  bytes += R"({
  "tensors": [
    {"name": "w", "dtype": "float32", "shape": [2], "begin": 64, "bytes": 8, "crc": 3280414294, "deflated": false}
  ],
  "metadata": {"value.epoch": "3"}
}
)";
  append_number(bytes, std::uint64_t{bytes.size() - 128});
  append_number(bytes, crc32_of(std::as_bytes(std::span(bytes)).subspan(128, bytes.size() - 136)));
  append_number(bytes, std::uint32_t{1});
  bytes += "KILNREC\n";
  const TensorSource read = open_record(in_memory(bytes_of(bytes)));
  EXPECT_EQ(read.tensors.at("w").read().to_vector<float>(), (std::vector<float>{1, -2}));
  EXPECT_EQ(read.metadata, (Metadata{{"value.epoch", "3"}}));
}

// numpy.save(f, numpy.asfortranarray(numpy.arange(6, dtype='>i2').reshape(2, 3))), of NumPy 2.4
TEST(Numpy, ReadsFortransOrderAndBigEndianNumbers) {
  std::string bytes("\x93NUMPY\x01\0v\0", 10);
  bytes += "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }";
  bytes.resize(127, ' ');
  bytes += '\n';
  bytes += std::string_view("\0\0\0\3\0\1\0\4\0\2\0\5", 12);
  const TensorSource read = open_tensors(in_memory(bytes_of(bytes), "a.npy"));
  EXPECT_EQ(read.format, "npy");
  EXPECT_EQ(read.tensors.at("array").shape, (Shape{2, 3}));
  EXPECT_EQ(read.tensors.at("array").read().to_vector<int>(), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  const auto refused = [&](std::string_view descr) {
    std::string other = bytes;
    other.replace(other.find("'>i2'"), 5, descr);
    return error_of([&] { open_npy(in_memory(bytes_of(other), "a.npy")); });
  };
  EXPECT_EQ(refused("'|O' "),
            "DataError: a.npy: has elements of type '|O', which are pickled objects: Kiln reads real numbers and "
            "booleans");
  EXPECT_NE(refused("'<c8'").find("elements of type '<c8': Kiln reads real numbers"), std::string::npos);
  EXPECT_NE(refused("[(1)]").find("structures"), std::string::npos);
  EXPECT_EQ(refused("'<f8'"), "DataError: a.npy: float64 [2, 3] takes 48 bytes, the file has 12");
}

/// An array as NumPy writes it, of elements that `descr` describes.
std::string array_of(std::string_view descr, std::string_view shape, std::string_view data) {
  std::string bytes("\x93NUMPY\x01\0\xf6\0", 10);
  bytes += text("{'descr': ", descr, ", 'fortran_order': False, 'shape': ", shape, ", }");
  bytes.resize(255, ' ');
  return bytes + '\n' + std::string(data);
}

// numpy.savez(f, data=..., format='csr', pair=numpy.zeros(1, [('a', '<i4'), ('b', '<f4')]), step=numpy.float64(2), ...)
TEST(Numpy, AnArchiveIsReadButForWhatIsNoNumber) {
  std::vector<std::byte> bytes;
  const auto sink = [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); };
  ZipWriter zip(sink);
  zip.add("data.npy", array_of("'<i2'", "(2, 1)", std::string_view("\1\0\2\0", 4)));
  zip.add("format.npy", array_of("'<U3'", "()", std::string_view("c\0\0\0s\0\0\0r\0\0\0", 12)));
  zip.add("pair.npy", array_of("[('a', '<i4'), ('b[(', '<f4', (2,))]", "(1,)", std::string_view("12345678", 8)));
  zip.add("step.npy", array_of("'<f8'", "()", std::string_view("\0\0\0\0\0\0\0@", 8)));
  zip.add("wave.npy", array_of("'<c8'", "(1,)", std::string_view("12345678", 8)));
  zip.add("any.npy", array_of("'|O'", "(1,)", "pickled"));
  zip.finish();
  for (const auto& archive : {bytes, deflated(bytes)}) {
    const TensorSource source = open_tensors(in_memory(archive, "m.npz"));
    EXPECT_EQ(source.format, "npz");
    ASSERT_EQ(source.tensors.size(), 2u);
    EXPECT_EQ(source.tensors.at("data").read().to_vector<int>(), (std::vector<int>{1, 2}));
    EXPECT_EQ(source.tensors.at("step").shape, Shape());
    EXPECT_EQ(source.tensors.at("step").read().to_vector<double>(), std::vector<double>{2});
    EXPECT_EQ(source.left_out, (std::map<std::string, std::string>{
                                   {"any",
                                    "has elements of type '|O', which are pickled objects: Kiln reads real "
                                    "numbers and booleans"},
                                   {"format", "has elements of type '<U3': Kiln reads real numbers and booleans"},
                                   {"pair", "has elements that are structures, which are no numbers"},
                                   {"wave", "has elements of type '<c8': Kiln reads real numbers and booleans"}}));
    // By their new names where tensors get such.
    const std::vector<Rename> rules = {{"^", "layer."}};
    EXPECT_TRUE(renamed(source, rules).left_out.contains("layer.wave"));
    EXPECT_TRUE(under(renamed(source, rules), "layer", "m.npz").left_out.contains("wave"));
    EXPECT_EQ(filtered(source, [](const std::string& name) { return name == "data"; }).tensors.size(), 1u);
  }
  // What is no array at all is left out as well, where the name says that the file is an archive of arrays.
  bytes.clear();
  ZipWriter other(sink);
  other.add("data.npy", array_of("'<i2'", "(1,)", std::string_view("\1\0", 2)));
  other.add("readme.txt", "numbers");
  other.finish();
  EXPECT_EQ(open_tensors(in_memory(bytes, "m.npz")).left_out,
            (std::map<std::string, std::string>{{"readme.txt", "is no array: its name does not end with .npy"}}));
}

TEST(Numpy, WritesTheHeaderThatNumpyWrites) {
  TensorSource one;
  one.tensors.emplace("x", stored(TensorData::of<float>({3}, {1, 2, 3})));
  const auto bytes = written(one, write_npy);
  ASSERT_EQ(bytes.size(), 128u + 12);
  std::string header("\x93NUMPY\x01\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 67);
  header.resize(127, ' ');
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(bytes.data()), 128), header + "\n");
}

/// A zip archive of one deflated entry that says it has `size` bytes.
std::vector<std::byte> deflated_zip(std::span<const std::byte> contents, std::uint32_t size) {
  const auto small = deflate(contents);
  std::string head;
  append_number(head, std::uint16_t{20}), append_number(head, std::uint16_t{0}), append_number(head, std::uint16_t{8});
  append_number(head, std::uint32_t{0}), append_number(head, crc32_of(contents));
  append_number(head, static_cast<std::uint32_t>(small.size())), append_number(head, size);
  append_number(head, std::uint16_t{5}), append_number(head, std::uint16_t{0});
  std::string out = "PK\x03\x04" + head + "a.npy";
  out.append(reinterpret_cast<const char*>(small.data()), small.size());
  const auto directory = static_cast<std::uint32_t>(out.size());
  out += "PK\x01\x02" + std::string("\x14\0", 2) + head + std::string(14, '\0') + "a.npy";
  const auto length = static_cast<std::uint32_t>(out.size()) - directory;
  out += "PK\x05\x06" + std::string("\0\0\0\0\1\0\1\0", 8);
  append_number(out, length), append_number(out, directory), append_number(out, std::uint16_t{0});
  return bytes_of(out);
}

TEST(Zip, ABombIsRefusedBeforeItGrows) {
  const std::vector<std::byte> zeros(1 << 20);
  const FileBytes honest = in_memory(deflated_zip(zeros, 1 << 20), "b.npz");
  EXPECT_EQ(zip_contents(honest, "a.npy", read_zip(honest).at("a.npy")).bytes.size(), zeros.size());
  // More than any deflated bytes can become.
  EXPECT_NE(error_of([&] {
              read_zip(in_memory(deflated_zip(zeros, 4'000'000'000u), "b.npz"));
            }).find("bytes, which are not 4000000000 inflated"),
            std::string::npos);
  // Less than comes out.
  const FileBytes lying = in_memory(deflated_zip(zeros, 1000), "b.npz");
  EXPECT_EQ(error_of([&] { zip_contents(lying, "a.npy", read_zip(lying).at("a.npy")); }),
            "DataError: b.npz: 'a.npy': inflates to more than the 1000 bytes that it should have");
}

TEST(Zip, EntriesDoNotShareBytes) {
  std::vector<std::byte> bytes;
  const auto sink = [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); };
  ZipWriter zip(sink);
  zip.add("a", "contents");
  zip.add("b", "contents");
  zip.finish();
  EXPECT_EQ(read_zip(in_memory(bytes, "o.zip")).size(), 2u);
  constexpr std::size_t kEnd = 22, kPlace = 42, kEntry = 46;
  std::memset(bytes.data() + bytes.size() - kEnd - kEntry - 1 + kPlace, 0, 4);  // b begins where a does
  EXPECT_EQ(error_of([&] { read_zip(in_memory(bytes, "o.zip")); }),
            "DataError: o.zip: two entries of the zip archive overlap");
}

std::vector<std::string> names(const TensorSource& source) {
  std::vector<std::string> result;
  for (const auto& [name, tensor] : source.tensors) result.push_back(name);
  return result;
}

TEST(Edit, RenamesByRulesInTheirOrder) {
  const std::vector<Rename> rules = {{R"(^conv(\d)\.)", "layers.$1."}, {R"(^layers\.1\.)", "first."}};
  EXPECT_EQ(names(renamed(sample(), rules)),
            (std::vector<std::string>{"first.bias", "first.weight", "small", "steps", "wide"}));
  const std::vector<Rename> clash = {{"steps|wide", "small"}};
  EXPECT_EQ(error_of([&] { renamed(sample(), clash); }),
            "ArgumentError: rename: 'steps' and another tensor would both be 'small'");
  const std::vector<Rename> broken = {{"(", ""}};
  EXPECT_TRUE(error_of([&] { renamed(sample(), broken); }).starts_with("ArgumentError: the pattern '(' has"));
  TensorSource norm;
  for (const char* name : {"bn.gamma", "bn.beta", "bn.moving_mean", "bn.moving_variance", "gammas"})
    norm.tensors.emplace(name, stored(TensorData({1}, DType::F32)));
  EXPECT_EQ(names(renamed(norm, norm_names())),
            (std::vector<std::string>{"bn.bias", "bn.running_mean", "bn.running_var", "bn.weight", "gammas"}));
}

TEST(Edit, ClosesGapsInLists) {
  TensorSource source;
  for (const char* name : {"fc.0.weight", "fc.3.weight", "fc.10.0.bias", "fc.10.2.bias", "fc.x", "7.12", "a1.weight"})
    source.tensors.emplace(name, stored(TensorData({1}, DType::F32)));
  EXPECT_EQ(names(renumbered(source)), (std::vector<std::string>{"0.0", "a1.weight", "fc.0.weight", "fc.1.weight",
                                                                 "fc.2.0.bias", "fc.2.1.bias", "fc.x"}));
}

TEST(Edit, FiltersAndLooksUnderAKey) {
  const auto of_conv = [](const std::string& name) { return name.starts_with("conv1"); };
  EXPECT_EQ(names(filtered(sample(), of_conv)), (std::vector<std::string>{"conv1.bias", "conv1.weight"}));
  EXPECT_EQ(names(under(sample(), "conv1", "m.pt")), (std::vector<std::string>{"bias", "weight"}));
  EXPECT_EQ(error_of([] { under(sample(), "model", "m.pt"); }), "DataError: m.pt: no tensor lies under 'model'");
}

TEST(Edit, LayoutsAreReadInTheOtherOrder) {
  TensorSource source;
  source.tensors.emplace("fc.weight", stored(TensorData::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})));
  std::vector<float> counted(2 * 3 * 4 * 5);
  for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<float>(i);
  source.tensors.emplace("conv.weight", stored(TensorData::of<float>({2, 3, 4, 5}, std::span<const float>(counted))));
  const TensorSource linear = with_layout(source, transposed_linear());
  EXPECT_EQ(linear.tensors.at("fc.weight").shape, (Shape{3, 2}));
  EXPECT_EQ(linear.tensors.at("fc.weight").read().to_vector<float>(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(linear.tensors.at("conv.weight").shape, (Shape{2, 3, 4, 5}));
  const TensorData ohwi = with_layout(source, from_ohwi()).tensors.at("conv.weight").read();
  ASSERT_EQ(ohwi.shape(), (Shape{2, 5, 3, 4}));
  const TensorData hwio = with_layout(source, from_hwio()).tensors.at("conv.weight").read();
  ASSERT_EQ(hwio.shape(), (Shape{5, 4, 2, 3}));
  for (int o = 0; o < 2; ++o)
    for (int h = 0; h < 3; ++h)
      for (int w = 0; w < 4; ++w)
        for (int i = 0; i < 5; ++i) EXPECT_EQ(ohwi.at(((o * 5 + i) * 3 + h) * 4 + w), ((o * 3 + h) * 4 + w) * 5 + i);
  for (int h = 0; h < 2; ++h)
    for (int w = 0; w < 3; ++w)
      for (int i = 0; i < 4; ++i)
        for (int o = 0; o < 5; ++o) EXPECT_EQ(hwio.at(((o * 4 + i) * 2 + h) * 3 + w), ((h * 3 + w) * 4 + i) * 5 + o);
  EXPECT_TRUE(
      error_of([&] { with_layout(source, {"**", {0, 0}}); }).starts_with("ArgumentError: layout of '**': [0, 0]"));
}

TEST(Edit, FloatsAreConvertedAndNothingElse) {
  const TensorSource half = with_floats(sample(), DType::BF16);
  EXPECT_EQ(half.tensors.at("wide").dtype, DType::BF16);
  EXPECT_EQ(half.tensors.at("wide").read().dtype(), DType::BF16);
  EXPECT_EQ(half.tensors.at("steps").read().dtype(), DType::I64);
}

}  // namespace
}  // namespace kiln
