// The safetensors format: a file from its reference implementation, round trips, and a sentence for each damage.
#include "kiln/store/safetensors/safetensors.hpp"

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

namespace kiln {
namespace {

using namespace std::string_view_literals;

std::vector<std::byte> bytes_of(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// A file with this header and data, its length right.
std::vector<std::byte> file_of(std::string_view header, std::string_view data = {}) {
  std::string text(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(text.data(), &length, 8);
  return bytes_of(text.append(header).append(data));
}

std::string error_of(const std::vector<std::byte>& bytes) {
  try {
    read_safetensors(bytes, "m.safetensors");
  } catch (const DataError& error) { return std::string(error.message()); }
  return "no error";
}

// Written by Python's safetensors 0.8.0 from torch tensors: save({"weight": [[1, -2.5], [3.25, 0.1]],
// "half": float16 [1.5, -65504], "brain": bfloat16 [3.140625], "step": int64 7, "empty": zeros(0, 3),
// "flags": [True, False]}, metadata={"note": "Größe \"q\"\n"}).
constexpr std::string_view kFromPython =
    "\x90\x01\0\0\0\0\0\0{\"__metadata__\":{\"note\":\"Gr\xc3\xb6\xc3\x9f"
    "e \\\"q\\\"\\n\"},\"step\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
    "\"empty\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":[8,8]},"
    "\"weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[8,24]},"
    "\"brain\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[24,26]},"
    "\"half\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[26,30]},"
    "\"flags\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[30,32]}}    "
    "\x07\0\0\0\0\0\0\0\0\0\x80?\0\0 \xc0\0\0P@\xcd\xcc\xcc=I@\0>\xff\xfb\x01\0"sv;

TEST(Safetensors, ReadsWhatTheReferenceImplementationWrote) {
  const TensorFile file = read_safetensors(bytes_of(kFromPython), "python.safetensors");
  EXPECT_EQ(file.metadata, (Metadata{{"note", "Größe \"q\"\n"}}));
  ASSERT_EQ(file.tensors.size(), 6u);
  const auto same = [&](const char* name, const TensorData& expected) {
    EXPECT_EQ(difference(file.tensors.at(name), expected, {0, 0}), "") << name;
  };
  same("weight", TensorData::of<float>({2, 2}, {1, -2.5, 3.25, 0.1f}));
  same("half", TensorData::of<F16>({2}, {F16(1.5), F16(-65504.)}));
  same("brain", TensorData::of<BF16>({1}, {BF16(3.140625)}));
  same("step", TensorData::of<std::int64_t>({}, {7}));
  same("empty", TensorData({0, 3}, DType::F32));
  same("flags", TensorData::of<bool>({2}, {true, false}));
}

TEST(Safetensors, KeepsEveryElementTypeAndShapeThroughARoundTrip) {
  TensorFile file;
  file.metadata = {{"format", "kiln"}, {"quotes \" and \\", "tab\tand\x01"}, {"", ""}};
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 0, 5}, Shape{1, 2, 1, 2, 1, 1, 1, 2}}) {
      TensorData data(shape, dtype);
      auto bytes = data.bytes();
      for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = std::byte(dtype == DType::Bool ? k % 2 : k * 37 % 251);
      file.tensors.emplace(text(name(dtype), " ", shape), data);
    }
  }
  const auto bytes = write_safetensors(file);
  const TensorFile back = read_safetensors(bytes, "round trip");
  EXPECT_EQ(back.metadata, file.metadata);
  ASSERT_EQ(back.tensors.size(), file.tensors.size());
  for (const auto& [name, data] : file.tensors) {
    const TensorData& read = back.tensors.at(name);
    EXPECT_EQ(read.shape(), data.shape()) << name;
    EXPECT_EQ(read.dtype(), data.dtype()) << name;
    EXPECT_TRUE(std::ranges::equal(read.bytes(), data.bytes())) << name;
  }
  EXPECT_EQ(write_safetensors(back), bytes);
}

TEST(Safetensors, AlignsEachTensorToItsElementsFromTheFilesBeginning) {
  TensorFile file;
  file.tensors.emplace("a", TensorData::of<std::uint8_t>({3}, {1, 2, 3}));
  file.tensors.emplace("b", TensorData::of<double>({1}, {1.5}));
  file.tensors.emplace("c", TensorData::of<float>({1}, {2.5f}));
  const auto bytes = write_safetensors(file);
  for (const auto& [name, view] : view_safetensors(bytes, "aligned").tensors)
    EXPECT_EQ(static_cast<std::size_t>(view.bytes.data() - bytes.data()) % size_of(view.dtype), 0u) << name;
}

