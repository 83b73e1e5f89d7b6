// Copies between orders: every size of tile and word, lines that are and are not aligned.
#include "tests/backend/gpu/family/device.hpp"

namespace kiln::test {
namespace {

/// permute(x, order), moved into row-major order, element by element.
void expect_permuted(const Shape& shape, DType dtype, const Dims& order) {
  const TensorData x = whole_numbers(shape, dtype, 120, 3);
  const Value seen = permute(from_data(x, simulated()), order);
  const TensorData z = seen.data();
  ASSERT_EQ(z.shape(), seen.shape());
  each_index(z.shape(), [&](const Dims& index) {
    Dims from = index;
    for (int i = 0; i < order.size(); ++i) from[order[i]] = index[i];
    ASSERT_EQ(bits_at(z, place_of(z.shape(), index)), bits_at(x, place_of(shape, from)))
        << text(dtype, " ", shape, " by ", order, " at ", index);
  });
}

TEST(GpuCopy, TransposesMatricesOfAnySize) {
  for (const DType dtype : {DType::F64, DType::F32, DType::BF16, DType::I8})
    for (const Shape& shape : {Shape{8, 8}, Shape{64, 64}, Shape{65, 130}, Shape{128, 16}, Shape{9, 70}, Shape{7, 200},
                               Shape{72, 33}, Shape{1, 5}})
      expect_permuted(shape, dtype, {1, 0});
}

TEST(GpuCopy, TransposesAmongOtherDimensions) {
  for (const DType dtype : {DType::F32, DType::F16, DType::Bool}) {
    expect_permuted({3, 40, 70}, dtype, {0, 2, 1});
    expect_permuted({40, 3, 80}, dtype, {2, 1, 0});
    expect_permuted({16, 3, 2, 24}, dtype, {3, 1, 0, 2});
    expect_permuted({2, 3, 4, 32}, dtype, {0, 2, 1, 3});
    expect_permuted({2, 9, 16, 4}, dtype, {0, 3, 1, 2});
  }
}

TEST(GpuCopy, TransposesPartsOfLines) {
  for (const DType dtype : {DType::F32, DType::I8}) {
    const TensorData x = whole_numbers({70, 65}, dtype, 120);
    const Value part = emit(op::Slice{{2, 0}, {1, 1}, {64, 64}}, {from_data(x, simulated())});
    const TensorData z = permute(part, {1, 0}).data();
    each_index(z.shape(), [&](const Dims& at) {
      ASSERT_EQ(bits_at(z, place_of(z.shape(), at)), bits_at(x, place_of(x.shape(), {at[1] + 2, at[0]}))) << dtype;
    });
  }
}

TEST(GpuCopy, TakesSlicesWhereverTheyBegin) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::U8})
    for (const std::int64_t begin : {0, 1, 4, 16}) {
      const Shape shape{5, 64}, size{3, 32};
      const TensorData x = whole_numbers(shape, dtype, 120);
      for (const Dims& step : {Dims{1, 1}, Dims{2, 1}, Dims{1, -1}}) {
        const Dims first{0, step[1] > 0 ? begin : begin + 31};
        const TensorData z = emit(op::Slice{first, step, size}, {from_data(x, simulated())}).data();
        each_index(size, [&](const Dims& index) {
          const Dims from{first[0] + index[0] * step[0], first[1] + index[1] * step[1]};
          ASSERT_EQ(bits_at(z, place_of(size, index)), bits_at(x, place_of(shape, from)))
              << text(dtype, " from ", first, " by ", step);
        });
      }
    }
}

TEST(GpuCopy, RepeatsWhatIsBroadcast) {
  for (const DType dtype : kAllTypes)
    for (const Shape& shape : {Shape{3, 16}, Shape{3, 5}, Shape{1000}, Shape{1}}) {
      const std::int64_t lines = shape.size() == 2 ? shape[0] : 1;
      const TensorData x = whole_numbers(shape.size() == 2 ? Shape{lines, 1} : Shape{1}, dtype, 2, 5);
      const TensorData z = expand(from_data(x, simulated()), shape).data();
      for (std::size_t i = 0; i < places(shape); ++i)
        ASSERT_EQ(bits_at(z, i), bits_at(x, i / (places(shape) / static_cast<std::size_t>(lines)))) << dtype;
    }
}

// ---- what is assembled -----------------------------------------------------------------------------------------------

