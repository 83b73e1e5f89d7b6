#include <algorithm>

#include "kiln/core/error/trace.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/view/view.hpp"
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
    } catch (const Error& error) { return std::string(without_calls(error.what())); }
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
  EXPECT_EQ(message([&] { select(zeros({3, 0}, device), 0, indices({1}, {3})); }),
            "IndexError: select: index 3 is out of range for dimension 0 of size 3");
  EXPECT_EQ(message([&] { select_add(x, 0, indices({1}, {-1}), source); }),
            "IndexError: select_add: index -1 is out of range for dimension 0 of size 10");
  EXPECT_EQ(message([&] { gather(x, 1, indices({1, 1}, {2})); }),
            "IndexError: gather: index 2 is out of range for dimension 1 of size 2");
  EXPECT_EQ(message([&] { scatter_add(x, 0, indices({1, 2}, {0, 10}), source); }),
            "IndexError: scatter_add: index 10 is out of range for dimension 0 of size 10");
}

// ---- the fast kernels against the plain ones: the same bits, on any number of threads ------------------------------

/// Indices in [0, size), a few of them far more often than the others.
Value skewed(const Shape& shape, std::int64_t size, DType dtype = DType::I64) {
  Random random(static_cast<std::uint64_t>(numel(shape) + size));
  return from_data(grid(shape,
                        [&](const Dims&) {
                          const std::int64_t of = random.below(4) == 0 ? std::min<std::int64_t>(size, 3) : size;
                          return static_cast<double>(random.below(of));
                        })
                       .to(dtype),
                   Device::cpu());
}

/// f(operands) on the device of fast kernels, with several numbers of threads, gives the bits of the reference.
void expect_bits_of_reference(const std::string& what, const Values& operands,
                              const std::function<Value(const Values&)>& f) {
  Values plain;
  for (const Value& operand : operands) plain.push_back(to_device(operand, Device::parse("reference")));
  const TensorData expected = f(plain).data();
  const int before = num_threads();
  for (const int threads : {1, 2, 7}) {
    set_num_threads(threads);
    TensorData found = f(operands).data();
    EXPECT_TRUE(std::ranges::equal(found.bytes(), expected.bytes())) << what << ", " << threads << " threads";
  }
  set_num_threads(before);
}

constexpr Update kUpdates[] = {Update::Assign, Update::Add, Update::Mul, Update::Min, Update::Max};
constexpr DType kTypes[] = {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32, DType::U8};

TEST(FastIndex, ReadsTheBitsOfTheReference) {
  const Device cpu = Device::cpu();
  for (const DType dtype : kTypes) {
    const Value x = scattered(cpu, {40, 300, 5}, dtype, -9, 9), line = numbers(cpu, {70000}, dtype, -9, 9);
    for (const int dim : {0, 1, 2}) {
      Shape shape{40, 300, 5};
      shape[dim] = 67;
      expect_bits_of_reference(text("gather ", dtype, " ", dim), {x, skewed(shape, x.dim(dim))},
                               [&](const Values& in) { return gather(in[0], dim, in[1]); });
      expect_bits_of_reference(text("select ", dtype, " ", dim), {x, skewed({6, 50}, x.dim(dim), DType::U8)},
                               [&](const Values& in) { return select(in[0], dim, in[1]); });
    }
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{3, 2}})  // few of what lies across memory
      for (const auto& [dim, size] : {std::pair{0, 300}, std::pair{1, 40}})
        expect_bits_of_reference(text("select of few ", dtype, " ", dim, " ", shape), {x, skewed(shape, size)},
                                 [&](const Values& in) { return select(permute(in[0], {1, 0, 2}), dim, in[1]); });
    const Value table = numbers(cpu, {2, 300, 500}, dtype, -9, 9);
    expect_bits_of_reference(text("gather of long rows ", dtype), {table, skewed({1, 200, 500}, 300)},
                             [&](const Values& in) { return gather(in[0], 1, in[1]); });
    expect_bits_of_reference(text("take ", dtype), {line, skewed({3, 50000}, 70000, DType::I32)},
                             [&](const Values& in) { return take(in[0], in[1] - 70000); });
    expect_bits_of_reference(text("select of a narrowed table ", dtype), {x, skewed({900}, 30)}, [&](const Values& in) {
      return select(narrow(reshape(in[0], {60, 1000}), 1, 7, 600), 0, in[1]);
    });
    expect_bits_of_reference(text("flat_nonzero ", dtype), {line},
                             [&](const Values& in) { return flat_nonzero(gt(in[0], 2)); });
  }
}

