// Collectives between threads of this process, against loops over what all ranks have.
#include "kiln/tensor/collective.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <future>
#include <thread>

#include "kiln/autodiff/backward.hpp"
#include "kiln/collective/thread_ranks.hpp"
#include "kiln/ops/collective/collective_ops.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/tensor/arithmetic.hpp"
#include "tests/support/backends/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

std::vector<Device> devices(int count, const std::string& like = "cpu") {
  std::vector<Device> all;
  for (int i = 0; i < count; ++i) all.push_back(another(test::device_named(like)).autodiff());
  return all;
}

/// What rank `rank` has: numbers of many sizes, so that another order of adding them gives other bits.
std::vector<float> numbers(int rank, std::int64_t count) {
  std::vector<float> all;
  for (std::int64_t i = 0; i < count; ++i)
    all.push_back(
        std::ldexp(static_cast<float>(std::sin(double(31 * rank + i))), static_cast<int>((7 * i + 5 * rank) % 24)));
  return all;
}

/// each(result[i], what all ranks have in place i) of a tensor of `count` floats, on so many ranks.
using Many = std::tuple<int, std::string>;  // ranks, and what their devices are like
template <class Function, class Check>
void on_ranks(const Many& ranks_and_device, std::int64_t elements, Function function, Check check) {
  const auto& [count, like] = ranks_and_device;
  on_each(devices(count, like), [&, count = count](const Ranks& ranks, const Device& device) {
    std::vector<std::vector<float>> of_ranks;
    for (int rank = 0; rank < count; ++rank) of_ranks.push_back(numbers(rank, elements));
    const auto& mine = of_ranks[std::size_t(ranks->rank())];
    const auto found = function(Tensor<1>::of(mine, {elements}, device), ranks).template to_vector<float>();
    for (std::size_t i = 0; i < found.size(); ++i) {
      std::vector<float> all;
      for (const auto& each : of_ranks) all.push_back(each[i]);
      check(found[i], all);
    }
  });
}

class Sizes : public testing::TestWithParam<Many> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Sizes,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::Values("cpu", "simulated", "hosted:cpu")));

TEST_P(Sizes, AddInTheOrderOfTheRanks) {
  for (const std::int64_t elements : {0, 1, 2, 7, 40000})
    on_ranks(
        GetParam(), elements, [](const Tensor<1>& x, const Ranks& ranks) { return all_reduce(x, ranks); },
        [](float found, const std::vector<float>& all) {
          float sum = all[0];
          for (std::size_t rank = 1; rank < all.size(); ++rank) sum += all[rank];
          EXPECT_EQ(found, sum);
        });
}

TEST_P(Sizes, CombineInOtherWays) {
  const auto with = [](Combine how) {
    return [how](const Tensor<1>& x, const Ranks& ranks) { return all_reduce(x, ranks, how); };
  };
  on_ranks(GetParam(), 5, with(Combine::Max), [](float found, const std::vector<float>& all) {
    EXPECT_EQ(found, *std::max_element(all.begin(), all.end()));
  });
  on_ranks(GetParam(), 5, with(Combine::Min), [](float found, const std::vector<float>& all) {
    EXPECT_EQ(found, *std::min_element(all.begin(), all.end()));
  });
  on_ranks(GetParam(), 5, with(Combine::Mean), [](float found, const std::vector<float>& all) {
    double sum = 0;
    for (const float each : all) sum += each;
    EXPECT_NEAR(found, sum / double(all.size()), 1e-6 * std::abs(sum) + 1e-3);
  });
}

TEST_P(Sizes, GatherAndScatter) {
  const auto& [many, like] = GetParam();
  on_each(devices(many, like), [&, count = many](const Ranks& ranks, const Device& device) {
    const float rank = float(ranks->rank());
    const auto x = Tensor<2>::of({{rank, rank + 0.5f}}, device);
    const auto all = all_gather(x, ranks);
    EXPECT_EQ(all.shape(), (Shape{count, 2}));
    const auto sums = reduce_scatter(all, ranks);
    EXPECT_EQ(sums.shape(), (Shape{1, 2}));
    EXPECT_EQ(sums.to_vector<float>(), (std::vector<float>{rank * float(count), (rank + 0.5f) * float(count)}));
    for (int root = 0; root < count; ++root)
      EXPECT_EQ(broadcast(x, ranks, root).to_vector<float>(), (std::vector<float>{float(root), float(root) + 0.5f}));
    barrier(ranks);
  });
}

