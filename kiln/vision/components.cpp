#include "kiln/vision/components.hpp"

#include <numeric>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/core/error/called_as.hpp"
#include "kiln/core/size.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "kiln/tensor/custom.hpp"

namespace kiln::vision {
namespace {

/// Disjoint sets of pixels as trees; each root is the first pixel of its set.
class Trees {
 public:
  explicit Trees(std::size_t pixels) : parents_(pixels) {}

  void start(std::int64_t pixel) { at(pixel) = pixel; }
  std::int64_t root(std::int64_t pixel) {
    while (at(pixel) != pixel) pixel = at(pixel) = at(at(pixel));
    return pixel;
  }
  void join(std::int64_t a, std::int64_t b) {
    a = root(a);
    b = root(b);
    at(std::max(a, b)) = std::min(a, b);
  }

 private:
  std::int64_t& at(std::int64_t pixel) { return parents_[static_cast<std::size_t>(pixel)]; }
  std::vector<std::int64_t> parents_;
};

/// Labels the components of one picture: joins each pixel with the earlier ones that touch it, then numbers the roots.
void label_picture(const bool* mask, std::int64_t height, std::int64_t width, bool corners, std::int64_t* labels) {
  Trees trees(static_cast<std::size_t>(height * width));
  for (std::int64_t y = 0, i = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x, ++i) {
      if (!mask[i]) continue;
      trees.start(i);
      if (x > 0 && mask[i - 1]) trees.join(i, i - 1);
      if (y == 0) continue;
      if (mask[i - width]) trees.join(i, i - width);
      if (corners && x > 0 && mask[i - width - 1]) trees.join(i, i - width - 1);
      if (corners && x + 1 < width && mask[i - width + 1]) trees.join(i, i - width + 1);
    }
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < height * width; ++i) {
    if (!mask[i]) {
      labels[i] = 0;
      continue;
    }
    const std::int64_t root = trees.root(i);
    labels[i] = root == i ? ++count : labels[root];
  }
}

struct LabelComponents {
  Connectivity connectivity = Connectivity::Eight;

  std::string name() const { return "connected_components"; }
  Desc infer(Inputs in) const { return {in[0].shape(), DType::I64}; }
  Value expand(Inputs in) const { return labels_by_ops(in[0], connectivity); }
  bool run(std::string_view backend, Call call) const {
    if (backend != "cpu") return false;
    Value held;
    const bool* mask = cpu::read_contiguous(call.in[0], held).as<const bool>();
    std::int64_t* labels = cpu::allocate(call.out[0]).as<std::int64_t>();
    const Shape shape = call.in[0].shape();
    const std::int64_t height = shape[2], width = shape[3], pixels = height * width;
    parallel_for(shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        label_picture(mask + i * pixels, height, width, connectivity == Connectivity::Eight, labels + i * pixels);
    });
    return true;
  }
};

}  // namespace

Value labels_by_ops(const Value& mask, Connectivity connectivity) {
  const std::int64_t batch = mask.dim(0), height = mask.dim(2), width = mask.dim(3), pixels = height * width;
  const Device device = mask.device();
  // [batch, pixels + 1]: the least known index of each pixel's component. The value `pixels`, which the last element
  // has too, stands for none.
  const Value own = arange(0, pixels + 1, 1, device);
  const Value set = kiln::pad(reshape(mask, {batch, pixels}), {0, 0}, {0, 1}, false);
  Value least = where(set, own, pixels);
  for (;;) {
    const Value wide = make_border(reshape(narrow(least, 1, 0, pixels), {batch, 1, height, width}), {1, 1, 1, 1},
                                   Border::Constant, pixels);
    Value around = narrow(narrow(wide, 2, 1, height), 3, 1, width);
    for (const auto& [down, across] : {std::pair{0, 1}, {1, 0}, {1, 2}, {2, 1}, {0, 0}, {0, 2}, {2, 0}, {2, 2}}) {
      if (connectivity == Connectivity::Four && (down + across) % 2 == 0) continue;
      around = minimum(around, narrow(narrow(wide, 2, down, height), 3, across, width));
    }
    const Value flat = kiln::pad(reshape(around, {batch, pixels}), {0, 0}, {0, 1}, pixels);
    const Value taken = where(set, flat, pixels);
    const Value hooked = minimum(scatter(least, 1, least, taken, Update::Min), taken);
    const Value next = gather(hooked, 1, hooked);
    if (any(ne(next, least)).item() == 0) break;
    least = next;
  }
  const Value ranks = cumsum(cast(logical_and(set, eq(least, own)), DType::I64), 1);
  const Value labels = where(set, gather(ranks, 1, least), 0);
  return reshape(narrow(labels, 1, 0, pixels), mask.shape());
}

Components connected_components(const Value& mask, Connectivity connectivity) {
  constexpr std::string_view name = "connected_components";
  const CalledAs named("connected_components");
  op::require_tensor(name, mask);
  require<ShapeError>(mask.rank() == 4 && mask.dim(1) == 1, name, ": a mask is [batch, 1, height, width], got ",
                      mask.shape());
  require_enumerator(name, "connectivity", static_cast<int>(connectivity), static_cast<int>(Connectivity::Eight));
  const std::int64_t batch = mask.dim(0);
  if (mask.numel() == 0) return {cast(mask, DType::I64), zeros({batch}, mask.device(), DType::I64)};
  const Value set = mask.dtype() == DType::Bool ? mask : ne(mask.detach(), 0);
  const Value labels = custom_all(LabelComponents{connectivity}, set)[0];
  return {labels, max(flatten(labels, 1), {1})};
}

ComponentStatistics component_statistics(const Value& labels, std::int64_t count) {
  constexpr std::string_view name = "component_statistics";
  const CalledAs named("component_statistics");
  op::require_index(name, labels);
  require<ShapeError>(labels.rank() == 4 && labels.dim(1) == 1, name, ": labels are [batch, 1, height, width], got ",
                      labels.shape());
  require<ArgumentError>(count >= 0, name, ": a count of ", count, " labels");
  const std::int64_t batch = labels.dim(0), height = labels.dim(2), width = labels.dim(3),
                     all = add_sizes(name, count, 1);
  const Device device = labels.device();
  const Value index = cast(reshape(labels, {batch, height * width}), DType::I64);
  const auto spread = [&](const Value& along) { return reshape(expand(along, labels.shape()), index.shape()); };
  const Value x = spread(reshape(arange(0, width, 1, device), {1, 1, 1, width}));
  const Value y = spread(reshape(arange(0, height, 1, device), {1, 1, height, 1}));
  const auto gathered = [&](std::int64_t start, const Value& source, Update update) {
    return scatter(full({batch, all}, start, device, DType::I64), 1, index, source, update);
  };
  const Value areas = gathered(0, ones(index.shape(), device, DType::I64), Update::Add);
  const Value empty = eq(areas, 0);
  const auto edge = [&](std::int64_t start, const Value& source, Update update) {
    return where(empty, 0, gathered(start, source, update));
  };
  const Value boxes = stack(Values{edge(width, x, Update::Min), edge(height, y, Update::Min),
                                   edge(0, x + 1, Update::Max), edge(0, y + 1, Update::Max)},
                            -1);
  const Value pixels = cast(areas, DType::F64);
  const auto middle = [&](const Value& source) {
    return cast(gathered(0, source, Update::Add), DType::F64) / pixels + 0.5;
  };
  return {areas, boxes, stack(Values{middle(x), middle(y)}, -1)};
}

}  // namespace kiln::vision
