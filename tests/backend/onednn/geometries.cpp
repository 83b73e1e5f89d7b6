#include "tests/backend/onednn/geometries.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>

#include "kiln/core/error/error.hpp"

namespace kiln::cpu::onednn {
namespace {

using std::int64_t;

/// The standard library's distributions differ from one to the next; these do not.
class Dice {
 public:
  Dice(std::uint64_t seed, std::uint64_t index) : random_(seed * 0x9e3779b97f4a7c15u + index) {}
  int64_t from(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool chance(int percent) { return from(1, 100) <= percent; }
  int64_t one_of(std::initializer_list<int64_t> list) {
    return list.begin()[from(0, static_cast<int64_t>(list.size()) - 1)];
  }

 private:
  std::mt19937_64 random_;
};

struct Axis {
  int64_t size, kernel, stride, before, after, dilation;
  int64_t reach() const { return dilation * (kernel - 1) + 1; }
  int64_t result() const {
    const int64_t room = size + before + after - reach();
    return room < 0 ? 0 : room / stride + 1;
  }
};

int64_t draw_size(Dice& dice, bool tight) {
  if (tight) return dice.from(1, 12);
  const int64_t kind = dice.from(1, 10);
  return kind <= 4 ? dice.from(1, 9) : kind <= 7 ? dice.from(5, 20) : dice.from(15, 40);
}

/// `tight`: images that hardly hold the kernel, where it reaches over both edges at once.
Axis draw_axis(Dice& dice, bool tight) {
  Axis axis{.size = draw_size(dice, tight),
            .kernel = tight ? dice.from(2, 7) : dice.one_of({1, 1, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5, 5, 6, 7, 7}),
            .stride = dice.chance(50)   ? 1
                      : dice.chance(60) ? 2
                                        : dice.one_of({3, 3, 4, 5, 7}),
            .before = 0,
            .after = 0,
            .dilation = dice.chance(55)   ? 1
                        : dice.chance(60) ? 2
                                          : dice.one_of({3, 3, 4, 5})};
  const auto draw_padding = [&]() -> int64_t {
    const int64_t kind = dice.from(tight ? 6 : 1, 20), reach = axis.reach();
    if (kind <= 5) return 0;
    if (kind <= 12) return (reach - 1) / 2;
    if (kind <= 17) return dice.from(0, reach - 1);
    return kind <= 19 ? reach - 1 : dice.from(0, reach + 3);
  };
  axis.before = draw_padding();
  axis.after = dice.chance(65) ? axis.before : draw_padding();
  return axis;
}

int64_t draw_channels(Dice& dice) {
  const int64_t kind = dice.from(1, 10);
  if (kind <= 4) return dice.one_of({16, 32, 48, 64});
  if (kind <= 6) return dice.one_of({8, 24, 40, 56});
  return kind <= 7 ? dice.from(1, 4) : dice.from(1, 70);
}

Geometry geometry_of(std::int64_t batch, std::int64_t in, std::int64_t out, std::int64_t groups,
                     const std::vector<Axis>& axes) {
  op::Conv conv;
  conv.groups = static_cast<decltype(conv.groups)>(groups);
  Shape x{batch, in}, y{batch, out};
  Spatial kernel;
  for (const Axis& axis : axes) {
    x.push_back(axis.size);
    y.push_back(axis.result());
    kernel.push_back(axis.kernel);
    conv.stride.push_back(axis.stride);
    conv.padding.push_back(axis.before);
    conv.padding_after.push_back(axis.after);
    conv.dilation.push_back(axis.dilation);
  }
  return Geometry::of(conv, x, y, kernel);
}

}  // namespace

op::Conv conv_of(const Geometry& g) {
  return {g.stride, g.padding, g.padding_after, g.dilation, static_cast<decltype(op::Conv::groups)>(g.groups)};
}

Geometry draw_geometry(std::uint64_t seed, std::uint64_t index) {
  Dice dice(seed, index);
  const int64_t axes = dice.one_of({1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3});
  const bool tight = dice.chance(30);
  std::vector<Axis> list{draw_axis(dice, tight)};
  const bool alike = dice.chance(50), square = dice.chance(50);
  while (static_cast<int64_t>(list.size()) < axes) {
    Axis axis = alike ? list[0] : draw_axis(dice, tight);
    if (!square) axis.size = draw_size(dice, tight);
    list.push_back(axis);
  }
  if (!tight && dice.chance(12)) list.back().size = dice.from(41, 130);  // longer than a kernel's block of pixels
  int64_t groups = 1, ins = draw_channels(dice), outs = dice.chance(25) ? ins : draw_channels(dice);  // of a group
  if (dice.chance(15)) {
    groups = ins;
    ins = 1;
    outs = dice.chance(75) ? 1 : dice.from(1, std::max<int64_t>(1, 70 / groups));
  } else if (dice.chance(30)) {
    groups = dice.one_of({2, 2, 3, 4, 5, 8, 16});
    ins = dice.one_of({1, 2, 3, 4, 8, 16, 32});
    outs = dice.chance(50) ? ins : dice.one_of({1, 2, 3, 4, 5, 8, 16, 32});
    while (groups * std::max(ins, outs) > 70) {
      int64_t& larger = ins > outs ? ins : outs;
      larger = (larger + 1) / 2;
      if (groups > 2) --groups;
    }
  }
  int64_t batch = dice.from(1, 3);
  const int64_t most = dice.chance(12) ? 4'000'000 : dice.chance(40) ? 1'000'000 : 250'000;
  for (;;) {
    for (Axis& axis : list)
      while (axis.result() < 1) ++axis.size;
    int64_t work = batch * groups * ins * outs;
    for (const Axis& axis : list) work *= axis.result() * axis.kernel;
    if (work <= most) break;
    Axis& axis = list[static_cast<std::size_t>(dice.from(0, axes - 1))];
    switch (dice.from(0, 6)) {
      case 0: batch = std::max<int64_t>(1, batch - 1); break;
      case 1: ins = (ins + 1) / 2; break;
      case 2: outs = (outs + 1) / 2; break;
      case 3: axis.kernel = std::max<int64_t>(1, axis.kernel - 1); break;
      case 4: groups = (3 * groups + 3) / 4; break;
      default: axis.size = (2 * axis.size + 1) / 3; break;
    }
    axis.before = std::min(axis.before, axis.reach() + 3);
    axis.after = std::min(axis.after, axis.reach() + 3);
  }
  return geometry_of(batch, groups * ins, groups * outs, groups, list);
}

std::string describe(const Geometry& g) {
  const auto list = [](const char* name, const Spatial& sizes) {
    std::string text = std::string(" ") + name;
    for (int i = 0; i < sizes.size(); ++i) text += (i ? "x" : "=") + std::to_string(sizes[i]);
    return text;
  };
  return "n=" + std::to_string(g.batch) + " ic=" + std::to_string(g.in) + " oc=" + std::to_string(g.out) +
         " g=" + std::to_string(g.groups) + list("x", g.sizes) + list("k", g.kernel) + list("y", g.result) +
         list("s", g.stride) + list("p", g.padding) + list("q", g.padding_after) + list("d", g.dilation);
}

Geometry geometry(const std::string& text) {
  const auto list = [&](const std::string& name) {
    const std::size_t at = (" " + text).find(" " + name + "=");
    require<ArgumentError>(at != std::string::npos, "a geometry without ", name, ": '", text, "'");
    std::vector<int64_t> numbers;
    const char* next = text.c_str() + at + name.size();
    do {
      char* end = nullptr;
      numbers.push_back(std::strtoll(next + 1, &end, 10));
      next = end;
    } while (*next == 'x');
    return numbers;
  };
  const auto x = list("x"), k = list("k"), s = list("s"), p = list("p"), q = list("q"), d = list("d");
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < x.size(); ++i) axes.push_back({x[i], k.at(i), s.at(i), p.at(i), q.at(i), d.at(i)});
  return geometry_of(list("n")[0], list("ic")[0], list("oc")[0], list("g")[0], axes);
}

std::vector<float> whole_numbers(int64_t count, std::uint64_t seed, int most) {
  Dice dice(seed, 0);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) number = static_cast<float>(dice.from(-most, most));
  return numbers;
}

