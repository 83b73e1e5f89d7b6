// Scans and recurrences against loops, of whole numbers, which are exact in any order.
#include <cmath>

#include "tests/backend/gpu/family/device.hpp"

namespace kiln::test {
namespace {

/// Calls f(places of a line, in the order of the scan) for each line along a dimension.
template <class F>
void each_line(const Shape& shape, int dim, bool reverse, F&& f) {
  Shape beside = shape;
  beside[dim] = 1;
  each_index(beside, [&](Dims index) {
    std::vector<std::size_t> line;
    for (std::int64_t i = 0; i < shape[dim]; ++i) {
      index[dim] = reverse ? shape[dim] - 1 - i : i;
      line.push_back(place_of(shape, index));
    }
    f(line);
  });
}

void expect_scanned(const Value& x, const op::Scan& op) {
  const TensorData data = x.data();
  const std::vector<double> from = data.to_vector<double>();
  std::vector<double> values(from.size()), indices(from.size());
  each_line(data.shape(), op.dim, op.reverse, [&](const std::vector<std::size_t>& line) {
    double so_far = op.fn == op::ScanFn::Prod ? 1 : 0;
    std::size_t best = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const double each = from[line[i]];
      if (op.fn == op::ScanFn::Sum || op.fn == op::ScanFn::Prod) {
        const double next = op.fn == op::ScanFn::Sum ? so_far + each : so_far * each;
        values[line[i]] = op.exclusive ? so_far : next;
        so_far = next;
        continue;
      }
      const double held = from[line[best]];
      if (held == held && (each != each || (op.fn == op::ScanFn::Max ? each > held : each < held))) best = i;
      values[line[i]] = from[line[best]];
      indices[line[i]] = static_cast<double>(op.reverse ? line.size() - 1 - best : best);
    }
  });
  const std::string what = text(op::name(op.fn), " of ", data.dtype(), " ", data.shape(), " along ", op.dim,
                                op.reverse ? ", reverse" : "", op.exclusive ? ", exclusive" : "");
  const Values found = emit_all(op, {x});
  expect_numbers(found[0].data(), values, what);
  if (found.size() > 1) expect_numbers(found[1].data(), indices, what + ", places");
}

/// By every function, in both directions.
void expect_all_scanned(const Shape& shape, DType dtype, int dim) {
  const Value x = from_data(whole_numbers(shape, dtype, dtype == DType::Bool ? 2 : 3, 2), simulated());
  for (const bool reverse : {false, true}) {
    for (const bool exclusive : {false, true}) {
      // Halves do not hold the sums of long lines.
      if (shape[dim] < 500) expect_scanned(x, {op::ScanFn::Sum, dim, exclusive, reverse});
      expect_scanned(x, {op::ScanFn::Prod, dim, exclusive, reverse});
    }
    expect_scanned(x, {op::ScanFn::Max, dim, false, reverse});
    expect_scanned(x, {op::ScanFn::Min, dim, false, reverse});
  }
}

TEST(GpuScan, ScansLinesOfAnyLength) {
  for (const std::int64_t length :
       {1, 2, 31, 32, 33, 64, 100, 127, 128, 129, 130, 1023, 1024, 1025, 4100, 16384, 16390})
    for (const std::int64_t lines : {1, 3}) {
      const Value x = from_data(whole_numbers({lines, length}, DType::F32, 5, 2), simulated());
      for (const bool reverse : {false, true}) {
        expect_scanned(x, {op::ScanFn::Sum, 1, reverse, reverse});
        expect_scanned(x, {op::ScanFn::Max, 1, false, reverse});
      }
    }
}

TEST(GpuScan, ScansColumnsOfAnyLength) {
  for (const std::int64_t length : {1, 2, 3, 4, 5, 31, 33, 129, 700})
    for (const std::int64_t columns : {2, 3, 4, 8}) {
      const Value x = from_data(whole_numbers({2, length, columns}, DType::F32, 5, 2), simulated());
      for (const bool reverse : {false, true}) {
        expect_scanned(x, {op::ScanFn::Sum, 1, reverse, reverse});
        expect_scanned(x, {op::ScanFn::Min, 1, false, reverse});
      }
    }
}

TEST(GpuScan, KnowsEveryFunctionOfEveryType) {
  for (const DType dtype : kAllTypes) {
    expect_all_scanned({2, 70}, dtype, 1);
    expect_all_scanned({300, 16}, dtype, 1);
    expect_all_scanned({70, 16}, dtype, 0);
    expect_all_scanned({1, 2100}, dtype, 1);
  }
}

TEST(GpuScan, ScansWhatLiesAnywhereAndNothing) {
  const Value x = from_data(whole_numbers({5, 40, 6}, DType::F32, 5), simulated());
  for (const Value& each :
       {permute(x, {2, 0, 1}), flip(x, {1}), narrow(x, 1, 3, 30), expand(narrow(x, 0, 1, 1), {4, 40, 6})})
    for (int dim = 0; dim < 3; ++dim) expect_scanned(each, {op::ScanFn::Sum, dim});
  expect_all_scanned({3, 0, 2}, DType::F32, 1);
  expect_all_scanned({0, 3}, DType::F32, 1);
}

TEST(GpuScan, LetsNaNWinFromItsPlaceOn) {
  for (const std::int64_t length : {5, 50, 1500}) {
    std::vector<double> numbers = whole_numbers({2, length}, DType::F64, 9).to_vector<double>();
    numbers[2] = NAN;
    numbers[numbers.size() - 2] = NAN;
    const Value x = from_data(TensorData::of<double>({2, length}, std::span<const double>(numbers)), simulated());
    for (const auto fn : {op::ScanFn::Sum, op::ScanFn::Max, op::ScanFn::Min})
      for (const bool reverse : {false, true}) {
        expect_scanned(x, {fn, 1, false, reverse});
        expect_scanned(x, {fn, 0, false, reverse});
      }
  }
}

TEST(GpuScan, AddsPowersSafely) {
  for (const auto& [shape, dim] : {std::pair<Shape, int>{{2, 20}, 1}, {{3, 700}, 1}, {{1, 20000}, 1}, {{500, 4}, 0}}) {
    const TensorData x = whole_numbers(shape, DType::F64, 900, 3);
    const std::vector<double> from = x.to_vector<double>();
    const std::vector<double> found =
        emit(op::Scan{op::ScanFn::LogSumExp, dim}, {from_data(x, simulated())}).data().to_vector<double>();
    each_line(shape, dim, false, [&](const std::vector<std::size_t>& line) {
      double largest = -INFINITY, sum = 0;
      for (const std::size_t at : line) {
        const double more = std::max(largest, from[at]);
        sum = sum * std::exp(largest - more) + std::exp(from[at] - more);
        largest = more;
        ASSERT_NEAR(found[at], largest + std::log(sum), 1e-11 * (1 + std::abs(largest)));
      }
    });
  }
}

TEST(GpuScan, FollowsRecurrences) {
  for (const DType dtype : {DType::F64, DType::F32, DType::BF16})
    for (const auto& [shape, dim] : {std::pair<Shape, int>{{3, 20}, 1},
                                     {{2, 33}, 1},
                                     {{2, 1030}, 1},
                                     {{1, 20000}, 1},
                                     {{130, 8}, 0},
                                     {{2100, 3}, 0}})
      for (const bool reverse : {false, true}) {
        // Factors of -1, 0 and 1, so that results stay whole and small.
        const TensorData a = whole_numbers(shape, dtype, 3, 5), b = whole_numbers(shape, dtype, 5, 6);
        const std::vector<double> factors = a.to_vector<double>(), terms = b.to_vector<double>();
        std::vector<double> wanted(terms.size());
        each_line(shape, dim, reverse, [&](const std::vector<std::size_t>& line) {
          double y = 0;
          for (const std::size_t at : line) wanted[at] = y = factors[at] * y + terms[at];
        });
        expect_numbers(
            emit(op::Recurrence{dim, reverse}, {from_data(a, simulated()), from_data(b, simulated())}).data(), wanted,
            text(dtype, " ", shape, reverse ? ", reverse" : ""));
      }
}

}  // namespace
}  // namespace kiln::test
