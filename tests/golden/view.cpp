#include "kiln/ops/view/view.hpp"

#include "kiln/ops/view/assemble.hpp"
#include "kiln/ops/view/diagonal.hpp"
#include "tests/golden/golden.hpp"

namespace kiln::golden {
namespace {

Value sliced(const Value& x, std::initializer_list<Range> ranges) {
  return slice(x, std::span(ranges.begin(), ranges.size()));
}

const Rows kView({
    {"reshape", [](In in) { return reshape(in[0], {3, -1}); }},
    {"flatten", [](In in) { return flatten(in[0], 1); }},
    {"permute", [](In in) { return permute(in[0], {2, 0, 1}); }},
    {"transpose", [](In in) { return transpose(in[0]); }},
    {"expand", [](In in) { return expand(in[0], {2, 3, 2}); }},
    {"flip", [](In in) { return flip(in[0], {0, 1}); }},
    {"slice", [](In in) { return sliced(in[0], {{1, 4}, {{}, {}, 2}}); }},
    {"slice.negative_step", [](In in) { return sliced(in[0], {{-2, 0, -2}}); }},
    {"narrow", [](In in) { return narrow(in[0], 0, 1, 3); }},
    {"cat", [](In in) { return cat(Values{in[0], in[1], in[0]}, 1); }},
    {"stack", [](In in) { return stack(in, 1); }},
    {"split", [](In in) { return split(in[0], 2, 0); }},
    {"chunk", [](In in) { return chunk(in[0], 3, 0); }},
    {"tensor_split", [](In in) { return tensor_split(in[0], 3, 0); }},
    {"split_with_sizes", [](In in) { return split_with_sizes(in[0], {1, 3, 2}, 0); }},
    {"unbind", [](In in) { return unbind(in[0], 0); }},
    {"roll", [](In in) { return roll(in[0], -1, 1); }},
    {"roll.dims", [](In in) { return roll(in[0], Dims{1, 2}, Dims{0, 1}); }},
    {"repeat", [](In in) { return repeat(in[0], {2, 2}); }},
    {"tile", [](In in) { return tile(in[0], {2}); }},
    {"repeat_interleave", [](In in) { return repeat_interleave(in[0], 2, 1); }},
    {"repeat_interleave.times", [](In in) { return repeat_interleave(in[0], in[1], 0); }},
    {"movedim", [](In in) { return movedim(in[0], {0, 1}, {2, 0}); }},
    {"rot90", [](In in) { return rot90(in[0]); }},
    {"rot90.back", [](In in) { return rot90(in[0], -1); }},
    {"fliplr", [](In in) { return fliplr(in[0]); }},
    {"flipud", [](In in) { return flipud(in[0]); }},
    {"unfold", [](In in) { return unfold(in[0], 1, 3, 2); }},
    {"diagonal", [](In in) { return diagonal(in[0], 1); }},
    {"diagonal.dims", [](In in) { return diagonal(in[0], -1, 0, 2); }},
    {"diag_embed", [](In in) { return diag_embed(in[0], 1); }},
    {"diag", [](In in) { return diag(in[0]); }},
    {"trace", [](In in) { return trace(in[0]); }},
    {"triu", [](In in) { return triu(in[0], 1); }},
    {"tril", [](In in) { return tril(in[0], -1); }},
    {"hstack", [](In in) { return hstack(in); }},
    {"vstack", [](In in) { return vstack(in); }},
    {"dstack", [](In in) { return dstack(in); }},
    {"block_diag", [](In in) { return block_diag(in); }},
    {"pad", [](In in) { return pad(in[0], {0, 1}, {1, 2}, 0.5); }},
    {"pad.reflect", [](In in) { return pad(in[0], {0, 0, 3}, {0, 0, 2}, PadMode::Reflect); }},
    {"pad.edge", [](In in) { return pad(in[0], {0, 0, 3}, {0, 0, 2}, PadMode::Edge); }},
    {"pad.circular", [](In in) { return pad(in[0], {0, 0, 3}, {0, 0, 2}, PadMode::Circular); }},
    {"meshgrid", [](In in) { return meshgrid(in); }},
    {"meshgrid.xy", [](In in) { return meshgrid(in, GridOrder::XY); }},
    {"cartesian_prod", [](In in) { return cartesian_prod(in); }},
    {"combinations", [](In in) { return combinations(in[0], 2); }},
    {"combinations.again", [](In in) { return combinations(in[0], 2, true); }},
});

}  // namespace
}  // namespace kiln::golden
