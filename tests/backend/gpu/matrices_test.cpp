// Matrices that the threads of a warp hold together, against loops of float64.
#include <cmath>

#include "kiln/backend/gpu/kernel/print/print.hpp"
#include "kiln/backend/gpu/kernel/refusal.hpp"
#include "kiln/backend/gpu/simulated/profiles.hpp"
#include "kiln/core/half.hpp"
#include "tests/backend/gpu/kernels.hpp"
#include "tests/ops/expression/validate.hpp"

namespace kiln::gpu {
namespace {

constexpr int kSide = 16;

/// How the factors lie in shared memory.
struct Layout {
  bool left_transposed = false, right_transposed = false, words = false;
  int rows = kSide;
};

/// d = 2 a b for matrices of 16 x 16 in row-major order, by two warps that do the same.
Kernel product(DType half, const Layout& layout) {
  constexpr int kStride = 24;
  const Fragment shape{layout.rows, kSide, kSide, half, DType::F32};
  Builder k("product", 2 * kLanes);
  const Buffer a = k.input(half), b = k.input(half), d = k.output(DType::F32);
  const DType stored = layout.words ? DType::U32 : half;
  const int each = layout.words ? 2 : 1;
  const Shared left = k.shared(stored, kSide * kStride / each), right = k.shared(stored, kSide * kStride / each);
  const Shared sums = k.shared(DType::F32, 2 * layout.rows * kSide);
  const auto fill = [&](const Shared& to, const Buffer& from, bool transposed) {
    k.loop(k.thread() * each, k.literal(DType::I32, kSide * kSide), k.literal(DType::I32, 2 * kLanes * each),
           [&](const Expr& i) {
             const Expr line = i / kSide, along = i % kSide;
             const auto at = [&](int more) {
               return transposed ? from[(along + more) * kSide + line] : from[line * kSide + along + more];
             };
             const Expr place = line * kStride + along;
             if (!layout.words) return to.store(place, at(0));
             // The bits of a bfloat16 are the upper ones of a float32.
             to.store(place >> 1, (at(0).bits_as(DType::U32) >> 16) | at(1).bits_as(DType::U32));
           });
  };
  fill(left, a, layout.left_transposed);
  fill(right, b, layout.right_transposed);
  k.barrier();
  const Matrix x = k.matrix(Matrix::Use::Left, shape), y = k.matrix(Matrix::Use::Right, shape);
  const Matrix made = k.matrix(Matrix::Use::Sums, shape);
  const Expr zero = k.literal(DType::I32, 0), own = k.warp() * (layout.rows * kSide);
  made.clear();
  x.load(left, zero, kStride / each, layout.left_transposed);
  y.load(right, zero, kStride / each, layout.right_transposed);
  made.add_product(x, y);
  made.add_product(x, y);
  made.store(sums, own, kSide);
  k.barrier();
  k.when(k.warp() == 1, [&] {
    k.unrolled(layout.rows * kSide / kLanes, [&](const Expr& i) {
      const Expr at = i * kLanes + k.lane();
      d.store(at, sums[own + at]);
    });
  });
  return k.finish();
}

void run(const Kernel& kernel, std::vector<Given> given) {
  std::vector<std::uint64_t> arguments;
  std::vector<Extent> extents;
  for (const Given& each : given) {
    arguments.push_back(each.bits);
    extents.push_back(each.extent);
  }
  Interpreter(kernel).run(1, arguments, extents);
}

template <class Half>
void expect_product(const Layout& layout) {
  std::vector<Half> a, b;
  std::vector<float> d(static_cast<std::size_t>(layout.rows * kSide));
  for (int i = 0; i < kSide * kSide; ++i) {
    a.push_back(Half(static_cast<float>(std::sin(0.7 * i))));
    b.push_back(Half(static_cast<float>(std::cos(1.3 * i))));
  }
  run(product(dtype_of<Half>, layout), {a, b, d});
  for (std::size_t row = 0; row < static_cast<std::size_t>(layout.rows); ++row)
    for (std::size_t column = 0; column < kSide; ++column) {
      double sum = 0;
      for (std::size_t i = 0; i < kSide; ++i)
        sum += 2.0 * static_cast<double>(static_cast<float>(a[row * kSide + i])) *
               static_cast<double>(static_cast<float>(b[i * kSide + column]));
      EXPECT_NEAR(d[row * kSide + column], sum, 1e-4) << row << ", " << column;
    }
}

/// d[i] = a[i] * (i / 16): a matrix of sums by one whose rows are constant.
Kernel scaled_rows() {
  const Fragment shape{kSide, kSide, kSide, DType::F16, DType::F32};
  constexpr int kCount = kSide * kSide;
  Builder k("scaled", kLanes);
  const Buffer a = k.input(DType::F32), d = k.output(DType::F32);
  const Shared held = k.shared(DType::F32, 2 * kCount);
  const Expr zero = k.literal(DType::I32, 0);
  k.unrolled(kCount / kLanes, [&](const Expr& i) {
    const Expr at = i * kLanes + k.thread();
    held.store(at, a[at]);
    held.store(at + kCount, (at / kSide).as(DType::F32));
  });
  k.barrier();
  const Matrix made = k.matrix(Matrix::Use::Sums, shape), by = k.matrix(Matrix::Use::Sums, shape);
  made.load(held, zero, kSide, false);
  by.load(held, zero + kCount, kSide, false);
  made.scale(by);
  k.barrier();
  made.store(held, zero, kSide);
  k.barrier();
  k.unrolled(kCount / kLanes, [&](const Expr& i) { d.store(i * kLanes + k.thread(), held[i * kLanes + k.thread()]); });
  return k.finish();
}

TEST(Matrices, AreScaledByElement) {
  std::vector<float> a, d(kSide * kSide);
  for (int i = 0; i < kSide * kSide; ++i) a.push_back(static_cast<float>(std::sin(0.7 * i)));
  run(scaled_rows(), {a, d});
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(d[i], a[i] * static_cast<float>(i / kSide)) << i;
}

TEST(Matrices, AreMultipliedFromEitherOrder) {
  for (const bool left : {false, true})
    for (const bool right : {false, true}) {
      expect_product<F16>({.left_transposed = left, .right_transposed = right});
      expect_product<BF16>({.left_transposed = left, .right_transposed = right});
      expect_product<BF16>({.left_transposed = left, .right_transposed = right, .words = true});
    }
  expect_product<F16>({.rows = 8});
}

std::string said_of_warp(FunctionRef<void(Builder&, const Shared&, const Matrix&)> body, int threads = kLanes) {
  return sentence_of([&] {
    Builder k("wrong", threads);
    const Buffer x = k.output(DType::F32);
    const Fragment shape{kSide, kSide, kSide, DType::F16, DType::F32};
    const Shared held = k.shared(DType::F32, kSide * kSide);
    const Matrix sums = k.matrix(Matrix::Use::Sums, shape);
    body(k, held, sums);
    x.store(k.thread(), held[k.thread()]);
    const Kernel kernel = k.finish();
    std::vector<float> to(static_cast<std::size_t>(threads));
    run(kernel, {to});
    return 0;
  });
}

TEST(Matrices, BelongToWholeWarpsThatSetThem) {
  const auto zero = [](Builder& k) { return k.literal(DType::I32, 0); };
  EXPECT_EQ(said_of_warp([&](Builder& k, const Shared& held, const Matrix& sums) {
              sums.clear();
              sums.store(held, zero(k), kSide);
              k.barrier();
            }),
            "");
  EXPECT_EQ(said_of_warp([&](Builder& k, const Shared& held, const Matrix& sums) { sums.store(held, zero(k), kSide); }),
            "DeviceError: kernel wrong, block 0: the warp of thread 0 uses matrix 0, which it never set");
  EXPECT_EQ(said_of_warp(
                [&](Builder& k, const Shared&, const Matrix& sums) { k.when(k.thread() < 20, [&] { sums.clear(); }); }),
            "DeviceError: kernel wrong, block 0: only 20 of the threads 0 to 31 get to a matrix");
  EXPECT_EQ(said_of_warp([&](Builder& k, const Shared& held, const Matrix& sums) {
              sums.clear();
              sums.store(held, k.thread() * 0 + k.thread() / 31, kSide);
            }),
            "DeviceError: kernel wrong, block 0: threads 0 and 31 of a warp take different places for one matrix");
  EXPECT_EQ(said_of_warp([&](Builder& k, const Shared& held, const Matrix& sums) {
              sums.clear();
              sums.store(held, zero(k) + 1, kSide);
            }),
            "DeviceError: kernel wrong, block 0: thread 31 touches element 256 of shared array 0, which has 256");
  // Two warps that store at one place race.
  EXPECT_NE(said_of_warp(
                [&](Builder& k, const Shared& held, const Matrix& sums) {
                  sums.clear();
                  sums.store(held, zero(k), kSide);
                },
                2 * kLanes)
                .find("meet at element 0 of shared array 0 without a barrier"),
            std::string::npos);
}

TEST(Matrices, FitWhatTheyAreMultipliedWith) {
  const auto said = [](FunctionRef<void(Builder&)> body) {
    return sentence_of([&] {
      Builder k("wrong", kLanes);
      body(k);
      return 0;
    });
  };
  const Fragment tall{16, 16, 16, DType::F16, DType::F32}, flat{8, 16, 16, DType::F16, DType::F32};
  EXPECT_EQ(said([&](Builder& k) {
              k.matrix(Matrix::Use::Sums, tall)
                  .add_product(k.matrix(Matrix::Use::Left, flat), k.matrix(Matrix::Use::Right, tall));
            }),
            "ArgumentError: kernel: matrices that do not fit are multiplied");
  EXPECT_EQ(said([&](Builder& k) { k.matrix(Matrix::Use::Sums, tall).scale(k.matrix(Matrix::Use::Sums, flat)); }),
            "ArgumentError: kernel: a matrix of sums is scaled by one of another kind or size");
  EXPECT_EQ(said([&](Builder& k) { k.matrix(Matrix::Use::Left, tall).scale(k.matrix(Matrix::Use::Left, tall)); }),
            "ArgumentError: kernel: a matrix of sums is scaled by one of another kind or size");
  EXPECT_EQ(said([&](Builder& k) {
              k.matrix(Matrix::Use::Left, tall).load(k.shared(DType::F32, 256), k.literal(DType::I32, 0), 16, false);
            }),
            "ArgumentError: kernel: a matrix of float16 is not loaded from float32");
  EXPECT_EQ(said([&](Builder& k) {
              k.matrix(Matrix::Use::Left, tall).load(k.shared(DType::F16, 256), k.literal(DType::I32, 0), 17, false);
            }),
            "ArgumentError: kernel: lines of a matrix begin at multiples of 16 bytes, at an int32 place");
}

TEST(Matrices, AreRefusedWhereTheDeviceHasOthers) {
  const Kernel kernel = product(DType::F16, {});
  const auto refused = [&](std::string_view name) {
    const Profile& profile = *std::ranges::find(profiles(), name, &Profile::name);
    const std::optional<Refusal> refusal = refusal_of(kernel, profile.has, profile.name);
    return refusal ? refusal->sentence : "";
  };
  EXPECT_EQ(refused("simulated:vulkan32"), "");
  EXPECT_EQ(refused("simulated:cuda"),
            "simulated:cuda: kernel product: its warps hold matrices of 16 x 16 float16, which the device has not");
}

TEST(Matrices, ArePrintedAsGlslThatCompilesToValidSpirv) {
  if (expr::complaints_of_glslang("") == expr::kNoValidator) GTEST_SKIP() << expr::kNoValidator;
  for (const DType half : {DType::F16, DType::BF16})
    for (const bool words : {false, half == DType::BF16}) {
      const std::string text = print(product(half, {.right_transposed = true, .words = words}), kVulkanTarget).text;
      EXPECT_EQ(expr::complaints_of_glslang(text), "") << text;
      EXPECT_NE(text.find("coopMatMulAddNV(f0, f1, f2)"), std::string::npos) << text;
    }
  EXPECT_EQ(expr::complaints_of_glslang(print(scaled_rows(), kVulkanTarget).text), "");
  EXPECT_EQ(sentence_of([] { return print(product(DType::F16, {}), kCudaTarget); }),
            "ArgumentError: product: CUDA has no matrices that warps hold");
}

}  // namespace
}  // namespace kiln::gpu
