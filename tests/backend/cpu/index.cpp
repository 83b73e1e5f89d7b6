#include "tests/backend/cpu/grid.hpp"

namespace kiln {
namespace {

class CpuIndex : public OnEachCpu {
 protected:
  Value indices(const Shape& shape, std::initializer_list<std::int64_t> values, DType dtype = DType::I64) {
    return from_data(TensorData::of<std::int64_t>(shape, values).to(dtype), device);
  }
  static std::string message(const std::function<void()>& f) {
    try {
      f();
    } catch (const Error& error) { return error.what(); }
    return "no error";
  }
};
KILN_ON_EACH_CPU(CpuIndex);

TEST_P(CpuIndex, GathersAlongADimensionFromAnyLayout) {
  for (const DType dtype : {DType::F64, DType::F32, DType::BF16, DType::I8}) {
    const Value x = scattered(device, {3, 4, 2}, dtype, -9, 9),
                index = indices({3, 2, 2}, {0, 1, 3, 3, 2, 0, 1, 1, 0, 0, 3, 2});
    const Grid from(x), at(index);
    const Grid expected =
        grid({3, 2, 2}, [&](auto& i) { return from[{i[0], static_cast<std::int64_t>(at[i]), i[2]}]; });
    EXPECT_EQ(difference(gather(x, 1, index).data(), expected.to(dtype), {0, 0}), "");
    EXPECT_EQ(difference(gather(x, -2, cast(index, DType::U8)).data(), expected.to(dtype), {0, 0}), "");
  }
}

TEST_P(CpuIndex, AddsWhereItWouldGather) {
  const Value x = scattered(device, {3, 4}, DType::F32), index = transpose(indices({2, 2}, {0, 2, 0, 1})),
              source = numbers(device, {2, 2}, DType::F32);
  Grid expected(x);
  const Grid at(index), from(source);
  from.each([&](const Dims& i) { expected[{static_cast<std::int64_t>(at[i]), i[1]}] += from[i]; });
  EXPECT_EQ(difference(scatter_add(x, 0, index, source).data(), expected.to(DType::F32)), "");
}

TEST_P(CpuIndex, SelectsSlicesByAnIndexOfAnyRank) {
  const Value x = scattered(device, {2, 5, 3}, DType::F32);
  const Grid from(x);
  const Value index = indices({2, 2}, {4, 0, 0, 2}, DType::I32);
  const Grid at(index);
  EXPECT_EQ(difference(select(x, 1, index).data(),
                       grid({2, 2, 2, 3},
                            [&](auto& i) { return from[{i[0], static_cast<std::int64_t>(at[{i[1], i[2]}]), i[3]}]; })
                           .to(DType::F32),
                       {0, 0}),
            "");
  EXPECT_EQ(select(x, 1, indices({}, {3})).data().shape(), (Shape{2, 3}));
  EXPECT_EQ(select(x, 1, indices({0}, {})).data().shape(), (Shape{2, 0, 3}));
}

TEST_P(CpuIndex, AddsSlicesWhereItWouldSelect) {
  const Value x = scattered(device, {2, 5, 3}, DType::F32), index = indices({3}, {4, 0, 4}),
              source = scattered(device, {2, 3, 3}, DType::F32);
  Grid expected(x);
  const Grid at(index), from(source);
  from.each([&](const Dims& i) { expected[{i[0], static_cast<std::int64_t>(at[{i[1]}]), i[2]}] += from[i]; });
  EXPECT_EQ(difference(select_add(x, 1, index, source).data(), expected.to(DType::F32)), "");
}

TEST_P(CpuIndex, SaysWhichIndexIsOutOfRange) {
  const Value x = zeros({10, 2}, device), source = zeros({1, 2}, device);
  EXPECT_EQ(message([&] {
              select(x, 0, indices({2}, {3, 12}));
              device.sync();
            }),
            "IndexError: select: index 12 is out of range for dimension 0 of size 10");
  EXPECT_EQ(message([&] { select_add(x, 0, indices({1}, {-1}), source); }),
            "IndexError: select_add: index -1 is out of range for dimension 0 of size 10");
  EXPECT_EQ(message([&] { gather(x, 1, indices({1, 1}, {2})); }),
            "IndexError: gather: index 2 is out of range for dimension 1 of size 2");
  EXPECT_EQ(message([&] { scatter_add(x, 0, indices({1, 2}, {0, 10}), source); }),
            "IndexError: scatter_add: index 10 is out of range for dimension 0 of size 10");
}

}  // namespace
}  // namespace kiln
