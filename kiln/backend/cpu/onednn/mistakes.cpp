#include "kiln/backend/cpu/onednn/mistakes.hpp"

#include <dnnl.h>

#include <algorithm>
#include <string>

namespace kiln::cpu::onednn {
namespace {

using std::int64_t;

bool everything_is_trusted = false;
const bool kIs3 = dnnl_version()->major >= 3;

/// Returns how far the last window of an axis reaches beyond x; oneDNN uses this number, whatever the padding.
int64_t overhang(const Geometry& g, int axis) {
  return (g.result[axis] - 1) * g.stride[axis] + g.reach(axis) - g.padding[axis] - g.sizes[axis];
}

/// Whether the window of an element of y along the axis extends beyond x on both sides.
bool wider_than_x(const Geometry& g, int axis) {
  for (int64_t i = 0; i < g.result[axis]; ++i) {
    const int64_t from = i * g.stride[axis] - g.padding[axis];
    if (from < 0 && from + g.reach(axis) > g.sizes[axis]) return true;
  }
  return false;
}

/// Whether every window along the axis extends beyond x.
bool no_window_inside(const Geometry& g, int axis) {
  for (int64_t i = 0; i < g.result[axis]; ++i) {
    const int64_t from = i * g.stride[axis] - g.padding[axis];
    if (from >= 0 && from + g.reach(axis) <= g.sizes[axis]) return false;
  }
  return true;
}

/// Whether a window along the axis has only padding, after the end of x.
bool has_window_behind(const Geometry& g, int axis) { return overhang(g, axis) >= g.reach(axis); }

int last_axis(const Geometry& g) { return g.sizes.size() - 1; }

/// Kernels whose names begin with `kernel` are wrong in that pass if `applies` returns true.
struct Mistake {
  std::string_view kernel;
  Pass pass;
  bool (*applies)(const Geometry& g, DType dtype);
  bool mended_in_3 = false;
};

bool strided(const Geometry& g) {
  return std::any_of(g.stride.begin(), g.stride.end(), [](int64_t s) { return s > 1; });
}
bool dilated(const Geometry& g) {
  return std::any_of(g.dilation.begin(), g.dilation.end(), [](int64_t d) { return d > 1; });
}
bool dilated_before_last(const Geometry& g) {
  return std::any_of(g.dilation.begin(), g.dilation.end() - 1, [](int64_t d) { return d > 1; });
}
/// Whether `f(axis)` is true for one of the first `count` axes.
template <class F>
bool some_axis(int count, F&& f) {
  for (int axis = 0; axis < count; ++axis)
    if (f(axis)) return true;
  return false;
}

// Seen with oneDNN 2.6.3 (Debian 12); the conditions are wider than what was seen. 3.2 still has most of them, those of
// the weight's gradient and of odd channels above all, so they hold for every version but where it was seen to be right.
constexpr Mistake kMistakes[] = {
    // Versions 3.7 (Debian 13) and 3.4 (Ubuntu 24.04, where its name is brgconv), of either type: parts of y are not
    // written, or numbers beyond x are read, where a window is as large as x or larger, or a stride passes over some of it,
    // or over what lies behind the only window. 4 columns under a kernel of 6; a stride of 7 under a kernel of 4; 6 columns
    // under a kernel of 5 with stride 2.
    {"brg", Pass::Forward,
     [](const Geometry& g, DType) {
       return kIs3 && some_axis(g.sizes.size(), [&](int axis) {
                return (g.kernel[axis] > 1 && g.reach(axis) >= g.sizes[axis]) || g.stride[axis] > g.kernel[axis] ||
                       (g.result[axis] == 1 && overhang(g, axis) < 0);
              });
     }},
    // A column of y whose window sticks out on both sides of x. [1, 32, 7, 7] under 5 x 5 with dilation 2 and padding 4 is
    // 2 % off, or whatever the working memory held before.
    {"brgconv", Pass::Forward, [](const Geometry& g, DType) { return wider_than_x(g, last_axis(g)); }, true},
    // Rows whose windows reach further beyond the right edge than beyond the left, and than a stride: some columns are not
    // written. 9 columns under a kernel of 6 without padding on the left and 5 on the right.
    {"brgconv", Pass::Forward,
     [](const Geometry& g, DType) {
       const int axis = last_axis(g);
       return overhang(g, axis) > g.padding[axis] + g.stride[axis];
     }},
    // Windows that lie behind x: it reads where nothing is, and the program ends (with AMX).
    {"", Pass::Forward,
     [](const Geometry& g, DType dtype) {
       return dtype == DType::BF16 && some_axis(g.sizes.size(), [&](int axis) { return has_window_behind(g, axis); });
     }},
    // 1 x 1 x 1: pixels beyond the 32nd of a row, and working memory that nobody wrote.
    {"brgconv_1x1:avx512_core_amx", Pass::Forward, [](const Geometry& g, DType) { return g.sizes.size() == 3; }},
    // 1 x 1 of a number of channels that fills no vectors; seen with 52 and 69 channels.
    {"jit_bf16_1x1", Pass::Forward,
     [](const Geometry& g, DType) { return g.in / g.groups % 16 != 0 || g.out / g.groups % 16 != 0; }},
    // An odd number of channels under a large kernel: past the last one it reads one more, times a weight of zero, and
    // what lies behind x may be NaN. Seen with 45 channels and 5 x 5 x 5, not with 4 x 4 x 4 or 7 x 7.
    {"brgconv", Pass::Forward,
     [](const Geometry& g, DType dtype) {
       return dtype == DType::BF16 && g.in / g.groups % 2 == 1 && Geometry::product(g.kernel) > 49;
     }},
    // Pixels of x between the windows or behind the last: it writes beyond its working memory (with AMX; once without).
    {"brgconv:", Pass::Forward,
     [](const Geometry& g, DType dtype) {
       return dtype == DType::BF16 && some_axis(g.sizes.size(), [&](int axis) {
                return g.stride[axis] > g.reach(axis) || (g.stride[axis] > 2 && overhang(g, axis) < 0);
              });
     }},
    // Three axes with a dilation: windows of nothing but padding are left unwritten, and columns are mixed up.
    {"jit:avx512_core_amx", Pass::Forward, [](const Geometry& g, DType) { return g.sizes.size() == 3 && dilated(g); }},
    // The gradient of what no window sees, which is zero, is not written.
    {"jit:avx512_core_amx", Pass::Data,
     [](const Geometry& g, DType) {
       return g.sizes.size() == 3 &&
              some_axis(2, [&](int axis) { return overhang(g, axis) < 0 || g.stride[axis] > g.reach(axis); });
     }},
    // Dilated windows that stick out of x on both sides: version 3.7 reads where nothing is, and the program ends (with
    // AMX). [1, 24, 2, 11] under 4 x 7 with dilation 3 x 5 and padding 4 x 11.
    {"", Pass::Data,
     [](const Geometry& g, DType dtype) {
       return kIs3 && dtype == DType::BF16 &&
              some_axis(g.sizes.size(), [&](int axis) { return g.dilation[axis] > 1 && wider_than_x(g, axis); });
     }},
    // 1 x 1 over 30, 60, 90, ... pixels.
    {"jit_bf16_1x1", Pass::Data, [](const Geometry&, DType) { return true; }},
    // Strided rows of more than 28 columns where the windows reach so far beyond the right edge that more columns than
    // the last block has see it: the pixels of the next row are taken in. A kernel of 7 with dilation 5, padding 15,
    // stride 2. Usual networks reach 3 beyond.
    {"jit:", Pass::Weight,
     [](const Geometry& g, DType) {
       const int axis = last_axis(g);
       return g.stride[axis] > 1 && g.result[axis] > 14 && overhang(g, axis) > 7;
     }},
    // Strided 1 x 1 of fewer channels than its vectors are long: it writes beyond its working memory.
    {"jit_1x1", Pass::Weight, [](const Geometry& g, DType) { return g.in / g.groups % 16 != 0 && strided(g); }},
    {"jit_bf16_1x1", Pass::Weight, [](const Geometry& g, DType) { return g.in / g.groups % 16 != 0 && strided(g); }},
    // Three axes, and along the first or second no window that lies in x: the parts of the weight that the first line does
    // not see are not cleared. A depth of 3 under a kernel of 3 with stride 2 and padding 1 (bfloat16), of 7 under one of
    // 7 with stride 2 and padding 3 (float32).
    {"jit", Pass::Weight,
     [](const Geometry& g, DType) {
       return g.sizes.size() == 3 && some_axis(2, [&](int axis) { return no_window_inside(g, axis); });
     }},
    // A stride larger than the row: NaN, or what the memory held before.
    {"jit", Pass::Weight,
     [](const Geometry& g, DType dtype) {
       return dtype == DType::BF16 && g.stride[last_axis(g)] > g.sizes[last_axis(g)];
     }},
    // Dilation along an axis before the last (even under a kernel that is 1 there) and more than 28 columns.
    {"jit_bf16:", Pass::Weight,
     [](const Geometry& g, DType) { return g.result[last_axis(g)] > 14 && dilated_before_last(g); }},
    // Version 3.7, NaN: a stride larger than the row; rows of many columns with pixels behind the last window of some axis.
    {"brgconv_bwd_w", Pass::Weight,
     [](const Geometry& g, DType dtype) {
       const int last = last_axis(g);
       return dtype == DType::BF16 &&
              (g.stride[last] > g.sizes[last] ||
               (g.result[last] > 32 && some_axis(g.sizes.size(), [&](int axis) { return overhang(g, axis) < 0; })));
     }},
    {"jit:avx512_core_amx", Pass::Weight,
     [](const Geometry& g, DType) { return dilated_before_last(g) || wider_than_x(g, last_axis(g)); }},
};

}  // namespace

bool mistaken(Pass pass, const Geometry& g, DType dtype, std::string_view kernel) {
  if (everything_is_trusted) return false;
  // Version 3.7 says "avx10_1_512_amx" where others say "avx512_core_amx".
  std::string name(kernel);
  if (const std::size_t at = name.find("avx10_1_512"); at != name.npos) name.replace(at, 11, "avx512_core");
  return std::any_of(std::begin(kMistakes), std::end(kMistakes), [&](const Mistake& mistake) {
    return mistake.pass == pass && name.starts_with(mistake.kernel) && !(kIs3 && mistake.mended_in_3) &&
           mistake.applies(g, dtype);
  });
}

// An example is 4 products of 69 x 63 and 63 x 44, which with AMX run into an illegal instruction.
bool product_is_mistaken(int64_t k) {
  static const bool amx = (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_amx) == dnnl_cpu_isa_avx512_core_amx;
  return amx && k % 2 == 1 && !everything_is_trusted;
}

void trust_everything(bool trust) { everything_is_trusted = trust; }

}  // namespace kiln::cpu::onednn