namespace {

/// to[i] += factor * from[i], in eights that a compiler makes vectors of.
void add_scaled(float factor, const float* __restrict from, float* __restrict to, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int64_t lane = 0; lane < 8; ++lane) to[i + lane] += factor * from[i + lane];
  for (; i < count; ++i) to[i] += factor * from[i];
}

/// Calls f(pixel of y, place in the kernel, pixel of x) for every pair of pixels of an image that meet.
template <class F>
void each_meeting(const Geometry& g, F&& f) {
  const int64_t pixels = Geometry::product(g.result), places = Geometry::product(g.kernel);
  for (int64_t pixel = 0; pixel < pixels; ++pixel)
    for (int64_t place = 0; place < places; ++place) {
      int64_t of_y = pixel, of_kernel = place, of_x = 0, step = 1;
      bool inside = true;
      for (int axis = g.sizes.size() - 1; axis >= 0 && inside; --axis) {
        const int64_t at =
            of_y % g.result[axis] * g.stride[axis] - g.padding[axis] + of_kernel % g.kernel[axis] * g.dilation[axis];
        inside = 0 <= at && at < g.sizes[axis];
        of_x += at * step;
        step *= g.sizes[axis];
        of_y /= g.result[axis];
        of_kernel /= g.kernel[axis];
      }
      if (inside) f(pixel, place, of_x);
    }
}

}  // namespace

