// Losses over all alignments by the GPU families, against sums over every single path.
#include <cmath>
#include <functional>
#include <limits>

#include "kiln/core/error/trace.hpp"
#include "kiln/ops/loss/ctc_transducer_ops.hpp"
#include "tests/backend/gpu/family/device.hpp"

namespace kiln::test {
namespace {

std::vector<double> log_probabilities(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> numbers(count);
  for (double& number : numbers) number = -static_cast<double>(random() % 40 + 1) / 8;
  return numbers;
}
TEST(GpuAlignments, OfCtcAreSumsOverAllPaths) {
  constexpr std::int64_t kBatch = 5, kTime = 5, kStates = 5;
  const std::vector<double> times{5, 3, 0, 1, 0}, sizes{5, 3, 1, 5, 2};
  const std::vector<double> scores = log_probabilities(kBatch * kTime * kStates, 1);
  std::vector<double> skips(kBatch * kStates);
  for (std::size_t i = 0; i < skips.size(); ++i) skips[i] = i % 2 == 1 && i != 3;
  std::vector<double> loss, passed(scores.size());
  for (std::size_t b = 0; b < kBatch; ++b) {
    const auto time = static_cast<std::size_t>(times[b]), size = static_cast<std::size_t>(sizes[b]);
    const auto at = [&](std::size_t t, std::size_t s) { return (b * kTime + t) * kStates + s; };
    double total = time == 0 && size == 1 ? 1 : 0;
    std::vector<std::size_t> path;
    std::vector<double> of_place(kTime * kStates);
    const std::function<void()> go = [&] {
      if (path.size() == time) {
        if (path.back() + 2 < size) return;
        double log = 0;
        for (std::size_t t = 0; t < time; ++t) log += scores[at(t, path[t])];
        total += std::exp(log);
        for (std::size_t t = 0; t < time; ++t) of_place[t * kStates + path[t]] += std::exp(log);
        return;
      }
      for (std::size_t s = 0; s < size; ++s) {
        const bool first = path.empty();
        const std::size_t from = first ? 0 : path.back();
        const bool may = first ? s < 2 : s == from || s == from + 1 || (s == from + 2 && skips[b * kStates + s] > 0);
        if (!may) continue;
        path.push_back(s);
        go();
        path.pop_back();
      }
    };
    if (time > 0) go();
    loss.push_back(-std::log(total));
    for (std::size_t i = 0; i < of_place.size(); ++i)
      if (total > 0) passed[b * kTime * kStates + i] = of_place[i] / total;
  }
  for (const DType dtype : {DType::F64, DType::F32}) {
    const Values made = emit_all(
        op::Ctc{}, {uploaded({kBatch, kTime, kStates}, scores, dtype), uploaded({kBatch, kStates}, skips, DType::Bool),
                    uploaded({kBatch}, times, DType::I64), uploaded({kBatch}, sizes, DType::I32)});
    const double tolerance = dtype == DType::F64 ? 1e-12 : 1e-5;
    expect_near(made[op::Ctc::loss], loss, tolerance, "loss");
    expect_near(made[op::Ctc::occupancy], passed, tolerance, "occupancy");
  }
}

TEST(GpuAlignments, OfTransducersAreSumsOverAllPaths) {
  constexpr std::int64_t kBatch = 4, kTime = 4, kLabels = 3;
  const std::vector<double> times{4, 2, 1, 0}, sizes{3, 0, 2, 1};
  const std::vector<double> blanks = log_probabilities(kBatch * kTime * (kLabels + 1), 2);
  const std::vector<double> labels = log_probabilities(kBatch * kTime * kLabels, 3);
  std::vector<double> loss, by_blank(blanks.size()), by_label(labels.size());
  for (std::size_t b = 0; b < kBatch; ++b) {
    const auto time = static_cast<std::size_t>(times[b]), size = static_cast<std::size_t>(sizes[b]);
    double total = 0;
    std::vector<double> of_blank(blanks.size()), of_label(labels.size());
    std::vector<std::size_t> blanks_taken, labels_taken;
    const std::function<void(std::size_t, std::size_t, double)> go = [&](std::size_t t, std::size_t u, double log) {
      if (t == time) {
        if (u != size) return;
        total += std::exp(log);
        for (const std::size_t i : blanks_taken) of_blank[i] += std::exp(log);
        for (const std::size_t i : labels_taken) of_label[i] += std::exp(log);
        return;
      }
      const std::size_t blank = (b * kTime + t) * (kLabels + 1) + u, label = (b * kTime + t) * kLabels + u;
      blanks_taken.push_back(blank);
      go(t + 1, u, log + blanks[blank]);
      blanks_taken.pop_back();
      if (u == size) return;
      labels_taken.push_back(label);
      go(t, u + 1, log + labels[label]);
      labels_taken.pop_back();
    };
    if (time > 0) go(0, 0, 0);
    loss.push_back(-std::log(total));
    for (std::size_t i = 0; i < of_blank.size(); ++i) by_blank[i] += total > 0 ? of_blank[i] / total : 0;
    for (std::size_t i = 0; i < of_label.size(); ++i) by_label[i] += total > 0 ? of_label[i] / total : 0;
  }
  for (const DType dtype : {DType::F64, DType::F32}) {
    const Values made =
        emit_all(op::Rnnt{}, {uploaded({kBatch, kTime, kLabels + 1}, blanks, dtype),
                              uploaded({kBatch, kTime, kLabels}, labels, dtype), uploaded({kBatch}, times, DType::I32),
                              uploaded({kBatch}, sizes, DType::I64)});
    const double tolerance = dtype == DType::F64 ? 1e-12 : 1e-5;
    expect_near(made[op::Rnnt::loss], loss, tolerance, "loss");
    expect_near(made[op::Rnnt::blank_occupancy], by_blank, tolerance, "blanks");
    expect_near(made[op::Rnnt::label_occupancy], by_label, tolerance, "labels");
  }
}

// More states than a block has threads, all of them equally probable: a path goes on in every frame or stays.
TEST(GpuAlignments, OfMoreStatesThanThreads) {
  constexpr std::int64_t kTime = 300, kStates = 301;
  const std::vector<double> scores(kTime * kStates, 0.0), skips(kStates, 0.0);
  const Values made = emit_all(
      op::Ctc{}, {uploaded({1, kTime, kStates}, scores, DType::F64), uploaded({1, kStates}, skips, DType::Bool),
                  uploaded({1}, {kTime}, DType::I64), uploaded({1}, {kStates}, DType::I64)});
  // To end in state 299 or 300 after 299 steps from 0 or 1: 298 of 299 steps or all (from 1), or all (from 0).
  const double paths = 299.0 + 1 + 1;
  expect_near(made[op::Ctc::loss], {-std::log(paths)}, 1e-12, "loss");
}

TEST(GpuAlignments, SayWhichLengthIsWrong) {
  const Value scores = uploaded({2, 3, 2}, std::vector<double>(12), DType::F32);
  const Value skips = uploaded({2, 2}, std::vector<double>(4), DType::Bool);
  const auto loss_of = [&](std::vector<double> times, std::vector<double> sizes) -> std::string {
    const Values made =
        emit_all(op::Ctc{}, {scores, skips, uploaded({2}, times, DType::I64), uploaded({2}, sizes, DType::I64)});
    try {
      static_cast<void>(made[0].data());
    } catch (const IndexError& error) { return std::string(without_calls(error.what())); }
    return "";
  };
  EXPECT_EQ(loss_of({3, 2}, {1, 2}), "");
  EXPECT_EQ(loss_of({3, 4}, {3, 2}), "IndexError: ctc: sequence 1 has 4 frames, which is not between 0 and 3");
  EXPECT_EQ(loss_of({3, 2}, {2, 0}), "IndexError: ctc: sequence 1 has 0 states, which is not between 1 and 2");
}

}  // namespace
}  // namespace kiln::test
