// Records of whole trainings: models, optimizers, schedules, counters and settings in one file.
#include "kiln/store/record/object_record.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "kiln/nn.hpp"
#include "kiln/optim.hpp"

#include "formats/samples.hpp"
#include "temporary.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

enum class Phase { Warmup, Train };
struct LoaderState {
  std::int64_t epoch = 0, batch = 0;
  std::vector<std::string> files;
};
struct Training {
  nn::Linear model;
  AdamW optimizer;
  Schedule<CosineConfig> schedule;
  LoaderState loader = {};
  Phase phase = Phase::Warmup;
  double best = INFINITY;
  std::vector<float> losses = {};
  std::map<std::string, double> metrics = {};
  std::optional<std::string> note = {};
  Tensor<1> histogram;
};

using test::autodiff;

Training make_training(std::int64_t in = 3) {
  nn::Linear model = nn::LinearConfig{.in = in, .out = 2}.init(autodiff);
  AdamW optimizer = AdamWConfig{}.init(model);
  return {.model = model,
          .optimizer = optimizer,
          .schedule = CosineConfig{.peak = 0.1, .warmup = 2, .steps = 10}.init(),
          .histogram = Tensor<1>::of({0, 0}, autodiff.inner())};
}

/// One step.
void train(Training& run) {
  const auto [loss, grads] =
      value_and_grad(run.model, [](const nn::Linear& m) { return m.weight.sum() + m.bias.square().sum(); });
  run.model = run.optimizer.step(run.schedule.next(), run.model, grads);
  run.losses.push_back(static_cast<float>(loss.item()));
  ++run.loader.batch;
}

Training trained() {
  Training run = make_training();
  for (int i = 0; i < 3; ++i) train(run);
  run.loader.files = {"a", "b\n"};
  run.phase = Phase::Train;
  run.metrics = {{"accuracy", 0.75}};
  run.note = "näme";
  run.histogram = Tensor<1>::of({5, 6}, autodiff.inner());
  return run;
}

class RecordOf : public testing::TestWithParam<std::string_view> {};

TEST_P(RecordOf, ATrainingGoesOnExactlyWhereItWas) {
  const TemporaryFile file(text("run", GetParam()));
  Training run = trained();
  save_record(run, file.path, {.metadata = {{"by", "me"}}});
  Training again = make_training();
  const LoadReport report = load_record(again, file.path);
  EXPECT_TRUE(report.complete());
  EXPECT_EQ(load_metadata(file.path).at("by"), "me");
  EXPECT_EQ(again.schedule.step, 3);
  EXPECT_EQ(again.loader.batch, 3);
  EXPECT_EQ(again.loader.files, run.loader.files);
  EXPECT_EQ(again.phase, Phase::Train);
  EXPECT_EQ(again.best, INFINITY);
  EXPECT_EQ(again.losses, run.losses);
  EXPECT_EQ(again.metrics, run.metrics);
  EXPECT_EQ(again.note, run.note);
  EXPECT_EQ(again.histogram.to_vector(), (std::vector<float>{5, 6}));
  EXPECT_TRUE(again.model.weight.tracked());
  train(run);
  train(again);
  EXPECT_EQ(again.model.weight.to_vector(), run.model.weight.to_vector());
  EXPECT_EQ(again.losses, run.losses);
}
INSTANTIATE_TEST_SUITE_P(Formats, RecordOf, testing::Values(".kiln", ".safetensors"));

TEST(RecordOfAnything, HalvesAndCompressionMakeItSmall) {
  const TemporaryFile full("full.kiln"), small("small.kiln");
  Training run = make_training(4000);  // an optimizer's first state is zeros
  save_record(run, full.path);
  save_record(run, small.path, {.floats = DType::F16, .compress = true});
  EXPECT_LT(std::filesystem::file_size(small.path), std::filesystem::file_size(full.path) / 4);
  save_record(run, full.path, {.floats = DType::F16, .floats_of = "model.weight"});
  int halves = 0;
  for (const auto& [name, tensor] : open_tensors(full.path).tensors) halves += tensor.dtype == DType::F16;
  EXPECT_EQ(halves, 1);
  Training again = make_training(4000);
  load_record(again, small.path);
  EXPECT_EQ(again.model.weight.dtype(), DType::F32);
  EXPECT_EQ(again.model.weight.to_vector()[7], static_cast<float>(F16(run.model.weight.to_vector()[7])));
}

template <class T>
std::string refused(T object, const std::string& path, const LoadOptions& options = {}) {
  const std::string error = error_of([&] { load_record(object, path, options); });
  return error.starts_with("LoadError: ") ? error.substr(error.find(".kiln: ") + 7) : error;
}