TEST(Safetensors, AnEmptyFileHoldsNoTensors) {
  EXPECT_TRUE(read_safetensors(file_of("{}"), "empty").tensors.empty());
  EXPECT_TRUE(read_safetensors(write_safetensors({}), "empty").tensors.empty());
  EXPECT_TRUE(read_safetensors(file_of(" { \"__metadata__\" : { } } "), "spaces").metadata.empty());
}

TEST(Safetensors, ResolvesEscapesInNames) {
  const auto file = read_safetensors(file_of(R"({"__metadata__":{"\u00e9\ud83d\ude00\/\b\f\r\t\"":"\\"}})"), "escapes");
  EXPECT_EQ(file.metadata, (Metadata{{"é😀/\b\f\r\t\"", "\\"}}));
}

TEST(Safetensors, NamesWhatIsWrongWithTheLength) {
  EXPECT_EQ(error_of(bytes_of("abc")),
            "m.safetensors: 3 bytes are too few for a safetensors file, which begins with a length of 8 bytes");
  EXPECT_EQ(error_of(bytes_of("\x09\0\0\0\0\0\0\0{}"sv)),
            "m.safetensors: its header should have 9 bytes, the file has only 2 more");
  EXPECT_EQ(error_of(bytes_of("\xff\xff\xff\xff\xff\xff\xff\xff{}"sv)),
            "m.safetensors: it is no safetensors file: its first 8 bytes would be the length of a header of "
            "18446744073709551615 bytes, and the format's limit is 100000000");
}

struct WrongHeader {
  const char* header;
  const char* sentence;  // behind "m.safetensors: "
};

