// What a profile counts, by closed forms; and that its reports can be read.
#include <gtest/gtest.h>

#include <cstdio>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "kiln/backend/inspect/ceiling.hpp"
#include "kiln/backend/inspect/profile.hpp"
#include "kiln/backend/inspect/profile_log.hpp"
#include "kiln/core/config/json.hpp"
#include "kiln/core/file.hpp"
#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/custom.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln {
namespace {

/// The processor itself is not to fuse.
const bool kPlain = setenv("KILN_FUSION", "0", 1) == 0;

Value filled(const Shape& shape, const Device& device) { return from_data(TensorData(shape, DType::F32), device); }

ProfileRow row(const Profile& profile, std::string_view name, std::string_view shapes) {
  for (const ProfileRow& row : profile.rows())
    if (row.name == name && row.shapes == shapes) return row;
  ADD_FAILURE() << "no row " << name << " " << shapes << " in\n" << profile.table();
  return {};
}

TEST(Profile, CountsCallsBytesAndFlops) {
  const Profile profile(Device::cpu());
  const Value a = filled({64, 32}, profile.device()), b = filled({32, 16}, profile.device());
  for (int i = 0; i < 3; ++i) (void)matmul(a, b);
  const ProfileRow product = row(profile, "matmul", "[64, 32] x [32, 16] -> [64, 16]");
  EXPECT_EQ(product.calls, 3);
  EXPECT_EQ(product.bytes, 3 * 4 * (64 * 32 + 32 * 16 + 64 * 16));
  EXPECT_EQ(product.flops, 3 * 2 * 64 * 32 * 16);
  EXPECT_GT(product.seconds, 0);
  EXPECT_EQ(row(profile, "upload", "[64, 32]").bytes, 2 * 4 * 64 * 32);
}

TEST(Profile, CountsTheFlopsOfConvolutionsAndTheirGradients) {
  const Profile profile(Device::cpu());
  const Device device = profile.device();
  const Value x = filled({2, 6, 10, 10}, device), weight = filled({8, 3, 3, 3}, device);
  (void)conv(x, weight, {}, {.groups = 2});
  // Each of 2 x 8 x 8 x 8 elements is a sum of 3 x 3 x 3 products.
  EXPECT_EQ(row(profile, "conv", "[2, 6, 10, 10] x [8, 3, 3, 3] -> [2, 8, 8, 8]").flops, 2 * (2 * 8 * 8 * 8) * 27);
}

TEST(Profile, CountsWhatMovesAndNotWhatIsSeen) {
  const Profile profile(Device::cpu());
  const Value row_of_four = filled({4}, profile.device());
  const Value wide = expand(row_of_four, {1000, 4});
  (void)exp(wide);
  EXPECT_EQ(row(profile, "expand", "[4] -> [1000, 4]").bytes, 0);
  EXPECT_EQ(row(profile, "exp", "[1000, 4] -> [1000, 4]").bytes, 4 * (4 + 4000));

  const Value table = filled({10'000, 8}, profile.device());
  const Value indices = from_data(TensorData({2}, DType::I64), profile.device());
  (void)select(table, 0, indices);
  EXPECT_EQ(row(profile, "select", "[10000, 8] x int64 [2] -> [2, 8]").bytes, 2 * 4 * 16 + 16);
}

TEST(Profile, NamesFusedKernelsByTheirSteps) {
  const Profile profile(Device(make_ref<fusion::Fusion>(Device::cpu().handle())));
  const Value x = filled({5}, profile.device());
  const Value y = exp(x) * 2 + 1;
  EXPECT_EQ(y.data().at(4), 3);
  EXPECT_EQ(row(profile, "exp+mul+add", "[5] -> [5]").calls, 1);
  EXPECT_EQ(row(profile, "read", "[5]").calls, 1);
}

TEST(Profile, ReportsWhatWasAskedFor) {
  const Profile profile(Device(make_ref<fusion::Fusion>(Device::parse("cpu").handle())));
  const Value x = filled({5}, profile.device()), y = sin(x);
  EXPECT_EQ(row(profile, "sin", "[5] -> [5]").calls, 1);  // though nobody has read it
}

TEST(Profile, ComputesWhatTheDeviceComputes) {
  const Profile profile(Device::cpu().autodiff());
  EXPECT_TRUE(profile.device().is_autodiff());
  const Value ours = filled({3}, Device::cpu()) + 2, theirs = filled({3}, profile.device()) + 3;
  EXPECT_EQ((ours * theirs).data().at(1), 6);  // memory is the same, so they may meet
  EXPECT_THROW((void)(theirs + filled({4}, profile.device())), ShapeError);
}

/// x -> x + 1 by a kernel that calls functions.
struct Calling : CustomOp {
  std::string name() const override { return "calling \"others\"\xff"; }
  Descs infer(Inputs in) const override { return {Desc{in[0].shape(), in[0].dtype()}}; }
  Values expand(Inputs in) const override { return {in[0] + 1}; }
  bool run(std::string_view, Call call) const override {
    Value sum = call.in[0];
    for (int i = 0; i < 50; ++i) sum = sum + 1;
    call.out[0] = sum;
    return true;
  }
};

TEST(Profile, CountsTimeOnceWhereOperationsCallOthers) {
  const Profile profile(Device::cpu());
  const Value x = filled({1 << 16}, profile.device());
  for (int i = 0; i < 5; ++i) (void)custom(make_ref<Calling>(), std::vector{x});
  EXPECT_EQ(row(profile, "add", "[65536] -> [65536]").calls, 250);
  // Were the additions part of the operation around them as well, this would be negative.
  const std::string table = profile.table();
  double share = -1;
  const std::size_t at = table.find(" ms, ");
  ASSERT_EQ(std::sscanf(table.c_str() + at, " ms, %lf %%", &share), 1) << table;
  EXPECT_LE(share, 100.0) << table;
}

TEST(Profile, TakesManyThreads) {
  const Profile profile(Device::cpu());
  const Value x = filled({100}, profile.device());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) (void)(x + i);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(row(profile, "add", "[100] -> [100]").calls, 800);
}

TEST(Profile, WritesATable) {
  Profile profile(Device::cpu());
  EXPECT_EQ(profile.table(), "profile of cpu: nothing ran\n");
  const Value x = filled({256, 256}, profile.device());
  (void)matmul(x, x);
  for (std::int64_t size = 1; size <= 20; ++size) (void)exp(filled({size}, profile.device()));
  const std::string table = profile.table(10);
  for (const char* part :
       {"profile of cpu: 42 calls took ", "GFLOP/s", "in 32 more rows", "ceiling: ", " blocks came from the system"})
    EXPECT_NE(table.find(part), std::string::npos) << part << " in\n" << table;
  double took = 0, share = 0, span = 0;
  EXPECT_EQ(
      std::sscanf(table.c_str(), "profile of cpu: 42 calls took %lf ms, %lf %% of the %lf ms", &took, &share, &span),
      3);
  EXPECT_NEAR(took / span, share / 100, 0.11 / span + 0.001);  // both are printed with one digit after the point
  EXPECT_NE(profile.table().find("matmul [256, 256] x [256, 256] -> [256, 256]\n"), std::string::npos);
  profile.reset();
  EXPECT_TRUE(profile.rows().empty());
  EXPECT_GT(machine_ceiling().bytes_per_second, 0);
  EXPECT_GT(machine_ceiling().flops_per_second, 0);
}

TEST(Profile, RatesAreWhatMovedAndWasComputedInASecond) {
  ProfileContents contents;
  contents.device = "cpu";
  contents.rows = {{.name = "matmul", .shapes = "[2]", .calls = 4, .seconds = 0.5, .bytes = 3e9, .flops = 2.5e9}};
  contents.last = contents.first + std::chrono::seconds(1);
  const std::string table = profile_table(contents, 10);
  EXPECT_NE(table.find("100.0 %    500.00        4 125000.00     6.0      5.0 "), std::string::npos) << table;
}

TEST(Profile, NamesTheFirstSixOperandsAndResults) {
  const Profile profile(Device::cpu());
  const auto pieces = [&](int count) {
    Values values;
    for (int i = 1; i <= count; ++i) values.push_back(filled({i}, profile.device()));
    return values;
  };
  (void)cat(pieces(6), 0);
  (void)cat(pieces(9), 0);
  (void)row(profile, "cat", "[1] x [2] x [3] x [4] x [5] x [6] -> [21]");
  (void)row(profile, "cat", "[1] x [2] x [3] x [4] x [5] x [6] x 3 more -> [45]");

  const Profile of_plans{Device(make_ref<fusion::Fusion>(Device::cpu().handle()))};
  const Value x = filled({3}, of_plans.device());
  for (const int count : {6, 8}) {
    Values results;
    for (int i = 0; i < count; ++i) results.push_back(x + i * 0.5 + count);
    (void)results[0].data();
  }
  for (const char* const shapes : {" -> [3], [3], [3], [3], [3], [3]\n", " -> [3], [3], [3], [3], [3], [3], 2 more\n"})
    EXPECT_NE(of_plans.table().find(shapes), std::string::npos) << of_plans.table();
}

TEST(Profile, WritesATraceThatReadsAsJson) {
  const Profile profile(Device::cpu(), {.most_events = 3});
  const Value x = filled({2}, profile.device());
  (void)custom(make_ref<Calling>(), std::vector{x});
  (void)exp(x);
  const auto file = (std::filesystem::temp_directory_path() / text("kiln-trace-", ::getpid(), ".json")).string();
  profile.write_trace(file);
  const Json trace = parse_json(read_text_file(file), file);
  std::filesystem::remove(file);
  const auto member = [](const Json& json, std::string_view name) -> const Json& {
    static const Json none;
    for (const auto& [key, value] : std::get<Json::Object>(json.is))
      if (key == name) return value;
    return none;
  };
  std::vector<std::string> names;
  for (const Json& event : std::get<Json::List>(member(trace, "traceEvents").is))
    if (std::get<std::string>(member(event, "ph").is) == "X") {
      names.push_back(std::get<std::string>(member(event, "name").is));
      EXPECT_GE(std::get<double>(member(event, "dur").is), 0);
    }
  EXPECT_EQ(names, (std::vector<std::string>{"upload", "add", "add"}));
  EXPECT_EQ(std::get<std::int64_t>(member(member(trace, "otherData"), "events left out").is), 50);
  EXPECT_THROW(profile.write_trace("/nowhere/at/all.json"), IoError);
}

}  // namespace
}  // namespace kiln
