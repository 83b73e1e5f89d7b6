// Small files that stand for much: what opening them takes is a few times what they are, whatever they say.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "kiln/store/numpy/numpy.hpp"
#include "kiln/store/pickle/pytorch.hpp"
#include "kiln/store/record/record_file.hpp"
#include "kiln/store/zip/zip_writer.hpp"

#include "tests/support/peak_memory.hpp"
#include "zip_files.hpp"

namespace kiln {
namespace {

using namespace std::string_literals;
constexpr std::int64_t kMega = 1 << 20;
constexpr std::size_t kBytes = 1'500'000;

std::vector<std::byte> zip_of(const std::string& name, std::string_view contents) {
  std::vector<std::byte> bytes;
  const auto sink = [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); };
  ZipWriter zip(sink);
  zip.add(name, contents);
  zip.finish();
  return bytes;
}
FileBytes pickle_file(const std::string& pickle) { return in_memory(zip_of("m/data.pkl", pickle), "m.pt"); }

// An array of 16 MB, which deflates to 70 KB.
TEST(Memory, OpeningAnArchiveInflatesHeadersAlone) {
  std::string array("\x93NUMPY\1\0\x76\0", 10);
  array += "{'descr': '<f4', 'fortran_order': False, 'shape': (4194304,) , }";
  array.resize(127, ' ');
  array += '\n';
  array.resize(128 + (std::size_t{16} << 20));
  const FileBytes file = in_memory(deflated(zip_of("a.npy", array)), "b.npz");
  ASSERT_LT(file.bytes.size(), 1u << 18);
  const std::int64_t peak = test::peak_memory([&] { open_tensors(file); });
  EXPECT_GE(peak, 0);
  EXPECT_LT(peak, 4 * kMega);
  const TensorSource source = open_tensors(file);
  EXPECT_EQ(source.tensors.at("a").shape, Shape{4194304});
  EXPECT_EQ(source.tensors.at("a").read().to_vector<float>()[4194303], 0);
}

// Each byte of these pickles makes a value, or has one noted or copied.
TEST(Memory, APicklesValuesAreAFewTimesItsBytes) {
  const auto repeated = [](std::string_view what, std::size_t bytes = kBytes) {
    std::string all;
    while (all.size() < bytes) all += what;
    return all;
  };
  const std::string list = "\x80\x02](" + repeated("K\1") + "e", copy = "ctorch\nSize\nq\1";
  for (const std::string& pickle :
       {"\x80\x02" + repeated("N") + ".", "\x80\x02(" + repeated("K\7") + "t.", "\x80\x02" + repeated("]") + ".",
        "\x80\x02" + repeated("}q\1") + ".", "\x80\x04" + repeated(")\x94") + ".",
        // A list, or an object, that calls hand on over and over.
        list + "\x85q\0000" + copy + repeated("h\1h\0R0") + ".",
        "\x80\x02}(" + repeated("NN") + "uq\0000c__torch__\nA\n)\x81" + repeated("h\0b") + "."}) {
    const std::int64_t peak = test::peak_memory([&] { open_pytorch(pickle_file(pickle)); });
    EXPECT_GE(peak, 0);
    EXPECT_LT(peak, 40 * std::ssize(pickle) + 64 * kMega) << pickle.substr(0, 40);
  }
  EXPECT_EQ(error_of([&] { open_pytorch(pickle_file("\x80\x02" + repeated("]", 2'000'000) + ".")); }),
            "DataError: m.pt: 'm/data.pkl': pickle, byte 1666670: more than 1666667 values");
  // The smallest numbers, flags and None are one value, however often they stand there.
  for (const std::string_view small : {"N", "K\1", "\x88", "\x89"})
    EXPECT_EQ(
        error_of([&] { open_pytorch(pickle_file("\x80\x02" + repeated(small, small.size() * 2'000'000) + ".")); }),
        "no error");
}

TEST(Memory, AListInAListInAListIsWrittenOutWithinBounds) {
  std::string doubled = "\x80\x02]q\0"s;  // a list that holds a list twice that holds a list twice ...
  for (int i = 0; i < 60; ++i) doubled += "]q\x01(h\0h\0e0h\x01q\0"s;
  const std::int64_t peak = test::peak_memory([&] { open_pytorch(pickle_file(doubled + ".")); });
  EXPECT_GE(peak, 0);
  EXPECT_LT(peak, 32 * kMega);
}

/// A record whose directory is `json`, behind `data` bytes.
FileBytes record(std::string_view json, std::size_t data) {
  std::string bytes = "KILNREC\n";
  bytes.resize(64 + data);
  bytes += json;
  append_number(bytes, std::uint64_t{json.size()});
  append_number(bytes, crc32_of(std::as_bytes(std::span(json))));
  append_number(bytes, std::uint32_t{1});
  return in_memory(bytes_of(bytes + "KILNREC\n"), "r.kiln");
}

TEST(Memory, TensorsOfARecordDoNotShareBytes) {
  const auto tensor = [](const char* name, int begin, int bytes) {
    return text("{\"name\": \"", name, "\", \"dtype\": \"uint8\", \"shape\": [", bytes, "], \"begin\": ", begin,
                ", \"bytes\": ", bytes, ", \"crc\": 0, \"deflated\": false}");
  };
  const auto directory = [](const std::string& a, const std::string& b) {
    return text("{\"tensors\": [", a, ", ", b, "], \"metadata\": {}}");
  };
  EXPECT_EQ(open_tensors(record(directory(tensor("a", 64, 8), tensor("b", 72, 8)), 16)).tensors.size(), 2u);
  EXPECT_EQ(open_tensors(record(directory(tensor("a", 64, 8), tensor("b", 64, 0)), 16)).tensors.size(), 2u);
  for (const int begin : {64, 71, 60})
    EXPECT_EQ(error_of([&] { open_tensors(record(directory(tensor("a", begin, 8), tensor("b", 67, 8)), 16)); }),
              begin == 71 ? "DataError: r.kiln: tensors 'b' and 'a' overlap"
                          : "DataError: r.kiln: tensors 'a' and 'b' overlap");
}

TEST(Memory, WhatStandsForFarMoreThanItIsIsRefusedUnlessItIsAllowed) {
  const FileBytes file = record(
      "{\"tensors\": [{\"name\": \"a\", \"dtype\": \"uint8\", \"shape\": [1200000000], \"begin\": 64, \"bytes\": "
      "1200000, "
      "\"crc\": 0, \"deflated\": true}], \"metadata\": {}}",
      1'200'000);
  const auto refused = [&] { return error_of([&] { open_tensors(file); }); };
  EXPECT_EQ(refused(), text("DataError: r.kiln: ", file.bytes.size(), " bytes stand for 1200000000, more than the 100 ",
                            "times that are allowed (KILN_INFLATION=1000 in the environment allows it)"));
  ASSERT_EQ(::setenv("KILN_INFLATION", "1000", 1), 0);
  EXPECT_EQ(refused(), "no error");
  ASSERT_EQ(::setenv("KILN_INFLATION", "much", 1), 0);
  EXPECT_EQ(refused(), "ArgumentError: KILN_INFLATION: 'much' is not a whole number of 1 or more");
  ASSERT_EQ(::unsetenv("KILN_INFLATION"), 0);
}

// A tensor of PyTorch's may show each element of its storage a thousand times: 1.2 GB of 1.2 MB.
TEST(Memory, ATensorThatShowsItsElementsOverAndOverCountsAsOften) {
  constexpr std::uint32_t kCount = 300'000, kTimes = 1000;
  const auto whole = [](std::uint32_t number) {
    std::string out = "J";
    append_number(out, number);
    return out;
  };
  const std::string pickle =
      "\x80\x02}X\1\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"
      "0X\3\0\0\0cpu"s +
      whole(kCount) + "tQK\0("s + whole(kTimes) + whole(kCount) + "t(K\0K\1t\x89}tRs."s;
  std::vector<std::byte> bytes;
  const auto sink = [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); };
  ZipWriter zip(sink);
  zip.add("m/data.pkl", pickle);
  zip.add("m/data/0", std::string(4 * kCount, '\0'));
  zip.finish();
  const FileBytes file = in_memory(bytes, "m.pt");
  EXPECT_EQ(open_pytorch(file).tensors.at("w").shape, (Shape{kTimes, kCount}));
  EXPECT_EQ(error_of([&] {
              open_tensors(file);
            }).find(text("DataError: m.pt: ", bytes.size(), " bytes stand for 1200000000")),
            0u);
}

}  // namespace
}  // namespace kiln