struct Old {
  std::int64_t epoch = 1;
};
struct New {
  std::int64_t epoch = 1;
  double rate = 0.5;
  std::vector<float> losses = {1};
};

TEST(RecordOfAnything, PartsAreSaidBySelectors) {
  const TemporaryFile file("new.kiln");
  save_record(New{.epoch = 7, .rate = 0.25, .losses = {2, 3}}, file.path);
  New loaded;
  load_record(loaded, file.path, {.only = "{rate,losses}"});
  EXPECT_EQ(loaded.epoch, 1);
  EXPECT_EQ(loaded.rate, 0.25);
  EXPECT_EQ(loaded.losses, (std::vector<float>{2, 3}));
  loaded = {};
  load_record(loaded, file.path, {.except = "losses"});
  EXPECT_EQ(loaded.epoch, 7);
  EXPECT_EQ(loaded.losses, std::vector<float>{1});
  Old old;
  load_record(old, file.path, {.only = "epoch"});
  EXPECT_EQ(old.epoch, 7);
  EXPECT_EQ(error_of([&] { load_record(loaded, file.path, {.only = "rates"}); }),
            "ArgumentError: load_record: 'rates' selects none of the object's parts (did you mean 'rate'?)");
}

TEST(RecordOfAnything, NewFieldsKeepTheirDefaultsWhereThatIsAllowed) {
  const TemporaryFile file("old.kiln");
  save_record(Old{.epoch = 7}, file.path);
  EXPECT_EQ(refused(New{}, file.path), "value 'rate' is missing");
  New loaded;
  const LoadReport report = load_record(loaded, file.path, {.allow_missing = true});
  EXPECT_EQ(loaded.epoch, 7);
  EXPECT_EQ(loaded.rate, 0.5);
  EXPECT_EQ(loaded.losses, std::vector<float>{1});
  EXPECT_EQ(report.missing, (std::vector<std::string>{"value 'rate' is missing", "list 'losses' is missing"}));
}

TEST(RecordOfAnything, WhatNobodyKnowsIsNamed) {
  const TemporaryFile file("new.kiln");
  save_record(New{.epoch = 7}, file.path);
  EXPECT_EQ(refused(Old{}, file.path), "value 'rate' is unexpected");
  Old loaded;
  load_record(loaded, file.path, {.allow_unexpected = true});
  EXPECT_EQ(loaded.epoch, 7);
}

TEST(RecordOfAnything, AValueOfAnotherTypeIsNamedAndNothingChanges) {
  struct Words {
    std::string epoch = "x";
  };
  const TemporaryFile file("words.kiln");
  save_record(Words{}, file.path);
  Old kept{.epoch = 3};
  EXPECT_EQ(error_of([&] { load_record(kept, file.path); }),
            text("ConfigError: ", file.path, ": 'epoch' must be an integer, got \"x\""));
  EXPECT_EQ(kept.epoch, 3);
}

TEST(RecordOfAnything, NumbersThatJsonLacksComeBackAndAreNoIntegers) {
  struct Numbers {
    double highest = 0, lowest = 0;
    float none = 0;
  };
  const TemporaryFile file("numbers.kiln");
  save_record(Numbers{INFINITY, -INFINITY, NAN}, file.path);
  Numbers loaded;
  load_record(loaded, file.path);
  EXPECT_EQ(loaded.highest, INFINITY);
  EXPECT_EQ(loaded.lowest, -INFINITY);
  EXPECT_TRUE(std::isnan(loaded.none));
  struct Integers {
    std::int64_t highest = 1, lowest = 2, none = 3;
  };
  Integers kept;
  EXPECT_THROW(load_record(kept, file.path), Error);
  EXPECT_EQ(kept.highest, 1);
}

TEST(RecordOfAnything, ATiedParameterIsStoredOnceAndStaysTied) {
  struct Tied {
    nn::Linear first, second;
  };
  const auto make = [] {
    const nn::LinearConfig config{.in = 2, .out = 2};
    Tied tied{config.init(autodiff), config.init(autodiff)};
    tied.second.weight = tied.first.weight;
    return tied;
  };
  const TemporaryFile file("tied.kiln");
  const Tied saved = make();
  save_record(saved, file.path);
  EXPECT_EQ(open_tensors(file.path).tensors.size(), 3u);
  Tied loaded = make();
  load_record(loaded, file.path);
  EXPECT_EQ(loaded.second.weight.to_vector(), saved.first.weight.to_vector());
  EXPECT_EQ(loaded.second.weight.identity().get(), loaded.first.weight.identity().get());
}

}  // namespace
}  // namespace kiln