TEST(Collectives, TakeHalvesAndIntegers) {
  for (const std::string like : {"cpu", "simulated"})
    on_each(devices(3, like), [](const Ranks& ranks, const Device& device) {
      const auto rank = ranks->rank();
      // 2048 + 1 + 1 is 2050 in float32, and 2048 where each sum is rounded to float16.
      const auto half = Tensor<1>::of({rank == 0 ? 2048.0f : 1.0f}, device).to(DType::F16);
      EXPECT_EQ(all_reduce(half, ranks).sum().to(DType::F32).item(), 2050.0f);
      const auto brain = Tensor<1>::of({rank == 0 ? 256.0f : 1.0f}, device).to(DType::BF16);
      EXPECT_EQ(all_reduce(brain, ranks).sum().to(DType::F32).item(), 258.0f);
      const auto whole = Tensor<1, Int>::of({std::int64_t{1} << 62, std::int64_t{-3} * rank}, device);
      EXPECT_EQ(all_reduce(whole, ranks).to_vector<std::int64_t>(),
                (std::vector<std::int64_t>{static_cast<std::int64_t>(std::uint64_t{3} << 62), -9}));  // wraps around
      EXPECT_EQ(all_reduce(whole.to(DType::I8), ranks, Combine::Min).to(DType::I64).to_vector<std::int64_t>(),
                (std::vector<std::int64_t>{0, -6}));
      const auto bad = Tensor<1>::of({rank == 1 ? std::nanf("") : 1.0f}, device);
      EXPECT_TRUE(std::isnan(all_reduce(bad, ranks, Combine::Max).sum().item()));
      EXPECT_EQ(broadcast(Tensor<1>::of({float(rank)}, device).gt(1), ranks, 2).to_vector<bool>(),
                std::vector<bool>{true});
    });
}

TEST(Collectives, HaveTheGradientsOfTheSumOfAllLosses) {
  // loss of rank r = (r + 1) * sum(w * f(x)): what x of a rank gets is what each rank's loss says of it, summed.
  for (const std::string like : {"cpu", "simulated"}) {
    const auto gradients = [&](auto function) {
      std::vector<std::vector<float>> all(2);
      on_each(devices(2, like), [&](const Ranks& ranks, const Device& device) {
        const int rank = ranks->rank();
        const auto x = Tensor<1>::of({rank == 0 ? 1.0f : 3.0f, 2.0f}, device).require_grad();
        const Tensor<1> y = function(x, ranks);
        std::vector<float> weights;
        for (std::int64_t i = 0; i < y.numel(); ++i) weights.push_back(float(i + 1) * float(rank + 1));
        const auto grads = backward((y * Tensor<1>::of(weights, y.shape(), device)).sum().value());
        all[std::size_t(rank)] = grads.of(x).to_vector<float>();
      });
      return all;
    };
    using All = std::vector<std::vector<float>>;
    const auto reduce = [](Combine how) {
      return [how](const Tensor<1>& x, const Ranks& ranks) { return all_reduce(x, ranks, how); };
    };
    EXPECT_EQ(gradients(reduce(Combine::Sum)), (All{{3, 6}, {3, 6}}));
    EXPECT_EQ(gradients(reduce(Combine::Mean)), (All{{1.5, 3}, {1.5, 3}}));
    EXPECT_EQ(gradients(reduce(Combine::Max)), (All{{0, 3}, {3, 3}}));  // equal ones share
    EXPECT_EQ(gradients(reduce(Combine::Min)), (All{{3, 3}, {0, 3}}));
    EXPECT_EQ(gradients([](const Tensor<1>& x, const Ranks& ranks) { return broadcast(x, ranks, 1); }),
              (All{{0, 0}, {3, 6}}));
    EXPECT_EQ(gradients([](const Tensor<1>& x, const Ranks& ranks) { return all_gather(x, ranks); }),
              (All{{3, 6}, {9, 12}}));
    const auto scatter = [](Combine how) {
      return [how](const Tensor<1>& x, const Ranks& ranks) { return reduce_scatter(x, ranks, how); };
    };
    EXPECT_EQ(gradients(scatter(Combine::Sum)), (All{{1, 2}, {1, 2}}));
    EXPECT_EQ(gradients(scatter(Combine::Mean)), (All{{0.5, 1}, {0.5, 1}}));
    EXPECT_EQ(gradients(scatter(Combine::Max)), (All{{0, 1}, {1, 1}}));
  }
}

