#include "kiln/ops/index/index.hpp"

#include "tests/golden/golden.hpp"

namespace kiln::golden {
namespace {

const Rows kIndex({
    {"gather", [](In in) { return gather(in[0], 1, in[1]); }},
    {"scatter_add", [](In in) { return scatter_add(in[0], 1, in[1], in[2]); }},
    {"scatter.assign", [](In in) { return scatter(in[0], 1, in[1], in[2]); }},
    {"scatter.add", [](In in) { return scatter(in[0], 1, in[1], in[2], Update::Add); }},
    {"scatter.multiply", [](In in) { return scatter(in[0], 1, in[1], in[2], Update::Mul); }},
    {"scatter.minimum", [](In in) { return scatter(in[0], 1, in[1], in[2], Update::Min); }},
    {"scatter.maximum", [](In in) { return scatter(in[0], 1, in[1], in[2], Update::Max); }},
    {"select", [](In in) { return select(in[0], 0, in[1]); }},
    {"select_add", [](In in) { return select_add(in[0], 0, in[1], in[2]); }},
    {"index_copy", [](In in) { return index_copy(in[0], 0, in[1], in[2]); }},
    {"index_fill", [](In in) { return index_fill(in[0], 0, in[1], 7.0); }},
    {"take", [](In in) { return take(in[0], in[1]); }},
    {"take_along_dim", [](In in) { return take_along_dim(in[0], in[1], 1); }},
    {"gather_nd", [](In in) { return gather_nd(in[0], in[1]); }},
    {"index_get", [](In in) { return index_get(in[0], Values{in[1], in[2]}); }},
    {"index_get.apart", [](In in) { return index_get(in[0], Values{in[1], Value(), in[2]}); }},
    {"index_put", [](In in) { return index_put(in[0], Values{in[1], in[2]}, in[3]); }},
    {"index_put.add", [](In in) { return index_put(in[0], Values{in[1], in[2]}, in[3], Update::Add); }},
    {"nonzero", [](In in) { return nonzero(in[0]); }},
    {"argwhere", [](In in) { return argwhere(in[0]); }},
    {"mask_select", [](In in) { return mask_select(in[0], in[1]); }},
    {"mask_fill", [](In in) { return mask_fill(in[0], in[1], 7.0); }},
    {"masked_scatter", [](In in) { return masked_scatter(in[0], in[1], in[2]); }},
    {"one_hot", [](In in) { return one_hot(in[0], 4); }},
    {"slice_assign",
     [](In in) {
       const Range rows{1, 3};
       return slice_assign(in[0], {&rows, 1}, in[1]);
     }},
    {"unravel_index", [](In in) { return unravel_index(in[0], {2, 3, 4}); }},
});

}  // namespace
}  // namespace kiln::golden
