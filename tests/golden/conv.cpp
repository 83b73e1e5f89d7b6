#include "tests/golden/golden.hpp"

namespace kiln::golden {
namespace {

const Rows kConvolutions({
    {"conv1d", [](In in) { return conv(in[0], in[1], in[2], {.stride = {2}, .padding = {1}}); }},
    {"conv2d", [](In in) { return conv(in[0], in[1], in[2], {.padding = {1, 1}}); }},
    {"conv2d.groups", [](In in) { return conv(in[0], in[1], {}, {.groups = 2}); }},
    {"conv2d.dilation",
     [](In in) { return conv(in[0], in[1], {}, {.stride = {2, 1}, .padding = {1, 2}, .dilation = {2, 3}}); }},
    {"conv3d", [](In in) { return conv(in[0], in[1], {}, {.padding = {1, 1, 1}}); }},
    {"conv_transpose1d",
     [](In in) { return conv_transpose(in[0], in[1], in[2], {.stride = {2}, .padding = {1}}, {1}); }},
    {"conv_transpose2d",
     [](In in) {
       return conv_transpose(in[0], in[1], {}, {.stride = {2, 2}, .padding = {1, 0}, .dilation = {1, 2}, .groups = 2});
     }},
    {"conv_transpose3d", [](In in) { return conv_transpose(in[0], in[1], {}); }},
});

Values both(const MaxPoolResult& result) { return {result.values, result.indices}; }

const Rows kPools({
    {"max_pool1d",
     [](In in) { return both(max_pool_with_indices(in[0], {.kernel = {3}, .stride = {2}, .padding = {1}})); }},
    {"max_pool2d",
     [](In in) { return both(max_pool_with_indices(in[0], {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}})); }},
    {"max_pool3d",
     [](In in) {
       return both(max_pool_with_indices(in[0], {.kernel = {3, 3, 3}, .stride = {2, 2, 2}, .padding = {1, 1, 1}}));
     }},
    {"max_pool2d.ceil", [](In in) { return max_pool(in[0], {.kernel = {3, 3}, .stride = {2, 2}, .ceil = true}); }},
    {"max_pool2d.dilation",
     [](In in) { return max_pool(in[0], {.kernel = {2, 2}, .stride = {1, 1}, .dilation = {3, 3}}); }},
    {"avg_pool1d", [](In in) { return avg_pool(in[0], {.kernel = {3}, .stride = {2}, .padding = {1}}); }},
    {"avg_pool2d", [](In in) { return avg_pool(in[0], {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}); }},
    {"avg_pool3d",
     [](In in) { return avg_pool(in[0], {.kernel = {3, 3, 3}, .stride = {2, 2, 2}, .padding = {1, 1, 1}}); }},
    {"avg_pool2d.exclusive",
     [](In in) {
       return avg_pool(in[0],
                       {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .ceil = true, .count_padding = false});
     }},
    {"adaptive_avg_pool1d", [](In in) { return adaptive_avg_pool(in[0], {3}); }},
    {"adaptive_avg_pool2d", [](In in) { return adaptive_avg_pool(in[0], {3, 2}); }},
    {"adaptive_avg_pool3d", [](In in) { return adaptive_avg_pool(in[0], {3, 2, 2}); }},
});

}  // namespace
}  // namespace kiln::golden
