// What a device's library is asked for, where it has one that knows convolutions: the same comes out as by our own kernels.
#include "tests/backend/gpu/convolve.hpp"
#include "tests/backend/gpu/family/library.hpp"

namespace kiln::test {
namespace {

/// The simulated GPU with a library.
class WithLibrary final : public ForwardingDriver {
 public:
  bool convolve(const gpu::Convolution& convolution) override {
    asked.push_back(convolution);
    for (int i = 0; i < convolution.stride.size(); ++i) {
      const std::int64_t reach = convolution.dilation[i] * (convolution.weight.sizes[i + 2] - 1) + 1;
      const std::int64_t padded = convolution.x.sizes[i + 2] + convolution.padding[i] + convolution.padding_after[i];
      EXPECT_EQ(convolution.y.sizes[i + 2], (padded - reach) / convolution.stride[i] + 1);
    }
    convolve_by_loops(convolution);
    return true;
  }
  inline static std::vector<gpu::Convolution> asked;
};

const Device& with_library() {
  static const Device* const device = new Device(make_ref<gpu::Gpu>(make_ref<WithLibrary>()));
  return *device;
}

/// Small whole numbers, of which every sum is exact, row-major or with channels last.
Value operand(const Device& device, const Shape& shape, DType dtype, unsigned seed, bool channels_last) {
  const int rank = shape.size();
  if (!channels_last || rank < 3) return from_data(whole_numbers(shape, dtype, 5, seed), device);
  Shape last{shape[0]};
  Dims order{0, rank - 1};
  for (int dim = 2; dim < rank; ++dim) {
    last.push_back(shape[dim]);
    order.push_back(dim - 1);
  }
  last.push_back(shape[1]);
  return permute(from_data(whole_numbers(last, dtype, 5, seed), device), order);
}

void expect_same(const op::Op& op, const std::vector<Shape>& shapes, DType dtype, gpu::Convolution::Kind kind) {
  for (const bool channels_last : {false, true}) {
    const std::string which = text(dtype, " ", shapes[0], " ", shapes[1], channels_last ? " channels last" : "");
    const auto made_on = [&](const Device& device) {
      std::vector<Value> in;
      for (const Shape& shape : shapes)
        in.push_back(operand(device, shape, dtype, static_cast<unsigned>(in.size() + 1), channels_last));
      return emit(op, in).data();
    };
    WithLibrary::asked.clear();
    EXPECT_TRUE(same_bytes(made_on(with_library()), made_on(simulated()))) << which;
    ASSERT_EQ(WithLibrary::asked.size(), 1u) << which;
    EXPECT_EQ(WithLibrary::asked[0].kind, kind) << which;
    // Images of halves go there in the order that tensor cores take.
    const bool turned = size_of(dtype) == 2 && shapes[0].size() > 3;
    EXPECT_EQ(WithLibrary::asked[0].x.strides[1] == 1, channels_last || turned) << which;
  }
}

struct Case {
  op::Conv conv;
  Shape x, weight, y;
};
const Case kCases[] = {
    {{{1}, {1}, {1}, {1}, 1}, {2, 3, 9}, {4, 3, 3}, {2, 4, 9}},
    {{{2, 1}, {1, 0}, {0, 2}, {1, 2}, 1}, {2, 3, 7, 8}, {4, 3, 3, 2}, {2, 4, 3, 8}},
    {{{1, 2}, {0, 1}, {0, 1}, {1, 1}, 2}, {1, 4, 5, 6}, {6, 2, 2, 3}, {1, 6, 4, 3}},
    {{{2, 1, 1}, {1, 1, 0}, {1, 1, 0}, {1, 1, 1}, 1}, {2, 2, 4, 3, 3}, {3, 2, 3, 3, 2}, {2, 3, 2, 3, 2}},
};

TEST(GpuConvLibrary, MakesWhatOurKernelsMake) {
  using enum gpu::Convolution::Kind;
  for (const Case& is : kCases)
    for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
      const Spatial sizes(is.x.begin() + 2, is.x.end()), kernel(is.weight.begin() + 2, is.weight.end());
      expect_same(is.conv, {is.x, is.weight}, dtype, Forward);
      expect_same(is.conv, {is.x, is.weight, Shape{is.weight[0]}}, dtype, Forward);
      expect_same(op::ConvTranspose{is.conv, sizes}, {is.y, is.weight}, dtype, DataGradient);
      expect_same(op::ConvWeightGrad{is.conv, kernel}, {is.x, is.y}, dtype, WeightGradient);
    }
}

TEST(GpuConvLibrary, IsNotAskedForWhatLiesApart) {
  const op::Conv conv{{1}, {0}, {0}, {1}, 1};
  const auto found = [&](const Device& device) {
    const Value y = expand(from_data(whole_numbers({1, 1, 1}, DType::F32, 5), device), {2, 4, 7});
    return emit(op::ConvWeightGrad{conv, {3}}, {from_data(whole_numbers({2, 3, 9}, DType::F32, 5), device), y}).data();
  };
  WithLibrary::asked.clear();
  EXPECT_TRUE(same_bytes(found(with_library()), found(simulated())));
  EXPECT_TRUE(WithLibrary::asked.empty());
}

}  // namespace
}  // namespace kiln::test