TEST(Collectives, RunOnceAndInOrderOnEveryKindOfDevice) {
  for (const std::string like :
       {"cpu", "reference", "fused few", "queued", "verified few", "profiled few", "simulated"}) {
    on_each(devices(2, like), [](const Ranks& ranks, const Device& device) {
      const auto x = Tensor<1>::of({float(ranks->rank()), 1}, device);
      (void)all_reduce(x, ranks);  // nobody reads it
      const auto twice = all_reduce(x, ranks) + all_reduce(x, ranks);
      if (ranks->rank() == 0) {
        EXPECT_EQ(x.sum().item(), 1.0f);  // a rank alone reads
      }
      device.sync();
      barrier(ranks);
      EXPECT_EQ(twice.to_vector<float>(), (std::vector<float>{2, 4}));
    });
  }
}

// What ranks meet for on a GPU is held while they do: not for long, and not where others need the memory. One rank, since
// two would have the memory of one GPU.
TEST(Collectives, HoldLittleMemoryOfAGpu) {
  on_each(devices(1, "simulated"), [](const Ranks& ranks, const Device& device) {
    constexpr std::int64_t count = 1 << 18, bytes = 4 * count;
    const auto reduce_often = [&] {
      Value last;
      for (int i = 1; i < 30; ++i)
        last = all_reduce(full({count}, i, device), ranks);  // all but one are read by nobody
      EXPECT_EQ(Tensor<1>(last).max().item(), 29);
    };
    Backend& backend = device.backend();
    reduce_often();
    backend.reset_memory_peak();
    reduce_often();
    EXPECT_LE(backend.memory().peak, backend.memory().in_use + 22 * bytes);
    backend.release_memory();
    backend.set_memory_limit(backend.memory().in_use + 5 * bytes);
    reduce_often();
  });
}

/// A rank by itself that counts.
class Counting final : public Communicator {
 public:
  Counting() : Communicator(0, 1) {}
  void exchange(std::string_view what, const Pieces& pieces, const Places& places) override {
    ++exchanges;
    alone()->exchange(what, pieces, places);
  }
  void leave(std::string_view) override {}
  int exchanges = 0;
};

TEST(Collectives, AreNeitherLeftOutNorJoinedByAPlan) {
  const auto ranks = std::make_shared<Counting>();
  const auto x = full({3}, 2, Device::cpu());
  const auto one = [&] { return emit(op::AllGather{ranks->number()}, {x}); };
  (void)one();  // as a captured program would, which does not start them by itself
  const Value twice = one() + one();
  EXPECT_EQ(twice.data().to_vector<float>(), (std::vector<float>{4, 4, 4}));
  EXPECT_EQ(ranks->exchanges, 3);
}

TEST(Collectives, TellOfDifferentCalls) {
  std::vector<std::string> sentences(3);
  on_each(devices(3), [&](const Ranks& ranks, const Device& device) {
    const auto x = zeros({ranks->rank() == 1 ? 3 : 2}, device);
    sentences[std::size_t(ranks->rank())] = sentence_of([&] { return Tensor<1>(Typed{all_reduce(x, ranks)}).data(); });
    EXPECT_EQ(all_reduce(Tensor<1>::of({1}, device), ranks).sum().item(), 3.0f);  // and go on
  });
  const std::string rest =
      ": all ranks make the same calls, on tensors of the same shapes and types, in the same order";
  EXPECT_EQ(
      sentences[0],
      "ArgumentError: all_reduce (sum) of float32 [2]: rank 1 has reached another call, all_reduce (sum) of float32 "
      "[3]" +
          rest);
  EXPECT_EQ(
      sentences[1],
      "ArgumentError: all_reduce (sum) of float32 [3]: rank 0 has reached another call, all_reduce (sum) of float32 "
      "[2]" +
          rest);
}

