// Reading and writing by index against plain loops: duplicates, wrong indices, every way of writing, long lists that are
// sorted by digits.
#include <cmath>
#include <limits>
#include <tuple>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"
#include "kiln/core/wrapping.hpp"
#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/index/index.hpp"
#include "tests/backend/gpu/family/device.hpp"

namespace kiln::test {
namespace {

constexpr DType kIndexTypes[] = {DType::I64, DType::I32, DType::I16, DType::I8,
                                 DType::U64, DType::U32, DType::U16, DType::U8};

Value on(const TensorData& data) { return from_data(data, simulated()); }

TEST(GpuIndex, SelectsSlicesOfAnyWidth) {
  for (const DType dtype : kAllTypes)
    for (const std::int64_t inner : {1, 3, 4, 16, 40})
      for (const std::int64_t outer : {1, 2}) {
        const Shape shape{outer, 11, inner};
        const TensorData x = whole_numbers(shape, dtype, 100), index = indices({3, 7}, 11);
        const TensorData z = select(on(x), 1, on(index)).data();
        ASSERT_EQ(z.shape(), (Shape{outer, 3, 7, inner}));
        each_index(z.shape(), [&](const Dims& at) {
          const std::int64_t row = index.as<std::int64_t>()[static_cast<std::size_t>(at[1] * 7 + at[2])];
          ASSERT_EQ(bits_at(z, place_of(z.shape(), at)), bits_at(x, place_of(shape, {at[0], row, at[3]})));
        });
      }
}

TEST(GpuIndex, SelectsFromViewsByViews) {
  const TensorData x = whole_numbers({12, 10, 9}, DType::F32, 1000), index = indices({5, 4}, 10);
  const TensorData z = select(permute(on(x), {2, 1, 0}), 1, permute(on(index), {1, 0})).data();
  each_index(z.shape(), [&](const Dims& at) {
    const std::int64_t row = index.as<std::int64_t>()[static_cast<std::size_t>(at[2] * 4 + at[1])];
    ASSERT_EQ(bits_at(z, place_of(z.shape(), at)), bits_at(x, place_of(x.shape(), {at[3], row, at[0]})));
  });
}

TEST(GpuIndex, SelectsPartsOfLines) {
  const TensorData x = whole_numbers({11, 41}, DType::F32, 1000), index = indices({6}, 11);
  const TensorData z = select(emit(op::Slice{{0, 0}, {1, 1}, {11, 40}}, {on(x)}), 0, on(index)).data();
  each_index(z.shape(), [&](const Dims& at) {
    const std::int64_t row = index.as<std::int64_t>()[static_cast<std::size_t>(at[0])];
    ASSERT_EQ(bits_at(z, place_of(z.shape(), at)), bits_at(x, place_of(x.shape(), {row, at[1]})));
  });
}

TEST(GpuIndex, GathersByEveryTypeOfIndex) {
  for (const DType type : kIndexTypes)
    for (const int dim : {0, 1, 2}) {
      const Shape shape{6, 7, 8};
      Shape picked = {5, 4, 8};
      picked[dim] = 10;
      const TensorData x = whole_numbers(shape, DType::F16, 1000), index = indices(picked, shape[dim], 3, type);
      const TensorData z = gather(on(x), dim, on(index)).data();
      each_index(picked, [&](const Dims& at) {
        Dims from = at;
        from[dim] = static_cast<std::int64_t>(index.at(static_cast<std::int64_t>(place_of(picked, at))));
        ASSERT_EQ(bits_at(z, place_of(picked, at)), bits_at(x, place_of(shape, from))) << type;
      });
    }
}

TEST(GpuIndex, GathersWholeLinesByOneIndex) {
  const TensorData x = whole_numbers({6, 16}, DType::F32, 1000), index = indices({9, 1}, 6);
  const TensorData z = gather(on(x), 0, expand(on(index), {9, 16})).data();
  each_index(z.shape(), [&](const Dims& at) {
    const std::int64_t row = index.as<std::int64_t>()[static_cast<std::size_t>(at[0])];
    ASSERT_EQ(bits_at(z, place_of(z.shape(), at)), bits_at(x, place_of(x.shape(), {row, at[1]})));
  });
}

// ---- writing -----------------------------------------------------------------------------------------------------------

/// What one write makes of an element: in float32 for halves, in int64 (which wraps to the same bits) for integers.
template <class C>
C updated(Update update, C a, C b) {
  switch (update) {
    case Update::Assign: return b;
    case Update::Add: return wrapping_add(a, b);
    case Update::Mul: return wrapping_multiply(a, b);
    case Update::Min: return b != b || b < a ? b : a;
    case Update::Max: return b != b || b > a ? b : a;
  }
  return b;
}

/// x with source[i] written to each place to[i], one after the other.
TensorData written(const TensorData& x, const TensorData& source, Update update, const std::vector<std::size_t>& to) {
  const auto by = [&]<class C>(TypeTag<C>) {
    std::vector<C> all = x.to_vector<C>();
    const std::vector<C> from = source.to_vector<C>();
    for (std::size_t i = 0; i < to.size(); ++i) all[to[i]] = updated(update, all[to[i]], from[i]);
    return TensorData::of<C>(x.shape(), std::span<const C>(all)).to(x.dtype());
  };
  if (x.dtype() == DType::F64) return by(TypeTag<double>{});
  if (is_float(x.dtype())) return by(TypeTag<float>{});
  return x.dtype() == DType::U64 ? by(TypeTag<std::uint64_t>{}) : by(TypeTag<std::int64_t>{});
}

/// Numbers whose sums depend on their order, where they are floats.
TensorData uneven(const Shape& shape, DType dtype, unsigned seed) {
  if (!is_float(dtype)) return whole_numbers(shape, dtype, dtype == DType::Bool ? 2 : 100, seed);
  std::mt19937 random(seed);
  std::vector<double> all(places(shape));
  for (double& each : all) {
    each = std::ldexp(static_cast<double>(random() % 4096) - 2048, static_cast<int>(random() % 12) - 12);
    if (random() % 200 == 0) each = std::numeric_limits<double>::quiet_NaN();
  }
  return TensorData::of<double>(shape, std::span<const double>(all)).to(dtype);
}

constexpr Update kUpdates[] = {Update::Assign, Update::Add, Update::Mul, Update::Min, Update::Max};

bool same_numbers(const TensorData& a, const TensorData& b) { return difference(a, b, {0, 0}).empty(); }

TEST(GpuIndex, ScattersInTheOrderOfTheSource) {
  for (const DType dtype : kAllTypes)
    for (const Update update : kUpdates)
      for (const int dim : {0, 1}) {
        const Shape shape{9, 20}, written_shape = dim ? Shape{7, 60} : Shape{50, 18};
        const TensorData x = uneven(shape, dtype, 1), source = uneven(written_shape, dtype, 2),
                         index = indices(written_shape, shape[dim]);
        std::vector<std::size_t> to;
        each_index(written_shape, [&](const Dims& at) {
          Dims place = at;
          place[dim] = index.as<std::int64_t>()[to.size()];
          to.push_back(place_of(shape, place));
        });
        const TensorData z = scatter(on(x), dim, on(index), on(source), update).data();
        ASSERT_TRUE(same_numbers(z, written(x, source, update, to))) << dtype << " " << static_cast<int>(update);
      }
}

TEST(GpuIndex, UpdatesSlicesInTheOrderOfTheSource) {
  for (const DType dtype : kAllTypes)
    for (const Update update : kUpdates)
      for (const std::int64_t inner : {1, 5, 16}) {
        const Shape shape{2, 13, inner}, selected{2, 70, inner};
        const TensorData x = uneven(shape, dtype, 3), source = uneven(selected, dtype, 4), index = indices({70}, 13);
        std::vector<std::size_t> to;
        each_index(selected, [&](const Dims& at) {
          const std::int64_t row = index.as<std::int64_t>()[static_cast<std::size_t>(at[1])];
          to.push_back(place_of(shape, {at[0], row, at[2]}));
        });
        const TensorData z = select_assign(on(x), 1, on(index), on(source), update).data();
        ASSERT_TRUE(same_numbers(z, written(x, source, update, to))) << dtype << " " << static_cast<int>(update);
      }
}

TEST(GpuIndex, AddsLongListsInTheirOrder) {
  // More than a block sorts; one row has a third of all.
  const std::int64_t count = 9000, rows = 300;
  TensorData index = indices({count}, rows);
  for (std::int64_t i = 0; i < count; i += 3) index.as<std::int64_t>()[static_cast<std::size_t>(i)] = 7;
  for (const std::int64_t inner : {1, 4}) {
    const TensorData x = uneven({rows, inner}, DType::F32, 5), source = uneven({count, inner}, DType::F32, 6);
    std::vector<std::size_t> to;
    for (std::int64_t i = 0; i < count * inner; ++i)
      to.push_back(
          static_cast<std::size_t>(index.as<std::int64_t>()[static_cast<std::size_t>(i / inner)] * inner + i % inner));
    const TensorData z = select_add(on(x), 0, on(index), on(source)).data();
    ASSERT_TRUE(same_numbers(z, written(x, source, Update::Add, to)));
  }
}

TEST(GpuIndex, WritesViewsAndNothing) {
  const TensorData x = whole_numbers({4, 6}, DType::F32, 100), index = indices({3}, 6), none({0}, DType::I64);
  const TensorData source = whole_numbers({3, 4}, DType::F32, 100, 2);
  const TensorData z = select_add(permute(on(x), {1, 0}), 0, on(index), on(source)).data();
  std::vector<std::size_t> to;
  for (std::int64_t i = 0; i < 12; ++i)
    to.push_back(static_cast<std::size_t>(index.as<std::int64_t>()[static_cast<std::size_t>(i / 4)] * 4 + i % 4));
  EXPECT_TRUE(same_numbers(z, written(permute(on(x), {1, 0}).data(), source, Update::Add, to)));
  EXPECT_TRUE(same_bytes(select_add(on(x), 0, on(none), on(TensorData({0, 6}, DType::F32))).data(), x));
}

// ---- wrong data --------------------------------------------------------------------------------------------------------

template <class F>
std::string sentence_of(F&& f) {
  try {
    f();
  } catch (const Error& error) { return std::string(without_calls(error.what())); }
  return "";
}

TEST(GpuIndex, SaysWhichIndexIsWrongAsTheProcessorDoes) {
  const TensorData x = whole_numbers({4, 5}, DType::F32, 100), empty({0, 5}, DType::F32);
  const auto list = [](std::initializer_list<std::int64_t> all) {
    return TensorData::of<std::int64_t>({static_cast<std::int64_t>(all.size())}, all);
  };
  const TensorData bad = list({1, 3, 4, -1, 9}), lines = TensorData::of<std::int64_t>({2, 2}, {0, 7, 5, 1});
  const auto each = [&](const Device& device, auto&& show) {
    const auto at = [&](const TensorData& data) { return from_data(data, device); };
    show([&] { return select(at(x), 0, at(bad)); });
    show([&] { return select(at(empty), 1, at(list({1, 5, 6}))); });
    show([&] { return select(at(x), 1, permute(at(lines), {1, 0})); });
    show([&] { return gather(at(x), 1, at(lines)); });
    show([&] { return gather(at(x), 0, expand(at(list({2, 4})), {4, 2})); });
    show([&] {
      return gather(at(TensorData({8, 16}, DType::F32)), 0, expand(reshape(at(list({2, 8})), {2, 1}), {2, 16}));
    });
    show([&] { return scatter(at(x), 1, at(lines), at(TensorData({2, 2}, DType::F32))); });
    show([&] { return scatter_add(at(x), 1, at(lines), at(TensorData({2, 2}, DType::F32))); });
    show([&] { return select_add(at(x), 0, at(bad), at(TensorData({5, 5}, DType::F32))); });
    show([&] { return select_assign(at(x), 0, at(bad), at(TensorData({5, 5}, DType::F32))); });
    show([&] { return index_select(at(x), 0, at(bad)); });
    show([&] { return take(at(x), at(list({3, -20, -21, 20}))); });
    show([&] { return ravel_index(Values{at(list({3, -5})), at(list({8, 0}))}, {4, 6}); });
    show([&] { return emit(op::Nonzero{2}, {cast(at(x) * 0 + 1, DType::Bool)}); });
    show([&] { return emit(op::Nonzero{2}, {cast(at(x) * 0, DType::Bool)}); });
    show([&] { return emit(op::Within{0.5, 3}, {at(TensorData::of<float>({4}, {1, 2, 3.25f, -7}))}); });
  };
  std::vector<std::string> expected, found;
  each(Device::parse("reference"), [&](auto&& f) { expected.push_back(sentence_of([&] { f().data(); })); });
  each(simulated(), [&](auto&& f) {
    // Known where the data are read, and not before.
    const Value result = f();
    found.push_back(sentence_of([&] { result.data(); }));
  });
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NE(expected[i], "") << i;
    EXPECT_EQ(found[i], expected[i]) << i;
  }
}

TEST(GpuIndex, FailsOnlyWhatIsMadeOfTheWrongIndex) {
  const Value x = on(whole_numbers({4, 5}, DType::F32, 100));
  const Value bad = select(x, 0, on(TensorData::of<std::int64_t>({1}, {4}))), good = select(x, 0, on(indices({2}, 4)));
  EXPECT_NE(sentence_of([&] { (bad + 1.0).data(); }), "");
  EXPECT_EQ(sentence_of([&] { good.data(), x.data(); }), "");
  const Value outside = emit(op::Within{0, 1}, {x});
  EXPECT_NE(sentence_of([&] { outside.data(); }), "");
  EXPECT_EQ(sentence_of([&] { x.data(); }), "");
}

TEST(GpuIndex, NamesWhoWasCalledWhereOperationsWait) {
  const Device fused(make_ref<fusion::Fusion>(simulated().handle()));
  const Value x = from_data(TensorData({4, 5}, DType::F32), fused),
              at = from_data(TensorData::of<std::int64_t>({2}, {3, 20}), fused);
  EXPECT_EQ(sentence_of([&] { take(x + 1.0, at).data(); }),
            "IndexError: take: index 20 is out of range for size 20 in [20]");
}

TEST(GpuIndex, ForgetsIndicesThatWereRight) {
  const auto checks_of = [](const Value& value) {
    return static_cast<const gpu::Memory&>(*value.node()->storage).checks().size();
  };
  const Value x = on(whole_numbers({4, 5}, DType::F32, 100)), chosen = select(x, 0, on(indices({2}, 4)));
  EXPECT_EQ(checks_of(chosen + 1.0), 1u);
  EXPECT_EQ(checks_of(select(chosen, 0, on(indices({2}, 2)))), 2u);
  chosen.data();
  EXPECT_EQ(checks_of(chosen + 1.0), 0u);
  EXPECT_EQ(checks_of(select(chosen, 0, on(indices({2}, 2)))), 1u);
}

// ---- places ------------------------------------------------------------------------------------------------------------

TEST(GpuIndex, FindsWhatIsNotZero) {
  for (const std::int64_t count : {1, 7, 8, 2047, 2048, 2049, 10000}) {
    for (const int distinct : {1, 2}) {  // one: all false
      TensorData flags = whole_numbers({count}, DType::Bool, distinct, 4);
      std::vector<std::int64_t> expected;
      for (std::int64_t i = 0; i < count; ++i)
        if (flags.at(i) != 0) expected.push_back(i);
      const TensorData z = flat_nonzero(on(flags)).data();
      EXPECT_TRUE(std::ranges::equal(z.as<std::int64_t>(), expected)) << count;
    }
  }
}

TEST(GpuIndex, CountsIndicesBelowZeroFromTheEnd) {
  const TensorData a = TensorData::of<std::int64_t>({3, 1}, {0, -1, 2}), b = TensorData::of<std::int64_t>({2}, {-5, 4});
  const TensorData z = ravel_index(Values{on(a), cast(on(b), DType::I8)}, {3, 5}).data();
  const std::int64_t expected[] = {0, 4, 10, 14, 10, 14};
  EXPECT_TRUE(std::ranges::equal(z.as<std::int64_t>(), expected));
}

}  // namespace
}  // namespace kiln::test
