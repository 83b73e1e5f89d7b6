// PyTorch's files without Python: what the pickles say is read, and nothing in them runs.
#include "kiln/store/pickle/pytorch.hpp"

#include <string>

#include <gtest/gtest.h>

#include "kiln/store/zip/zip_reader.hpp"
#include "kiln/store/zip/zip_writer.hpp"

#include "pickles.hpp"
#include "samples.hpp"

namespace kiln {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

/// A file as torch.save writes it, with this pickle and one storage "0" of these floats.
std::vector<std::byte> archive(std::string_view pickle, std::vector<float> storage = {1, 2, 3, 4, 5, 6}) {
  std::vector<std::byte> bytes;
  const auto sink = [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); };
  ZipWriter zip(sink);
  zip.add("m/data.pkl", pickle);
  zip.add("m/data/0", std::as_bytes(std::span(storage)));
  zip.finish();
  return bytes;
}

std::string refused(std::string_view pickle) {
  return error_of([&] { open_pytorch(in_memory(archive(pickle), "m.pt")); });
}

/// {'w': a tensor of storage 0, 6 floats}, its offset, sizes and strides being one digit each.
std::string dict_of_tensor(int offset, std::vector<int> sizes, std::vector<int> strides) {
  const auto tuple = [](const std::vector<int>& numbers) {
    std::string out = "(";
    for (const int number : numbers) out += text('K', static_cast<char>(number));
    return out + "t";
  };
  std::string out =
      "\x80\x02}X\x01\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0"
      "0X\x03\0\0\0cpuK\x06tQK"s;
  out += static_cast<char>(offset);
  return out + tuple(sizes) + tuple(strides) + "\x89}tRs."s;
}

