#include "kiln/ops/reduce/statistics.hpp"
#include "tests/golden/golden.hpp"

namespace kiln::golden {
namespace {

const Rows kReduce({
    {"sum", [](In in) { return sum(in[0]); }},
    {"mean", [](In in) { return mean(in[0]); }},
    {"prod", [](In in) { return prod(in[0]); }},
    {"sum.dim", [](In in) { return sum(in[0], {1}); }},
    {"mean.dim", [](In in) { return mean(in[0], {1}); }},
    {"prod.dim", [](In in) { return prod(in[0], {1}); }},
    {"prod.of_a_zero", [](In in) { return prod(in[0], {1}); }},
    {"max.dims", [](In in) { return max(in[0], {0, 2}, true); }},
    {"min.dims", [](In in) { return min(in[0], {0, 2}, true); }},
    {"max.ties", [](In in) { return max(in[0], {1}); }},
    {"sum.integers", [](In in) { return sum(in[0], {0}); }},
    {"any", [](In in) { return any(in[0], {1}); }},
    {"all", [](In in) { return all(in[0], {1}); }},
    {"argmax", [](In in) { return argmax(in[0], 1); }},
    {"argmin", [](In in) { return argmin(in[0], 0, true); }},
    {"variance", [](In in) { return variance(in[0], {1}); }},
    {"variance.biased", [](In in) { return variance(in[0], {1}, 0); }},
    {"deviation", [](In in) { return deviation(in[0], {1}); }},
    {"softmax", [](In in) { return softmax(in[0], 1); }},
    {"softmax.first", [](In in) { return softmax(in[0], 0); }},
    {"log_softmax", [](In in) { return log_softmax(in[0], -1); }},
    {"matmul", [](In in) { return matmul(in[0], in[1]); }},
    {"matmul.batch", [](In in) { return matmul(in[0], in[1]); }},
});

}  // namespace
}  // namespace kiln::golden
