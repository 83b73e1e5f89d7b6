// What loading costs in memory: weights stay in the file where they lie there as they would in memory.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "kiln/core/file.hpp"
#include "kiln/onnx/model.hpp"
#include "kiln/ops/backend.hpp"
#include "tests/onnx/model_writer.hpp"
#include "tests/support/devices.hpp"

namespace kiln::onnx::test {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kCount = 1 << 16, kBytes = kCount * 4;
using kiln::test::cpu;

class Load : public ::testing::Test {
 protected:
  Load() {
    fs::create_directories(folder_);
    std::iota(weights_.begin(), weights_.end(), 0.0f);
  }
  ~Load() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// Bytes that the model of a file takes; what it computes is checked.
  std::int64_t taken_by(const std::string& file) const {
    const std::int64_t before = cpu.memory().uploads;
    const Model model = load(path(file), cpu);
    const std::int64_t taken = cpu.memory().uploads - before;
    const Value x = full({1}, 0.5, cpu, DType::F32);
    const std::vector<float> y = model.run({Datum(x)})[0].value().data().to_vector<float>();
    for (std::size_t i = 0; i < weights_.size(); ++i)
      if (y.at(i) != weights_[i] + 0.5f) return ADD_FAILURE() << file << ": element " << i << " is " << y[i], -1;
    return taken;
  }
  /// y = x + w, where w is as `weight` says.
  static std::string adds(const Message& weight) {
    return model(graph(
        {{node("Add", {"x", "w"}, {"y"})}, {weight}, {value("x", {"1"})}, {value("y", {std::to_string(kCount)})}}));
  }

  const fs::path folder_ = fs::temp_directory_path() / text("kiln-onnx-load-", ::getpid());
  std::vector<float> weights_ = std::vector<float>(kCount);
};

TEST_F(Load, WeightsBesideTheModelAreLent) {
  const auto bytes = std::as_bytes(std::span<const float>(weights_));
  write_file_atomically(path("w.bin"), bytes);
  const auto entry = [](std::string_view key, std::string_view said) { return Message().text(1, key).text(2, said); };
  Message weight = Message().number(1, kCount).number(2, 1).text(8, "w").message(13, entry("location", "w.bin"));
  write_file_atomically(path("beside.onnx"), adds(weight.number(14, 1)));
  EXPECT_EQ(taken_by("beside.onnx"), 0);
}

TEST_F(Load, WeightsInTheModelAreLentWhereTheirPlaceAllowsAndCopiedOnceElsewhere) {
  int lent = 0, copied = 0;
  for (std::size_t longer = 0; longer < 4; ++longer) {  // what stands before them moves them by a byte each time
    const Message weight =
        Message()
            .number(1, kCount)
            .number(2, 1)
            .text(8, "w")
            .text(12, std::string(longer, 'd'))  // a doc_string
            .text(9, std::string_view(reinterpret_cast<const char*>(weights_.data()), weights_.size() * 4));
    const std::string name = text("inside", longer, ".onnx");
    write_file_atomically(path(name), adds(weight));
    const std::int64_t taken = taken_by(name);
    lent += taken == 0;
    copied += taken >= kBytes && taken < kBytes * 9 / 8;
  }
  EXPECT_EQ(lent, 1);
  EXPECT_EQ(copied, 3);
}

TEST_F(Load, FilesOfMoreThanTwoGigabytesAreMapped) {
  // Holes but for its end: nobody has to write the 3 GB, nor read them.
  constexpr std::int64_t kAt = std::int64_t{3} << 30;
  {
    std::ofstream file(path("w.bin"), std::ios::binary);
    file.seekp(kAt);
    file.write(reinterpret_cast<const char*>(weights_.data()), kBytes);
  }
  const auto entry = [](std::string_view key, std::string_view value) { return Message().text(1, key).text(2, value); };
  const auto external = [&](std::string_view name, std::int64_t count, std::int64_t at) {
    return Message()
        .number(1, count)
        .number(2, 1)
        .text(8, name)
        .message(13, entry("location", "w.bin"))
        .message(13, entry("offset", text(at)))
        .message(13, entry("length", text(count * 4)))
        .number(14, 1);
  };
  const Message large = external("large", kAt / 4, 0);
  write_file_atomically(
      path("large.onnx"),
      model(graph({{node("Gather", {"large", "place"}, {"zero"}), node("Add", {"x", "w"}, {"s"}),
                    node("Add", {"s", "zero"}, {"y"})},
                   {external("w", kCount, kAt), large, tensor("place", {1}, std::vector<std::int64_t>{kAt / 4 - 1})},
                   {value("x", {"1"})},
                   {value("y", {"n"})}})));
  const std::int64_t taken = taken_by("large.onnx");
  EXPECT_GE(taken, 0);
  EXPECT_LE(taken, 8);  // the place
}

TEST_F(Load, AModelOutlivesItsFile) {
  write_file_atomically(path("inside.onnx"), adds(tensor("w", {kCount}, weights_)));
  const Model model = load(path("inside.onnx"), cpu);
  fs::remove(path("inside.onnx"));
  const Value x = full({1}, 1, cpu, DType::F32);
  EXPECT_EQ(model.run({Datum(x)})[0].value().data().to_vector<float>().back(), static_cast<float>(kCount));
}

}  // namespace
}  // namespace kiln::onnx::test