TEST(Safetensors, NamesWhatIsWrongWithTheHeader) {
  const WrongHeader wrong[] = {
      {"", "header, byte 0: expected '{', the header ends here"},
      {"[]", "header, byte 0: expected '{'"},
      {"{} x", "header, byte 3: text after the header's closing brace"},
      {"{\"a", "header, byte 3: the string begun at byte 1 has no end"},
      {"{\"a\n\":1}", "header, byte 4: a control character in a string"},
      {"{\"\xc0\x80\":1}", "header, byte 5: the string begun at byte 1 is not UTF-8"},
      {"{\"\\x\":1}", "header, byte 4: an escape that JSON does not have"},
      {"{\"\\u12g4\":1}", "header, byte 6: \\u needs four hexadecimal digits"},
      {"{\"\\ud800\":1}", "header, byte 8: half of a surrogate pair"},
      {"{\"\\udc00\":1}", "header, byte 8: half of a surrogate pair"},
      {"{\"a\":1}", "header, byte 5: expected '{'"},
      {"{\"a\":{}}", "header, byte 7: tensor 'a' lacks 'dtype'"},
      {"{\"a\":{\"dtype\":\"F32\"}}", "header, byte 20: tensor 'a' lacks 'shape'"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}", "header, byte 31: tensor 'a' lacks 'data_offsets'"},
      {"{\"a\":{\"dtype\":\"F7\"}}", "header, byte 18: tensor 'a' has the unknown dtype 'F7'"},
      {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", "header, byte 28: tensor 'a' says 'dtype' twice"},
      {"{\"a\":{\"colour\":1}}", "header, byte 15: tensor 'a' has the unknown key 'colour'"},
      {"{\"a\":{\"shape\":[-1]}}", "header, byte 15: expected a whole number"},
      {"{\"a\":{\"shape\":[1.5]}}", "header, byte 16: expected a whole number"},
      {"{\"a\":{\"shape\":[01]}}", "header, byte 17: a number with a leading zero"},
      {"{\"a\":{\"shape\":[1,]}}", "header, byte 17: expected a whole number"},
      {"{\"a\":{\"shape\":[9223372036854775808]}}", "header, byte 34: the number begun at byte 15 is over 2^63 - 1"},
      {"{\"a\":{\"shape\":[1,1,1,1,1,1,1,1,1]}}", "header, byte 31: tensor 'a' has more than 8 dimensions"},
      {"{\"__metadata__\":{\"k\":\"\",\"k\":\"\"}}", "header, byte 30: metadata 'k' occurs twice"},
      {"{\"__metadata__\":{},\"__metadata__\":{}}", "header, byte 34: '__metadata__' occurs twice"},
  };
  for (const WrongHeader& each : wrong)
    EXPECT_EQ(error_of(file_of(each.header)), std::string("m.safetensors: ") + each.sentence) << each.header;
}

std::string entry(const char* name, const char* dtype, const char* shape, const char* offsets) {
  return text('"', name, "\":{\"dtype\":\"", dtype, "\",\"shape\":[", shape, "],\"data_offsets\":[", offsets, "]}");
}

TEST(Safetensors, LeavesOutElementTypesThatKilnHasNot) {
  const auto file = file_of(text("{", entry("a", "F8_E4M3", "2,3", "0,6"), ",", entry("b", "U8", "2", "6,8"), ",",
                                 entry("c", "F4", "3", "8,10"), ",", entry("d", "C64", "1", "10,18"), "}"),
                            "123456\7\109012345678");
  const TensorSource source = open_tensors(FileBytes{file, "m.safetensors", nullptr});
  ASSERT_EQ(source.tensors.size(), 1u);
  EXPECT_EQ(source.tensors.at("b").read().to_vector<int>(), (std::vector<int>{7, 8}));
  EXPECT_EQ(source.left_out,
            (std::map<std::string, std::string>{{"a", "is of type F8_E4M3 and shape [2, 3]: Kiln has no such type"},
                                                {"c", "is of type F4 and shape [3]: Kiln has no such type"},
                                                {"d", "is of type C64 and shape [1]: Kiln has no such type"}}));
  EXPECT_EQ(error_of(file_of(text("{", entry("a", "F8_E5M2", "2", "0,3"), "}"), "123")),
            "m.safetensors: tensor 'a': F8_E5M2 [2] takes 2 bytes, its offsets span 3");
  EXPECT_EQ(
      error_of(file_of(text("{", entry("a", "F8_E5M2", "1", "0,1"), ",", entry("a", "U8", "1", "1,2"), "}"), "12")),
      "m.safetensors: tensor 'a' occurs twice");
}

TEST(Safetensors, NamesTheTensorWhoseBytesDoNotFit) {
  const auto error = [](std::string_view entries, std::string_view data) {
    return error_of(file_of(text("{", entries, "}"), data)).substr(std::strlen("m.safetensors: "));
  };
  EXPECT_EQ(error(entry("a", "F32", "1", "4,0"), "1234"),
            "tensor 'a': bytes 4 to 0 are not within the file's 4 bytes of data");
  EXPECT_EQ(error(entry("a", "F32", "2", "0,8"), "1234"),
            "tensor 'a': bytes 0 to 8 are not within the file's 4 bytes of data");
  EXPECT_EQ(error(entry("a", "F32", "3", "0,4"), "1234"), "tensor 'a': float32 [3] takes 12 bytes, its offsets span 4");
  EXPECT_EQ(error(entry("a", "F32", "4294967296,4294967296", "0,4"), "1234"),
            "tensor 'a': shape [4294967296, 4294967296] is over 2^63 - 1 bytes");
  EXPECT_EQ(error(entry("a", "F32", "0,4294967296,4294967296", "0,0"), ""),
            "tensor 'a': shape [0, 4294967296, 4294967296] is over 2^63 - 1 bytes");
  EXPECT_EQ(error(entry("a", "U8", "2", "0,2") + "," + entry("b", "U8", "2", "1,3"), "123"),
            "tensors 'a' and 'b' overlap");
  EXPECT_EQ(error(entry("a", "U8", "1", "0,1") + "," + entry("b", "U8", "1", "2,3"), "123"),
            "1 bytes before tensor 'b' belong to no tensor");
  EXPECT_EQ(error(entry("a", "U8", "1", "0,1"), "123"), "2 bytes after the last tensor belong to none");
  EXPECT_EQ(error(entry("a", "U8", "1", "0,1") + "," + entry("a", "U8", "1", "1,2"), "12"), "tensor 'a' occurs twice");
  EXPECT_EQ(error(entry("a", "BOOL", "1", "0,1"), "2"), "tensor 'a': a boolean that is neither 0 nor 1");
}

TEST(Safetensors, RefusesToWriteANameThatNoReaderAccepts) {
  TensorFile broken, reserved;
  broken.tensors.emplace("\xff", TensorData());
  reserved.tensors.emplace("__metadata__", TensorData());
  EXPECT_THROW(write_safetensors(broken), ArgumentError);
  EXPECT_THROW(write_safetensors(reserved), ArgumentError);
  EXPECT_THROW(write_safetensors({.tensors = {}, .metadata = {{"k", "\xed\xa0\x80"}}}), ArgumentError);
}

}  // namespace
}  // namespace kiln
