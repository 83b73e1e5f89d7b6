// Losses over all alignments against the enumeration of every alignment.
#include "kiln/ops/loss/ctc_transducer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kiln/autodiff/backward.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/loss/ctc_transducer_ops.hpp"
#include "tests/ops/harness.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::test {
namespace {

using Labels = std::vector<std::int64_t>;

/// A batch of sequences: their labels (padded in the tensor) and numbers of frames.
struct Batch {
  std::vector<Labels> targets;
  Labels times;
  std::int64_t padding = 77;  // what lies beyond the labels: never looked at

  std::int64_t size() const { return static_cast<std::int64_t>(targets.size()); }
  std::int64_t width() const {
    std::size_t most = 0;
    for (const Labels& labels : targets) most = std::max(most, labels.size());
    return static_cast<std::int64_t>(most);
  }
  Value tensor(const Device& device) const {
    Labels all;
    for (Labels labels : targets) {
      labels.resize(static_cast<std::size_t>(width()), padding);
      all.insert(all.end(), labels.begin(), labels.end());
    }
    return from_data(TensorData::of<std::int64_t>({size(), width()}, std::span<const std::int64_t>(all)), device);
  }
  Value lengths(const Device& device) const {
    Labels all;
    for (const Labels& labels : targets) all.push_back(static_cast<std::int64_t>(labels.size()));
    return from_data(TensorData::of<std::int64_t>({size()}, std::span<const std::int64_t>(all)), device);
  }
  Value frames(const Device& device) const {
    return from_data(TensorData::of<std::int64_t>({size()}, std::span<const std::int64_t>(times)), device);
  }
};

/// Every sequence of classes with as many elements as there are frames; those count that become the labels when
/// repetitions are merged and blanks dropped.
double ctc_of(const Array& log_probs, std::int64_t b, const Labels& labels, std::int64_t time, std::int64_t blank) {
  const std::int64_t classes = log_probs.shape[2];
  double total = 0;
  Labels path(static_cast<std::size_t>(time), 0);
  for (bool more = true; more;) {
    Labels merged;
    double log_probability = 0;
    for (std::int64_t t = 0; t < time; ++t) {
      const std::int64_t label = path[static_cast<std::size_t>(t)];
      log_probability += log_probs({t, b, label});
      const bool repeats = t > 0 && path[static_cast<std::size_t>(t - 1)] == label;
      if (label != blank && !repeats) merged.push_back(label);
    }
    if (merged == labels) total += std::exp(log_probability);
    more = false;
    for (auto& label : path) {
      more = ++label < classes;
      if (more) break;
      label = 0;
    }
  }
  return -std::log(total);
}

/// The sum over all paths from frame t after u labels.
double rnnt_from(const Array& log_probs, std::int64_t b, const Labels& labels, std::int64_t time, std::int64_t blank,
                 std::int64_t t, std::int64_t u) {
  const auto size = static_cast<std::int64_t>(labels.size());
  double total = 0;
  const double by_blank = std::exp(log_probs({b, t, u, blank}));
  if (t + 1 < time) total += by_blank * rnnt_from(log_probs, b, labels, time, blank, t + 1, u);
  else if (u == size) total += by_blank;
  if (u < size)
    total += std::exp(log_probs({b, t, u, labels[static_cast<std::size_t>(u)]})) *
             rnnt_from(log_probs, b, labels, time, blank, t, u + 1);
  return total;
}

Array log_softmax_of(Array x) {
  const std::int64_t classes = x.shape.back();
  for (std::size_t row = 0; row < x.v.size(); row += static_cast<std::size_t>(classes)) {
    double total = 0;
    for (std::int64_t c = 0; c < classes; ++c) total += std::exp(x.v[row + static_cast<std::size_t>(c)]);
    for (std::int64_t c = 0; c < classes; ++c) x.v[row + static_cast<std::size_t>(c)] -= std::log(total);
  }
  return x;
}

Array reduced(const std::vector<double>& losses, Reduction reduction) {
  double sum = 0;
  for (const double loss : losses) sum += loss;
  if (reduction == Reduction::None) {
    Array all({static_cast<std::int64_t>(losses.size())});
    all.v = losses;
    return all;
  }
  return Array({}, reduction == Reduction::Sum ? sum : sum / static_cast<double>(losses.size()));
}

OpCase ctc_row(std::string name, std::int64_t time, std::int64_t classes, const Batch& batch, const CtcOptions& options,
               Reduction reduction = Reduction::Mean) {
  return {.name = std::move(name),
          .operands = {{{time, batch.size(), classes}, -2, 0}},
          .function =
              [=](const Values& in) {
                const Device device = in[0].device();
                return Values{ctc_loss(in[0], batch.tensor(device), batch.frames(device), batch.lengths(device),
                                       options, reduction)};
              },
          .meaning =
              [=](const std::vector<Array>& in) {
                std::vector<double> losses;
                for (std::int64_t b = 0; b < batch.size(); ++b) {
                  const Labels& labels = batch.targets[static_cast<std::size_t>(b)];
                  double loss = ctc_of(in[0], b, labels, batch.times[static_cast<std::size_t>(b)], options.blank);
                  if (options.zero_infinity && std::isinf(loss)) loss = 0;
                  if (reduction == Reduction::Mean)
                    loss /= static_cast<double>(std::max<std::size_t>(1, labels.size()));
                  losses.push_back(loss);
                }
                return std::vector<Array>{reduced(losses, reduction)};
              },
          .tolerance = 4};
}

OpCase rnnt_row(std::string name, std::int64_t time, std::int64_t classes, const Batch& batch,
                const RnntOptions& options, Reduction reduction = Reduction::Mean) {
  return {.name = std::move(name),
          .operands = {{{batch.size(), time, batch.width() + 1, classes}}},
          .function =
              [=](const Values& in) {
                const Device device = in[0].device();
                return Values{rnnt_loss(in[0], batch.tensor(device), batch.frames(device), batch.lengths(device),
                                        options, reduction)};
              },
          .meaning =
              [=](const std::vector<Array>& in) {
                const Array log_probs = log_softmax_of(in[0]);
                std::vector<double> losses;
                for (std::int64_t b = 0; b < batch.size(); ++b)
                  losses.push_back(-std::log(rnnt_from(log_probs, b, batch.targets[static_cast<std::size_t>(b)],
                                                       batch.times[static_cast<std::size_t>(b)], options.blank, 0, 0)));
                return std::vector<Array>{reduced(losses, reduction)};
              },
          .tolerance = 4};
}

constexpr auto kNone = Reduction::None;

std::vector<OpCase> alignment_rows() {
  return {
      ctc_row("ctc_loss", 4, 3, {{{1, 2}, {2}}, {4, 4}}, {}),
      ctc_row("ctc_loss_of_repeated_labels", 5, 3, {{{1, 1}, {1, 2, 1}, {2, 2, 1}}, {5, 5, 4}}, {}, kNone),
      ctc_row("ctc_loss_of_padded_frames", 5, 3, {{{1, 2}, {2, 1}, {1}}, {2, 4, 1}}, {}, kNone),
      ctc_row("ctc_loss_of_no_labels", 3, 3, {{{}, {1}, {}}, {3, 3, 0}}, {}, kNone),
      ctc_row("ctc_loss_without_any_label", 3, 2, {{{}, {}}, {3, 1}}, {}),
      ctc_row("ctc_loss_of_another_blank", 4, 4, {{{0, 1}, {3}}, {4, 3}}, {.blank = 2}, Reduction::Sum),
      ctc_row("ctc_loss_of_impossible_ones_as_zero", 3, 3, {{{1, 1, 2}, {1}, {2, 2}}, {3, 3, 2}},
              {.zero_infinity = true}, kNone),
      rnnt_row("rnnt_loss", 3, 3, {{{1, 2}, {2}}, {3, 3}}, {}),
      rnnt_row("rnnt_loss_of_padding", 4, 3, {{{1, 1, 2}, {}, {2}}, {4, 2, 1}}, {}, kNone),
      rnnt_row("rnnt_loss_without_any_label", 3, 2, {{{}, {}}, {3, 1}}, {}, Reduction::Sum),
      rnnt_row("rnnt_loss_of_another_blank", 2, 4, {{{0, 3}, {1}}, {2, 2}}, {.blank = 2}),
  };
}

const Family kAlignment(&alignment_rows);

// ---- special cases -------------------------------------------------------------------------------------------------

class AlignmentOn : public testing::TestWithParam<const char*> {
 protected:
  Device device = Device::parse(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, AlignmentOn, testing::Values("cpu", "reference"));

TEST_P(AlignmentOn, IsInfiniteWithoutAGradientWhereThereIsNoPath) {
  const Batch batch{{{1, 1}, {1}}, {2, 2}};
  const Value x = log_softmax(uniform({2, 2, 3}, -1, 1, device.autodiff(), DType::F32, Key{1}), 2).require_grad();
  const Value losses =
      ctc_loss(x, batch.tensor(device), batch.frames(device), batch.lengths(device), {}, Reduction::None);
  EXPECT_EQ(losses.data().at(0), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isfinite(losses.data().at(1)));
  const std::vector<double> slope = backward(sum(losses)).of(x).data().to_vector<double>();
  for (std::size_t t = 0; t < 2; ++t)
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(slope[t * 6 + c], 0);
}

TEST_P(AlignmentOn, TakesClassesOfProbabilityZero) {
  // Only class 1 may be emitted: one path for its label, none for another.
  const double never = -std::numeric_limits<double>::infinity();
  const Value x =
      from_data(TensorData::of<double>({2, 1, 3}, {never, 0.0, never, never, 0.0, never}), device.autodiff())
          .require_grad();
  const auto loss_of = [&](std::int64_t label) {
    const Batch batch{{{label}}, {2}};
    return ctc_loss(x, batch.tensor(device), batch.frames(device), batch.lengths(device));
  };
  EXPECT_EQ(loss_of(1).item(), 0);
  EXPECT_EQ(loss_of(2).item(), std::numeric_limits<double>::infinity());
  const std::vector<double> slope = backward(loss_of(1)).of(x).data().to_vector<double>();
  EXPECT_EQ(slope, (std::vector<double>{0, -1, 0, 0, -1, 0}));
}

// With all classes equally likely, each of the paths has the probability 1 / 4^frames; there are
// binomial(frames + labels, 2 labels) of them for labels that differ from their neighbours.
TEST_P(AlignmentOn, CountsPathsOfLongSequences) {
  constexpr std::int64_t kTime = 300;
  const Value x = full({kTime, 1, 4}, -std::log(4.0), device, DType::F32);
  const Batch batch{{{1, 2, 3, 1, 2, 3, 1, 2}}, {kTime}};
  const double paths = std::lgamma(kTime + 9.0) - std::lgamma(17.0) - std::lgamma(kTime - 7.0);
  const double loss =
      ctc_loss(x, batch.tensor(device), batch.frames(device), batch.lengths(device), {}, Reduction::Sum).item();
  EXPECT_NEAR(loss, kTime * std::log(4.0) - paths, 2e-3);
}

// A path of the transducer chooses in which frame each label comes: binomial(frames - 1 + labels, labels) of them, each
// of frames + labels steps.
TEST_P(AlignmentOn, CountsPathsOfTheTransducer) {
  constexpr std::int64_t kTime = 60, kLabels = 5;
  const Value x = zeros({1, kTime, kLabels + 1, 3}, device);
  const Batch batch{{{1, 2, 1, 2, 1}}, {kTime}};
  const double paths = std::lgamma(kTime + kLabels) - std::lgamma(kLabels + 1.0) - std::lgamma(kTime);
  EXPECT_NEAR(rnnt_loss(x, batch.tensor(device), batch.frames(device), batch.lengths(device)).item(),
              (kTime + kLabels) * std::log(3.0) - paths, 1e-3);
}

TEST(Alignment, HasNoCostForNothing) {
  const Device device = Device::cpu();
  const Value none = zeros({0}, device, DType::I64), targets = zeros({0, 2}, device, DType::I64);
  EXPECT_EQ(ctc_loss(zeros({3, 0, 4}, device), targets, none, none, {}, kNone).shape(), Shape{0});
  EXPECT_EQ(rnnt_loss(zeros({0, 3, 3, 4}, device), targets, none, none, {}, kNone).shape(), Shape{0});
}

TEST(AlignmentErrors, AreSentences) {
  const Device device = Device::cpu();
  const auto whole = [&](const Shape& shape, int value) { return full(shape, value, device, DType::I64); };
  const Value x = zeros({3, 2, 4}, device), targets = whole({2, 2}, 1), three = whole({2}, 3), two = whole({2}, 2);
  EXPECT_EQ(sentence_of([&] { return ctc_loss(zeros({3, 4}, device), targets, three, two); }),
            "ShapeError: ctc_loss: needs log_probs [time, batch, class], got float32 [3, 4]");
  EXPECT_EQ(sentence_of([&] { return ctc_loss(x, whole({3, 2}, 1), three, two); }),
            "ShapeError: ctc_loss: targets must be [batch, label] with a batch of 2, got int64 [3, 2]");
  EXPECT_EQ(sentence_of([&] { return ctc_loss(x, targets, whole({3}, 1), two); }),
            "ShapeError: ctc_loss: lengths must have shape [2], got int64 [3]");
  EXPECT_EQ(sentence_of([&] { return ctc_loss(x, zeros({2, 2}, device), three, two); }),
            "DTypeError: ctc_loss: indices must be an integer tensor, got float32 [2, 2]");
  EXPECT_EQ(sentence_of([&] { return ctc_loss(x, targets, three, two, {.blank = 4}); }),
            "IndexError: ctc_loss: blank 4 is out of range for 4 classes");
  EXPECT_EQ(sentence_of([&] { return ctc_loss(x, targets, whole({2}, 4), two); }),
            "IndexError: ctc: sequence 0 has 4 frames, which is not between 0 and 3");
  EXPECT_EQ(sentence_of([&] { return ctc_loss(x, targets, three, whole({2}, 3)); }),
            "IndexError: ctc: sequence 0 has 7 states, which is not between 1 and 5");
  EXPECT_EQ(sentence_of([&] { return ctc_loss(x, targets, three, whole({2}, -1)); }),
            "IndexError: ctc: sequence 0 has -1 states, which is not between 1 and 5");
  const Value y = zeros({2, 3, 3, 4}, device);
  EXPECT_EQ(sentence_of([&] { return rnnt_loss(zeros({2, 3, 4}, device), targets, three, two); }),
            "ShapeError: rnnt_loss: needs logits [batch, time, label + 1, class], got float32 [2, 3, 4]");
  EXPECT_EQ(sentence_of([&] { return rnnt_loss(zeros({2, 3, 2, 4}, device), targets, three, two); }),
            "ShapeError: rnnt_loss: logits [2, 3, 2, 4] have 2 places for 2 labels; 3 are needed");
  EXPECT_EQ(sentence_of([&] { return rnnt_loss(y, targets, whole({2}, 4), two); }),
            "IndexError: rnnt: sequence 0 has 4 frames, which is not between 0 and 3");
  EXPECT_EQ(sentence_of([&] { return rnnt_loss(y, targets, three, whole({2}, 3)); }),
            "IndexError: rnnt: sequence 0 has 3 labels, which is not between 0 and 2");
  EXPECT_EQ(sentence_of([&] { return rnnt_loss(y, targets, three, two, {.blank = -1}); }),
            "IndexError: rnnt_loss: blank -1 is out of range for 4 classes");
}

}  // namespace
}  // namespace kiln::test