TEST(Collectives, TellOfRanksThatLeaveOrDoNotCome) {
  std::string waiting;
  EXPECT_EQ(sentence_of([&] {
              on_each(devices(3), [&](const Ranks& ranks, const Device&) {
                if (ranks->rank() == 2) fail<DataError>("the disk of rank 2 is gone");
                const std::string sentence = sentence_of([&] { return barrier(ranks), 0; });
                if (ranks->rank() == 0) waiting = sentence;
                EXPECT_NE(sentence_of([&] { return barrier(ranks), 0; }), "");  // and so does every later call
              });
              return 0;
            }),
            "DataError: the disk of rank 2 is gone");
  EXPECT_TRUE(waiting == "IoError: barrier: rank 2 has left: DataError: the disk of rank 2 is gone" ||
              waiting == "IoError: barrier: rank 1 has left: it was in barrier, to which rank 2 did not arrive")
      << waiting;

  const auto began = std::chrono::steady_clock::now();
  std::string late;
  std::promise<void> told;
  on_each(devices(2),
          [&, is_told = told.get_future().share()](const Ranks& ranks, const Device&) {
            if (ranks->rank() != 0) return is_told.wait();
            late = sentence_of([&] { return barrier(ranks), 0; });
            told.set_value();
          },
          {.timeout = 0.2});
  EXPECT_EQ(late, "IoError: barrier: rank 1 has not arrived within 0.2 s");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
}

TEST(Collectives, SayWhatTheyDoNotTake) {
  const Device device = Device::cpu();
  const auto x = zeros({3}, device);
  EXPECT_EQ(sentence_of([&] { return all_reduce(x, nullptr); }),
            "ArgumentError: all_reduce: no communicator was given");
  EXPECT_EQ(sentence_of([&] { return all_reduce(x, alone(), Combine::Prod); }),
            "ArgumentError: all_reduce: takes sum, mean, max or min, not the product of ranks");
  EXPECT_EQ(sentence_of([&] { return all_reduce(cast(x, DType::Bool), alone()); }),
            "DTypeError: all_reduce: takes no booleans, got bool [3]");
  EXPECT_EQ(sentence_of([&] { return all_reduce(cast(x, DType::I32), alone(), Combine::Mean); }),
            "DTypeError: all_reduce: a mean is of floats, got int32 [3]");
  EXPECT_EQ(sentence_of([&] { return broadcast(x, alone(), 1); }), "ArgumentError: broadcast: there is no rank 1 of 1");
  EXPECT_EQ(sentence_of([&] { return all_gather(zeros({}, device), alone()); }),
            "ShapeError: all_gather: takes a tensor of one dimension or more, got float32 []");
  const auto two = thread_ranks(2);
  EXPECT_EQ(sentence_of([&] { return reduce_scatter(x, two[0]); }),
            "ShapeError: reduce_scatter: 2 ranks do not divide dimension 0 of [3]");
  EXPECT_EQ(sentence_of([] { return Communicator::find("all_reduce", 1 << 30); }),
            "ArgumentError: all_reduce: this process has no communicator 1073741824, or no longer has it");
  EXPECT_EQ(sentence_of([] { return thread_ranks(2, {.timeout = 0}); }),
            "ArgumentError: communicator: a timeout of 0 s, it must be positive");
  EXPECT_EQ(sentence_of([&] {
              on_each({device, device}, [](const Ranks&, const Device&) {});
              return 0;
            }),
            "ArgumentError: on_each: ranks 0 and 1 have the same device, cpu: another(device) is one like it");
}

}  // namespace
}  // namespace kiln