Truth::Truth(const Geometry& g, std::uint64_t seed) {
  const int64_t places = Geometry::product(g.kernel), x_pixels = Geometry::product(g.sizes),
                y_pixels = Geometry::product(g.result), ins = g.in / g.groups, outs = g.out / g.groups;
  constexpr int kMost = 8;  // 4 million products of two such stay far below 2^53, and sums of one result below 2^24
  x = whole_numbers(g.batch * x_pixels * g.in, seed + 1, kMost);
  weight = whole_numbers(g.out * ins * places, seed + 2, kMost);
  bias = whole_numbers(g.out, seed + 3, kMost);
  y = whole_numbers(g.batch * y_pixels * g.out, seed + 4, kMost);
  forward.resize(y.size());
  data_grad.resize(x.size());
  // Weights with the output channels side by side, and with the input channels.
  std::vector<float> by_out(weight.size()), by_in(weight.size()), grads(weight.size());
  const auto each_weight = [&](auto&& f) {
    for (int64_t o = 0, plain = 0; o < g.out; ++o)
      for (int64_t i = 0; i < ins; ++i)
        for (int64_t place = 0; place < places; ++place, ++plain)
          f(static_cast<std::size_t>(plain), static_cast<std::size_t>((place * ins + i) * g.out + o),
            static_cast<std::size_t>((place * g.out + o) * ins + i));
  };
  each_weight([&](std::size_t plain, std::size_t out_last, std::size_t in_last) {
    by_out[out_last] = by_in[in_last] = weight[plain];
  });
  each_meeting(g, [&](int64_t pixel, int64_t place, int64_t x_pixel) {
    for (int64_t n = 0; n < g.batch; ++n)
      for (int64_t group = 0; group < g.groups; ++group) {
        const int64_t x_at = (n * x_pixels + x_pixel) * g.in + group * ins,
                      y_at = (n * y_pixels + pixel) * g.out + group * outs;
        for (int64_t i = 0; i < ins; ++i) {
          const float number = x[static_cast<std::size_t>(x_at + i)];
          const int64_t row = (place * ins + i) * g.out + group * outs;
          add_scaled(number, by_out.data() + row, forward.data() + y_at, outs);
          add_scaled(number, y.data() + y_at, grads.data() + row, outs);
        }
        for (int64_t o = 0; o < outs; ++o)
          add_scaled(y[static_cast<std::size_t>(y_at + o)], by_in.data() + (place * g.out + group * outs + o) * ins,
                     data_grad.data() + x_at, ins);
      }
  });
  weight_grad.resize(weight.size());
  each_weight([&](std::size_t plain, std::size_t out_last, std::size_t) { weight_grad[plain] = grads[out_last]; });
}

}  // namespace kiln::cpu::onednn
