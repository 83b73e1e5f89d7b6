// Which form a reduction has and how its work is divided, for tensors of any shape and strides. The expected values
// follow from the definitions of the forms: no kernel runs here.
#include "kiln/backend/cpu/simd/reduce/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace kiln::cpu::simd {
namespace {

using enum ReduceForm;

struct Case {
  const char* name;
  Shape shape;
  Dims strides, dims;
  ReduceForm form;
  std::int64_t count, group, groups, piece, pieces;
};

/// The strides of a dense result whose dimensions have the order of those of x.
Dims strides_of_result(const Case& c) {
  Shape kept = c.shape;
  for (const auto dim : c.dims) kept[static_cast<int>(dim)] = 1;
  Dims result = c.strides;
  for (int i = 0; i < kept.size(); ++i) {
    result[i] = 1;
    for (int k = 0; k < kept.size(); ++k)
      if (c.strides[k] < c.strides[i]) result[i] *= kept[k];
  }
  return result;
}

const Case kCases[] = {
    {"all of a matrix", {30, 40}, {40, 1}, {0, 1}, All, 1200, 1, 1, 65536, 1},
    {"all of a long vector", {200000}, {1}, {0}, All, 200000, 1, 1, 65536, 4},
    {"all of a transposed matrix", {40, 30}, {1, 40}, {0, 1}, All, 1200, 1, 1, 65536, 1},
    {"short rows", {5000, 16}, {16, 1}, {1}, Rows, 16, 2048, 3, 65536, 1},
    {"rows", {100, 1000}, {1000, 1}, {1}, Rows, 1000, 32, 4, 65536, 1},
    {"long rows", {3, 100000}, {100000, 1}, {1}, Rows, 100000, 1, 3, 65536, 2},
    {"rows with gaps", {100, 1000}, {1024, 1}, {1}, Rows, 1000, 32, 4, 65536, 1},
    {"rows of two dimensions", {10, 20, 30}, {600, 30, 1}, {1, 2}, Rows, 600, 10, 1, 65536, 1},
    {"the channels of planes", {2, 3, 8, 8}, {192, 64, 8, 1}, {0, 2, 3}, RowGroups, 128, 3, 1, 65536, 1},
    {"the middle of rows", {4, 5, 6}, {30, 6, 1}, {0, 2}, RowGroups, 24, 5, 1, 65536, 1},
    {"columns", {100, 50}, {50, 1}, {0}, Columns, 100, 50, 1, 1310, 1},
    {"many columns", {100, 5000}, {5000, 1}, {0}, Columns, 100, 2048, 3, 64, 2},
    {"columns of matrices", {7, 100, 50}, {5000, 50, 1}, {1}, Columns, 100, 50, 7, 1310, 1},
    {"the rows of a transposed matrix", {50, 100}, {1, 50}, {1}, Columns, 100, 50, 1, 1310, 1},
    {"channels last", {2, 64, 8, 8}, {4096, 1, 512, 64}, {0, 2, 3}, Columns, 128, 64, 1, 1024, 1},
    {"columns of cut rows", {4, 5, 6}, {50, 8, 1}, {0, 1}, ColumnGroups, 20, 6, 1, 10922, 1},
    {"columns of outer dimensions", {4, 5, 6, 7}, {210, 42, 7, 1}, {0, 2}, ColumnGroups, 24, 7, 5, 9362, 1},
    {"nothing", {6, 7}, {7, 1}, {}, Columns, 1, 42, 1, 1560, 1},
    {"every second number", {10, 20}, {40, 2}, {1}, Scattered, 20, 1, 10, 65536, 1},
    {"a broadcast number", {10, 20}, {0, 0}, {1}, Scattered, 20, 1, 10, 65536, 1},
    {"nothing to fold", {3, 0}, {1, 1}, {1}, Columns, 0, 3, 1, 21845, 1},
    {"one number", {1, 1}, {1, 1}, {0, 1}, Scattered, 1, 1, 1, 65536, 1},
};

TEST(ReducePlan, NamesTheFormAndDividesTheWork) {
  for (const Case& c : kCases) {
    const ReducePlan plan = plan_reduction(c.shape, c.strides, strides_of_result(c), c.dims);
    EXPECT_EQ(static_cast<int>(plan.form), static_cast<int>(c.form)) << c.name;
    EXPECT_EQ(plan.count, c.count) << c.name;
    EXPECT_EQ(plan.group, c.group) << c.name;
    EXPECT_EQ(plan.groups, c.groups) << c.name;
    EXPECT_EQ(plan.piece, c.piece) << c.name;
    EXPECT_EQ(plan.pieces, c.pieces) << c.name;
  }
}

TEST(ReducePlan, VisitsEachElementOnce) {
  for (const Case& c : kCases) {
    const Dims z = strides_of_result(c);
    const ReducePlan plan = plan_reduction(c.shape, c.strides, z, c.dims);
    std::map<std::int64_t, std::vector<std::int64_t>> found, wanted;  // the elements of each result, by their offsets
    plan.kept.each([&](const auto& first) {
      for (std::int64_t i = 0; i < plan.kept.length(); ++i)
        plan.folded.each([&](const auto& offsets) {
          for (std::int64_t k = 0; k < plan.folded.length(); ++k)
            found[first[0] + i * plan.kept.steps()[0]].push_back(first[1] + i * plan.kept.steps()[1] + offsets[0] +
                                                                 k * plan.folded.steps()[0]);
        });
    });
    Dims at = Dims::filled(c.shape.size(), 0);
    for (std::int64_t element = 0; element < numel(c.shape); ++element) {
      std::int64_t rest = element, to = 0, from = 0;
      for (int i = c.shape.size() - 1; i >= 0; --i) at[i] = rest % c.shape[i], rest /= c.shape[i];
      for (int i = 0; i < c.shape.size(); ++i) {
        from += at[i] * c.strides[i];
        if (std::find(c.dims.begin(), c.dims.end(), i) == c.dims.end()) to += at[i] * z[i];
      }
      wanted[to].push_back(from);
    }
    for (auto* each : {&found, &wanted})
      for (auto& [result, elements] : *each) std::sort(elements.begin(), elements.end());
    EXPECT_EQ(found, wanted) << c.name;
  }
}

}  // namespace
}  // namespace kiln::cpu::simd
