// An error names the function that was called, not what it is made of.
#include <gtest/gtest.h>

#include "kiln/ops/index/embedding.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "kiln/ops/spatial/conv.hpp"
#include "kiln/ops/spatial/pool.hpp"
#include "kiln/ops/spatial/sample.hpp"
#include "kiln/ops/view/diagonal.hpp"
#include "kiln/ops/view/view.hpp"
#include "tests/support/wrong_call.hpp"

namespace kiln {
namespace {

Device cpu() { return Device::cpu(); }
Value far(const Shape& shape) { return integers(shape, 99); }

struct Misnamed {
  const char* function;
  std::function<Value()> call;  // what it returns is read
};
const Misnamed kMisnamed[] = {
    {"take", [] { return take(floats({2, 3}), far({2})); }},
    {"index_select", [] { return index_select(floats({2, 3}), 0, far({2})); }},
    {"index_add", [] { return index_add(floats({2, 3}), 0, far({2}), floats({2, 3})); }},
    {"index_copy", [] { return index_copy(floats({2, 3}), 0, far({2}), floats({2, 3})); }},
    {"index_fill", [] { return index_fill(floats({2, 3}), 0, far({2}), 1); }},
    {"index_get", [] { return index_get(floats({2, 3}), Values{far({2})}); }},
    {"index_put", [] { return index_put(floats({2, 3}), Values{far({2})}, floats({2, 3})); }},
    {"gather_nd", [] { return gather_nd(floats({2, 3}), far({2, 1})); }},
    {"scatter_nd", [] { return scatter_nd(floats({2, 3}), far({2, 1}), floats({2, 3})); }},
    {"mask_assign", [] { return mask_assign(floats({3}), flags({3}), floats({4})); }},
    {"mask_select", [] { return mask_select(floats({3}), flags({4})); }},
    {"masked_scatter", [] { return masked_scatter(floats({3}), flags({4}), floats({3})); }},
    {"one_hot", [] { return one_hot(floats({2}), 3); }},
    {"one_hot", [] { return one_hot(far({2}), -1); }},
    {"one_hot_fill", [] { return one_hot_fill(far({2}), -1, 1, 0); }},
    {"at", [] { return at(floats({2}), 0, 5); }},
    {"narrow", [] { return narrow(floats({2}), 0, 1, 5); }},
    {"adaptive_avg_pool", [] { return adaptive_avg_pool(floats({1, 1, 4}), {0}); }},
    {"adaptive_max_pool", [] { return adaptive_max_pool(floats({1, 1, 4}), {0}); }},
    {"max_unpool", [] { return max_unpool(floats({1, 1, 2}), far({1, 1, 2}), {4}); }},
    {"embedding", [] { return embedding(floats({3, 2}), far({2})); }},
    {"repeat_interleave", [] { return repeat_interleave(floats({2}), -1, 0); }},
    {"triu_mask", [] { return triu_mask({-1, 2}, cpu()); }},
    {"causal_mask", [] { return causal_mask({2}, cpu()); }},
    {"zeros", [] { return zeros({-1}, cpu()); }},
    {"ones", [] { return ones({2}, Device()); }},
    {"uniform", [] { return uniform({2}, 0, 1, Device()); }},
    {"roi_align", [] { return roi_align(floats({1, 1, 4, 4}), floats({1, 5}) * 7, {}); }},
};

TEST(WrongCalls, AreToldByTheNameThatWasCalled) {
  for (const Misnamed& wrong : kMisnamed) {
    const std::string said = sentence_of([&] { return wrong.call().data(); });
    EXPECT_NE(said.find(text("Error: ", wrong.function, ": ")), std::string::npos) << wrong.function << ": " << said;
  }
}

}  // namespace
}  // namespace kiln