TEST(GpuAssemble, CatsAlongAnyDimension) {
  for (const DType dtype : {DType::F32, DType::I8})
    for (const int dim : {0, 1, 2}) {
      Shape shapes[] = {{3, 4, 8}, {3, 4, 8}, {3, 4, 8}};
      shapes[0][dim] = 2;
      shapes[1][dim] = 0;
      shapes[2][dim] = 5;
      Values parts;
      std::vector<TensorData> data;
      for (const Shape& shape : shapes) {
        data.push_back(whole_numbers(shape, dtype, 100, static_cast<unsigned>(parts.size() + 1)));
        parts.push_back(from_data(data.back(), simulated()));
      }
      parts.back() = permute(from_data(permute(parts.back(), {2, 0, 1}).data(), simulated()), {1, 2, 0});
      const TensorData z = emit(op::Cat{dim}, parts).data();
      each_index(z.shape(), [&](const Dims& index) {
        Dims at = index;
        const std::size_t part = index[dim] < 2 ? 0 : 2;
        if (part) at[dim] -= 2;
        ASSERT_EQ(bits_at(z, place_of(z.shape(), index)), bits_at(data[part], place_of(shapes[part], at)));
      });
    }
}

TEST(GpuAssemble, CatsMoreThanOneKernelTakes) {
  for (const std::int64_t inner : {1, 8}) {
    Values parts;
    std::vector<double> expected(static_cast<std::size_t>(3 * 20 * 21 / 2 * inner));
    std::int64_t begin = 0;
    for (std::int64_t i = 0; i < 21; ++i) {
      const TensorData part = whole_numbers({3, i, inner}, DType::F16, 1000, static_cast<unsigned>(i));
      const Value seen = from_data(part, simulated());
      // The 13th lies otherwise.
      parts.push_back(i == 13 ? permute(from_data(permute(seen, {1, 0, 2}).data(), simulated()), {1, 0, 2}) : seen);
      each_index(part.shape(), [&](const Dims& at) {
        expected[static_cast<std::size_t>((at[0] * 210 + begin + at[1]) * inner + at[2])] =
            part.at(static_cast<std::int64_t>(place_of(part.shape(), at)));
      });
      begin += i;
    }
    const TensorData z = emit(op::Cat{1}, parts).data();
    EXPECT_EQ(z.to_vector<double>(), expected);
  }
}

TEST(GpuAssemble, AssignsSlicesInPlaceOrNot) {
  const TensorData x = whole_numbers({6, 40}, DType::F32, 100), value = whole_numbers({2, 10}, DType::F32, 100, 2);
  const op::SliceAssign op{{4, 38}, {-3, -4}};
  for (const bool last : {false, true}) {
    const Value in[] = {from_data(x, simulated()), from_data(value, simulated())};
    Value out[] = {Value(make_ref<Node>(in[0].node()->desc, simulated()))};
    // Only what a kernel made is taken; an upload is not.
    const Value made[] = {in[0] + 0.0, in[1]};
    simulated().backend().run(op, {made, out, last ? 1u : 0u});
    const TensorData z = out[0].data();
    EXPECT_TRUE(last || same_bytes(made[0].data(), x));
    each_index(z.shape(), [&](const Dims& index) {
      const std::int64_t i = 4 - index[0], j = 38 - index[1];
      const bool inside = i >= 0 && i % 3 == 0 && i / 3 < 2 && j >= 0 && j % 4 == 0 && j / 4 < 10;
      const double expected = inside ? value.at(i / 3 * 10 + j / 4) : x.at(index[0] * 40 + index[1]);
      ASSERT_EQ(z.at(index[0] * 40 + index[1]), expected) << text(index);
    });
  }
}

TEST(GpuAssemble, FoldsWindowsInTheirOrder) {
  for (const auto& [count, size, step, dilation] :
       {std::array{5, 4, 2, 1}, std::array{5, 4, 3, 2}, std::array{4, 3, 5, 1}, std::array{200, 9, 4, 1},
        std::array{3, 1, 1, 7}}) {
    const std::int64_t length = (count - 1) * step + (size - 1) * dilation + 1 + std::min(step - 1, 2), inner = 3,
                       outer = 2;
    std::vector<float> x(static_cast<std::size_t>(outer * count * inner * size));
    std::mt19937 random(9);
    for (float& each : x) each = static_cast<float>(random()) * 0x1p-31f;
    const Shape shape{outer, count, inner, size};
    const TensorData z = emit(op::Fold{1, length, step, dilation},
                              {from_data(TensorData::of<float>(shape, std::span<const float>(x)), simulated())})
                             .data();
    std::vector<float> expected(static_cast<std::size_t>(outer * length * inner), 0);
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t k = 0; k < size; ++k)
        for (std::int64_t w = 0; w < count; ++w)
          for (std::int64_t i = 0; i < inner; ++i)
            expected[static_cast<std::size_t>((o * length + w * step + k * dilation) * inner + i)] +=
                x[static_cast<std::size_t>(((o * count + w) * inner + i) * size + k)];
    EXPECT_TRUE(std::ranges::equal(z.as<float>(), expected)) << count << " windows of " << size;
  }
}

}  // namespace
}  // namespace kiln::test