TEST(FastIndex, UpdatesToTheBitsOfTheReference) {
  const Device cpu = Device::cpu();
  struct Case {
    const char* what;
    Shape x, index;
    int dim;
  };
  const Case scatters[] = {{"into few places of a vector", {500}, {100000}, 0},
                           {"into many places of a vector", {90000}, {100001}, 0},
                           {"into rows", {700, 3}, {40000, 3}, 0},
                           {"along rows", {60, 90}, {50, 2000}, 1},
                           {"down columns", {50, 130}, {900, 130}, 0},
                           {"inside", {3, 400, 70}, {3, 500, 70}, 1}};
  const Case selects[] = {{"narrow slices", {3000, 3}, {40000}, 0},   {"wide slices", {300, 700}, {500}, 0},
                          {"middling slices", {5000, 20}, {9000}, 0}, {"single elements of rows", {70, 200}, {900}, 1},
                          {"a stack", {9, 40, 65}, {300}, 1},         {"a vector", {300}, {70000}, 0}};
  for (const DType dtype : kTypes)
    for (const Update update : kUpdates) {
      const double low = update == Update::Mul ? 0.9 : -9, high = update == Update::Mul ? 1.15 : 9;
      for (const Case& it : scatters)
        expect_bits_of_reference(text("scatter ", it.what, " ", dtype, " ", static_cast<int>(update)),
                                 {numbers(cpu, it.x, dtype, low, high), skewed(it.index, it.x[it.dim]),
                                  numbers(cpu, it.index, dtype, low, high)},
                                 [&](const Values& in) { return scatter(in[0], it.dim, in[1], in[2], update); });
      for (const Case& it : selects) {
        Shape source = it.x;
        source[it.dim] = it.index[0];
        expect_bits_of_reference(text("select ", it.what, " ", dtype, " ", static_cast<int>(update)),
                                 {numbers(cpu, it.x, dtype, low, high), skewed(it.index, it.x[it.dim]),
                                  numbers(cpu, source, dtype, low, high)},
                                 [&](const Values& in) { return select_assign(in[0], it.dim, in[1], in[2], update); });
      }
    }
}

TEST(FastIndex, AddsWindowsToTheBitsOfTheReference) {
  for (const DType dtype : {DType::F64, DType::F32, DType::BF16, DType::I64}) {
    const Value wide = scattered(Device::cpu(), {3, 30, 70, 5}, dtype, -9, 9),
                line = numbers(Device::cpu(), {9000, 3}, dtype, -9, 9);
    expect_bits_of_reference(text("fold inside ", dtype), {wide},
                             [](const Values& in) { return fold(in[0], 1, 34, 1); });
    expect_bits_of_reference(text("fold with gaps ", dtype), {wide},
                             [](const Values& in) { return fold(in[0], 2, 2 * 69 + 3 * 4 + 2, 2, 3); });
    expect_bits_of_reference(text("fold into rows ", dtype), {permute(wide, {1, 0, 2, 3})},
                             [](const Values& in) { return fold(in[0], 0, 34, 1); });
    expect_bits_of_reference(text("fold into a line ", dtype), {line},
                             [](const Values& in) { return fold(in[0], 0, 27000, 3); });
  }
}

TEST(FastIndex, FindsTheFirstIndexOutOfRangeOfMany) {
  const Value x = zeros({100, 4}, Device::cpu()), source = zeros({200000, 4}, Device::cpu());
  std::vector<std::int64_t> places(200000, 5);
  places[150000] = -7;
  places[199999] = std::numeric_limits<std::int64_t>::min();
  const Value index =
      from_data(TensorData::of<std::int64_t>({200000}, std::span<const std::int64_t>(places)), Device::cpu());
  const auto sentence = [](const std::function<void()>& f) -> std::string {
    try {
      f();
    } catch (const Error& error) { return std::string(without_calls(error.what())); }
    return "no error";
  };
  const std::string rest = ": index -7 is out of range for dimension 0 of size 100";
  EXPECT_EQ(sentence([&] { select(x, 0, index); }), "IndexError: select" + rest);
  EXPECT_EQ(sentence([&] { select_add(x, 0, index, source); }), "IndexError: select_add" + rest);
  EXPECT_EQ(sentence([&] { gather(x, 0, unsqueeze(index, 1)); }), "IndexError: gather" + rest);
  EXPECT_EQ(sentence([&] { scatter_add(at(x, 1, 0), 0, index, at(source, 1, 0)); }), "IndexError: scatter_add" + rest);
  EXPECT_EQ(sentence([&] { take(at(x, 1, 0), narrow(index, 0, 199999, 1)); }),
            "IndexError: take: index -9223372036854775808 is out of range for size 100 in [100]");
}

}  // namespace
}  // namespace kiln