TEST(Pytorch, ReadsItsOldFilesInEveryProtocol) {
  for (const int protocol : {2, 3, 4, 5}) {
    const TensorSource source = open_tensors(in_memory(bytes_of(legacy_file(protocol)), "old.pt"));
    EXPECT_EQ(source.format, "pytorch legacy");
    const auto values = [&](const char* name) { return source.tensors.at(name).read().to_vector<float>(); };
    EXPECT_EQ(values("weight"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(source.tensors.at("turned").shape, (Shape{3, 2}));
    EXPECT_EQ(source.tensors.at("turned").encoding, "strided");
    EXPECT_EQ(values("turned"), (std::vector<float>{1, 4, 2, 5, 3, 6}));
    EXPECT_EQ(values("part"), (std::vector<float>{5, 6}));
    EXPECT_EQ(source.tensors.at("state.steps").shape, Shape());
    EXPECT_EQ(source.tensors.at("state.steps").dtype, DType::I64);
    EXPECT_EQ(values("state.steps"), (std::vector<float>{7}));
    EXPECT_EQ(source.tensors.at("state.flag").dtype, DType::Bool);
    EXPECT_EQ(values("state.flag"), (std::vector<float>{1, 0}));
    EXPECT_EQ(source.tensors.at("state.half").dtype, DType::BF16);
    EXPECT_EQ(values("state.half"), (std::vector<float>{0.5, -2}));
    EXPECT_EQ(source.metadata,
              (Metadata{{"state.betas", "[1, 2]"}, {"state.lr", "0.5"}, {"state.name", "adam"}, {"state.on", "true"}}));
  }
}

TEST(Pytorch, TensorsAreLentByTheFileAndShareIt) {
  const FileBytes file = in_memory(archive(dict_of_tensor(2, {2, 2}, {2, 1})), "m.pt");
  const TensorData data = open_tensors(file).tensors.at("w").read();
  EXPECT_EQ(data.owner(), file.owner);
  EXPECT_EQ(data.to_vector<float>(), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(
      open_tensors(in_memory(archive(dict_of_tensor(5, {2, 3}, {0, 0})))).tensors.at("w").read().to_vector<float>(),
      std::vector<float>(6, 6));
}

TEST(Pytorch, ATensorLiesInItsStorage) {
  for (const auto& [offset, sizes, strides] : std::vector<std::tuple<int, std::vector<int>, std::vector<int>>>{
           {3, {2, 2}, {2, 1}}, {6, {1}, {1}}, {0, {7}, {1}}, {0, {2, 2}, {6, 1}}, {0, {100, 100}, {0, 0}}})
    EXPECT_NE(refused(dict_of_tensor(offset, sizes, strides)).find("goes beyond its storage of 6 elements"),
              std::string::npos);
  EXPECT_EQ(error_of([] {
              open_pytorch(in_memory(archive(dict_of_tensor(0, {6}, {1}), {1, 2}), "m.pt")).tensors.at("w").read();
            }),
            "DataError: m.pt: 'm/data/0': 8 bytes, where 6 elements of 4 bytes should be");
}

// One pickle for each way in which Python's machine comes to run something.
TEST(Pytorch, RefusesByNameWhateverCouldRun) {
  const std::pair<std::string_view, std::string_view> kHostile[] = {
      {"\x80\x02"
       "cos\nsystem\nX\x02\0\0\0ls\x85R."sv,
       "GLOBAL names os.system"},
      {"\x80\x02"
       "cposix\nsystem\n(X\x02\0\0\0lstR."sv,
       "GLOBAL names posix.system"},
      {"\x80\x02"
       "cbuiltins\neval\n(X\x01\0\0\0"
       "1tR."sv,
       "GLOBAL names builtins.eval"},
      {"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R."sv, "STACK_GLOBAL names os.system"},
      {"\x80\x02(ios\nsystem\n."sv, "the opcode INST makes objects"},
      {"\x80\x02(ctorch\nSize\no."sv, "the opcode OBJ makes objects"},
      {"\x80\x02"
       "ctorch\nSize\n)\x81."sv,
       "the opcode NEWOBJ makes objects"},
      {"\x80\x04"
       "ctorch\nSize\n)}\x92."sv,
       "the opcode NEWOBJ_EX makes objects"},
      {"\x80\x02\x82\x01."sv, "the opcode EXT1 makes objects"},
      {"\x80\x02\x83\x01\0."sv, "the opcode EXT2 makes objects"},
      {"\x80\x02\x84\x01\0\0\0."sv, "the opcode EXT4 makes objects"},
      {"\x80\x02P0\n."sv, "the opcode PERSID makes objects"},
      {"\x80\x05\x97."sv, "the opcode NEXT_BUFFER makes objects"},
      {"\x80\x05]\x98."sv, "the opcode READONLY_BUFFER makes objects"},
      {"\x80\x02"
       "ctorch\nFloatStorage\n)R."sv,
       "REDUCE calls torch.FloatStorage, which is no function here"},
      {"\x80\x02X\x01\0\0\0a)R."sv, "REDUCE calls something that is no known function"},
      {"\x80\x02]}b."sv, "BUILD gives an object a state"},
      {"\x80\x02X\x01\0\0\0aQ."sv, "a persistent id that is no storage of tensors"},
      {"\x80\x02I5\n."sv, "the opcode INT is of protocol 0 or 1"},
      {"\x80\x07N."sv, "protocol 7; Kiln reads 2 to 5"},
      {"(lp0\n."sv, "no pickle of a protocol from 2 to 5"},
      {"\x80\x02\xff."sv, "the byte 255 is no opcode"},
      {"\x80\x02h\x05."sv, "nothing was noted as 5"},
      {"\x80\x02\x86."sv, "an operand is missing"},
      {"\x80\x02t."sv, "a mark is missing"},
      {"\x80\x02}(Nu."sv, "a key without a value"},
      {"\x80\x02NK\x01\x61."sv, "no list to put something into"},
  };
  for (const auto& [pickle, sentence] : kHostile) {
    const std::string error = refused(pickle);
    EXPECT_TRUE(error.starts_with("DataError: m.pt: 'm/data.pkl': pickle, byte ")) << error;
    EXPECT_NE(error.find(sentence), std::string::npos) << error << "\n  instead of " << sentence;
  }
}

TEST(Pytorch, ReadsWhatCheckpointsHoldBesideTensors) {
  for (const int protocol : {2, 4}) {
    const TensorSource source = open_tensors(in_memory(archive(plain_objects(protocol)), "m.pt"));
    EXPECT_EQ(source.metadata, (Metadata{{"args.lr", "0.5"},
                                         {"args.size", "[1, 2]"},
                                         {"best", "0.1"},
                                         {"counts.a", "2"},
                                         {"counts.b", "1"},
                                         {"history.loss", "[1, 0.5]"},
                                         {"n", "-4"},
                                         {"ok", "true"},
                                         {"path", "[/, tmp, b]"},
                                         {"single", "1.5"}}));
    ASSERT_EQ(source.tensors.size(), 2);
    const StoredTensor &a = source.tensors.at("a"), &turned = source.tensors.at("turned");
    EXPECT_EQ(a.dtype, DType::F64);
    EXPECT_EQ(a.shape, (Shape{2, 3}));
    EXPECT_EQ(a.read().to_vector<double>(), (std::vector<double>{-200, -199, -198, -197, -196, -195}));
    EXPECT_EQ(turned.dtype, DType::I32);
    EXPECT_EQ(turned.read().to_vector<int>(), (std::vector<int>{1, 2, 3, 4, 5, 6}));
  }
}

TEST(Pytorch, ReadsTheModulesOfTorchScript) {
  std::string inner = dict_of_tensor(0, {2, 3}, {3, 1}).substr(2);  // without the protocol
  inner.pop_back();                                                 // and the end
  const std::string pickle =
      "\x80\x02"
      "c__torch__.torch.nn.modules.container.___torch_mangle_2\nSequential\n)\x81}("
      "X\x08\0\0\0training\x88X\x01\0\0\0"
      "0c__torch__\nLinear\n)\x81"s +
      inner + "bub."s;
  const TensorSource source = open_tensors(in_memory(archive(pickle), "m.pt"));
  EXPECT_EQ(source.metadata, (Metadata{{"training", "true"}}));
  EXPECT_EQ(source.tensors.at("0.w").read().to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Pytorch, RefusesNumbersOfNumPyThatAreNone) {
  const auto type = [](std::string_view name, std::string_view order) {
    std::string out =
        "\x80\x02"
        "cnumpy\ndtype\nX\x02\0\0\0"s;
    return out + std::string(name) + "\x85R(K\x03X\x01\0\0\0"s + std::string(order) + "tb"s;
  };
  const std::string scalar = "cnumpy.core.multiarray\nscalar\n"s;
  const auto number = [&](std::string_view bytes) {
    return type("f4", "<") + "0" + scalar + type("f4", "<").substr(2) + "X"s + static_cast<char>(bytes.size()) +
           "\0\0\0"s + std::string(bytes) + "\x86R."s;
  };
  EXPECT_EQ(open_pytorch(in_memory(archive(number("\0\0\0@"sv)), "m.pt")).metadata, (Metadata{{"", "2"}}));
  EXPECT_NE(refused(number("\0\0@"sv)).find("a number of NumPy's has not the bytes of its type"), std::string::npos);
  EXPECT_NE(refused(number("\0\0\0\xff"
                           "@"sv))
                .find("a number of NumPy's has not the bytes of its type"),
            std::string::npos);
  EXPECT_NE(refused(type("f4", ">") + ".").find("that is not little-endian"), std::string::npos);

  const auto array = [&](std::string_view shape) {
    return "\x80\x02"
           "cnumpy.core.multiarray\n_reconstruct\n)R(K\x01"s +
           std::string(shape) + type("f4", "<").substr(2) + "\x89X\x08\0\0\0\0\0\0@\0\0\0@"s + "tb";
  };
  EXPECT_EQ(open_pytorch(in_memory(archive(array("K\x02\x85") + "."), "m.pt")).tensors.at("").shape, Shape{2});
  EXPECT_NE(refused(array("K\x03\x85") + ".").find("has too few elements"), std::string::npos);
  EXPECT_NE(refused(array("K\x01\x85") + ".").find("has not as many elements as its shape"), std::string::npos);
  EXPECT_NE(refused(array("J\xff\xff\xff\x7fJ\xff\xff\xff\x7fK\x03\x87") + ".").find("beyond 2^63 - 1 bytes"),
            std::string::npos);
  // One of texts, whose elements may be of any kind, is left out.
  std::string texts = array("K\x02\x85");
  texts.replace(texts.find("X\2\0\0\0f4"s) + 5, 2, "U3");
  texts.replace(texts.find("X\1\0\0\0<"s) + 5, 1, "|");
  EXPECT_EQ(open_pytorch(in_memory(archive(texts + "."), "m.pt")).left_out,
            (std::map<std::string, std::string>{{"", "is of type 'U3' and shape [2]: Kiln has no such type"}}));
  // An array that is filled over and over from the same bytes takes no more than the file has.
  std::string again = array("K\x02\x85");
  again.insert(again.size() - 1, "q\x05");
  for (int i = 0; i < 100; ++i) again += "h\x05"s + "b";
  EXPECT_NE(refused(again + ".").find("arrays of more bytes than the file has"), std::string::npos);
}

TEST(Pytorch, APickleThatHoldsItselfEnds) {
  EXPECT_EQ(refused("\x80\x02]q\x01h\x01\x61."sv), "DataError: m.pt: pickle: nested more than 64 deep, or in itself");
  std::string doubled = "\x80\x02]q\0"s;  // a list that holds a list twice that holds a list twice ...
  for (int i = 0; i < 60; ++i) doubled += "]q\x01(h\0h\0e0h\x01q\0"s;
  EXPECT_EQ(refused(doubled + "."), text("DataError: m.pt: pickle: more than ", 100'001 + doubled.size(), " parts"));
}

// The others are read.
TEST(Pytorch, LeavesOutElementTypesThatKilnHasNot) {
  std::string pickle = dict_of_tensor(0, {1}, {1});
  pickle.replace(pickle.find("FloatStorage"), 12, "ComplexFloatStorage");
  using LeftOut = std::map<std::string, std::string>;
  const auto left_out = [](std::string_view pickle) {
    return open_tensors(in_memory(archive(pickle), "m.pt")).left_out;
  };
  EXPECT_EQ(left_out(pickle), (LeftOut{{"w", "is of type 'complex64' and shape [1]: Kiln has no such type"}}));
  const auto untyped = [](std::string_view type) {
    return "ctorch._utils\n_rebuild_tensor_v3\n((X\x07\0\0\0storagectorch.storage\nUntypedStorage\n"
           "X\x01\0\0\0"
           "0X\x03\0\0\0cpuK\x18tQK\0K\2\x85K\1\x85\x89}ctorch\n"s +
           std::string(type) + "\ntR";
  };
  const std::string both =
      "\x80\x02}(X\1\0\0\0a"s + untyped("float8_e4m3fn") + "X\1\0\0\0b"s + untyped("float32") + "u.";
  const TensorSource source = open_tensors(in_memory(archive(both), "m.pt"));
  EXPECT_EQ(source.left_out, (LeftOut{{"a", "is of type 'float8_e4m3fn' and shape [2]: Kiln has no such type"}}));
  ASSERT_EQ(source.tensors.size(), 1u);
  EXPECT_EQ(source.tensors.at("b").read().to_vector<float>(), (std::vector<float>{1, 2}));
  std::string unknown = dict_of_tensor(0, {1}, {1});
  unknown.replace(unknown.find("FloatStorage"), 12, "WhateverStorage");
  EXPECT_NE(refused(unknown).find("a storage of type WhateverStorage, which Kiln does not have"), std::string::npos);
  EXPECT_NE(
      refused("\x80\x02"s + untyped("complex77") + ".").find("a tensor of type complex77, which Kiln does not have"),
      std::string::npos);
}

TEST(Pytorch, NamesAMissingStorage) {
  std::string pickle = dict_of_tensor(0, {1}, {1});
  pickle.replace(pickle.find("X\x01\0\0\0"s + "0"), 6, "X\x01\0\0\0"s + "9");
  EXPECT_EQ(refused(pickle), "DataError: m.pt: tensor 'w': its storage '9' is not in the file");
}

TEST(Pytorch, SaysWhatItHasNoStorageOf) {
  TensorSource source;
  source.tensors.emplace("n", stored(TensorData({2}, DType::U32)));
  EXPECT_EQ(error_of([&] { written(source, write_pytorch); }),
            "ArgumentError: write_pytorch: tensor 'n': PyTorch has no storage of uint32");
}

}  // namespace
}  // namespace kiln
