#include "kiln/ops/reduce/order.hpp"

#include "kiln/ops/reduce/scan.hpp"
#include "tests/golden/golden.hpp"

namespace kiln::golden {
namespace {

Values both(const ValueWithIndices& result) { return {result.values, result.indices}; }

const Rows kSorted({
    {"sort", [](In in) { return both(sort(in[0], 1)); }},
    {"sort.descending", [](In in) { return both(sort(in[0], 0, true)); }},
    {"argsort", [](In in) { return argsort(in[0], 1); }},
    {"msort", [](In in) { return msort(in[0]); }},
    {"topk", [](In in) { return both(topk(in[0], 2, 1)); }},
    {"topk.smallest", [](In in) { return both(topk(in[0], 3, 1, false)); }},
    {"kthvalue", [](In in) { return both(kthvalue(in[0], 2, 1)); }},
    {"max_with_index", [](In in) { return both(max_with_index(in[0], 1)); }},
    {"min_with_index", [](In in) { return both(min_with_index(in[0], 0, true)); }},
    {"mode.values", [](In in) { return mode(in[0], 1).values; }},
    {"searchsorted", [](In in) { return searchsorted(in[0], in[1]); }},
    {"searchsorted.right", [](In in) { return searchsorted(in[0], in[1], true); }},
    {"bucketize", [](In in) { return bucketize(in[0], in[1]); }},
    {"argmax.all", [](In in) { return argmax(in[0]); }},
});

const Rows kScans({
    {"cumsum", [](In in) { return cumsum(in[0], 1); }},
    {"cumprod", [](In in) { return cumprod(in[0], 0); }},
    {"cumprod.of_a_zero", [](In in) { return cumprod(in[0], 1); }},
    {"cummax", [](In in) { return both(cummax(in[0], 1)); }},
    {"cummin", [](In in) { return both(cummin(in[0], 0)); }},
    {"logcumsumexp", [](In in) { return logcumsumexp(in[0], 1); }},
});

}  // namespace
}  // namespace kiln::golden
