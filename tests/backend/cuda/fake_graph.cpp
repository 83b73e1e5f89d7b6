#include "tests/backend/cuda/fake_graph.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "kiln/core/half.hpp"
#include "kiln/core/shape.hpp"
#include "tests/backend/gpu/convolve.hpp"

namespace kiln::test {
namespace {

enum Mode {
  kAdd,
  kMultiply,
  kDivide = 6,
  kSubtract = 9,
  kExp = 13,
  kLog = 15,
  kIdentity = 21,
  kGreater = 302,
  kGreaterEqual,
  kIndex = 501,
  kSelect = 601
};
enum Data { kFloat32, kFloat64, kHalf, kInt32 = 4, kBFloat16 = 9, kBool = 11 };

/// A tensor with its numbers, which lie as its strides say.
struct Tensor {
  std::int64_t id, alignment;
  int type;
  Shape sizes;
  Dims strides;
  bool between = false;
  std::byte* memory = nullptr;
  double number = 0;
  bool by_value = false;
  std::vector<double> all{};

  explicit Tensor(const Descriptor& x)
      : id(x.one<std::int64_t>(906)),
        alignment(x.one<std::int64_t>(900)),
        type(x.one<int>(901)),
        between(x.has(907) && x.one<bool>(907)),
        by_value(x.has(908) && x.one<bool>(908)) {
    for (const std::int64_t size : x.numbers(902)) sizes.push_back(size);
    for (const std::int64_t stride : x.numbers(903)) strides.push_back(stride);
  }
  std::int64_t reach() const {
    std::int64_t made = 1;
    for (int i = 0; i < sizes.size(); ++i) made += (sizes[i] - 1) * strides[i];
    return made;
  }
  double& at(const Dims& index) { return all[static_cast<std::size_t>(place(index, strides))]; }
  /// Element `index` of a larger tensor as this one broadcasts to it; so many of its heads share one of these.
  double& shared(const Dims& index, const Shape& of) {
    Dims own = index;
    for (int i = 0; i < sizes.size(); ++i) own[i] = index[i] * sizes[i] / of[i];
    return at(own);
  }
  double rounded(double x) const {
    if (type == kHalf) return static_cast<double>(static_cast<float>(F16(static_cast<float>(x))));
    if (type == kBFloat16) return static_cast<double>(static_cast<float>(BF16(static_cast<float>(x))));
    return type == kFloat32 ? static_cast<double>(static_cast<float>(x)) : x;
  }
  static DType dtype(int type) {
    return type == kFloat32 ? DType::F32 : type == kHalf ? DType::F16 : type == kBFloat16 ? DType::BF16 : DType::F64;
  }
  void begin() {
    all.assign(static_cast<std::size_t>(reach()), by_value ? number : 0);
    if (!memory || by_value) return;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = load(dtype(type), memory, static_cast<std::int64_t>(i));
  }
  void end() {
    if (!memory || by_value) return;
    Dims index = Dims::filled(sizes.size(), 0);
    do { store(dtype(type), memory, place(index, strides), at(index)); } while (step(index, sizes));
  }
};

std::vector<int> operands_of(const Descriptor& of) {
  std::vector<int> all;
  const auto take = [&](std::initializer_list<int> attributes) {
    for (const int attribute : attributes)
      if (of.has(attribute)) all.push_back(attribute);
  };
  if (of.kind == kPointwiseOperation) take({751, 752, 758});
  if (of.kind == kProductOperation) take({1520, 1521});
  if (of.kind == kReductionOperation) take({1610});
  if (of.kind == kReshapeOperation) take({2200});
  return all;
}
int made_of(const Descriptor& of) {
  return of.kind == kPointwiseOperation   ? 753
         : of.kind == kProductOperation   ? 1522
         : of.kind == kReductionOperation ? 1611
                                          : 2201;
}

double apply(int mode, double x, double y, double z) {
  switch (mode) {
    case kAdd: return x + y;
    case kMultiply: return x * y;
    case kDivide: return x / y;
    case kSubtract: return x - y;
    case kExp: return std::exp(x);
    case kLog: return std::log(x);
    case kGreater: return x > y;
    case kGreaterEqual: return x >= y;
    case kSelect: return z != 0 ? x : y;
    default: return x;
  }
}

struct Step {
  int kind, mode = 0;
  std::int64_t axis = 0;
  std::vector<std::size_t> in;
  std::size_t out = 0;
};

void run_step(const Step& operation, std::vector<Tensor>& tensors) {
  Tensor& out = tensors[operation.out];
  std::vector<Tensor*> in;
  for (const std::size_t i : operation.in) in.push_back(&tensors[i]);
  Tensor& x = *in[0];
  Dims index = Dims::filled(out.sizes.size(), 0);
  if (operation.kind == kReshapeOperation) {  // the same memory
    std::vector<double> same = x.all;
    same.resize(static_cast<std::size_t>(out.reach()));
    out.all = same;
    for (double& number : out.all) number = out.rounded(number);
    return;
  }
  if (operation.kind == kReductionOperation) {
    std::ranges::fill(out.all, operation.mode == 0 ? 0 : -INFINITY);
    index = Dims::filled(x.sizes.size(), 0);
    do {
      double& to = out.shared(index, x.sizes);
      to = operation.mode == 0 ? to + x.at(index) : std::max(to, x.at(index));
    } while (step(index, x.sizes));
    for (double& number : out.all) number = out.rounded(number);
    return;
  }
  do {
    double made = 0;
    if (operation.kind == kProductOperation) {
      Dims left = index, right = index;
      const std::int64_t depth = x.sizes[3];
      for (std::int64_t i = 0; i < depth; ++i) {
        left[3] = right[2] = i;
        for (int dim = 0; dim < 2; ++dim) {
          left[dim] = index[dim] * x.sizes[dim] / out.sizes[dim];
          right[dim] = index[dim] * in[1]->sizes[dim] / out.sizes[dim];
        }
        made += x.at(left) * in[1]->at(right);
      }
    } else if (operation.mode == kIndex) {
      made = static_cast<double>(index[static_cast<int>(operation.axis)]);
    } else {
      const double y = in.size() > 1 ? in[1]->shared(index, out.sizes) : 0;
      made = apply(operation.mode, x.shared(index, out.sizes), y, in.size() > 2 ? in[2]->shared(index, out.sizes) : 0);
    }
    out.at(index) = out.rounded(made);
  } while (step(index, out.sizes));
}

class Job final : public GraphJob {
 public:
  std::vector<Tensor> tensors;
  std::vector<Step> steps;
  void run() override {
    for (Tensor& tensor : tensors) tensor.begin();
    for (const Step& each : steps) {
      run_step(each, tensors);
      tensors[each.out].end();
    }
  }
  std::size_t add(const Descriptor& descriptor) {
    Tensor made(descriptor);
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].id == made.id) return i;
    tensors.push_back(std::move(made));
    return tensors.size() - 1;
  }
};

}  // namespace

bool is_general(const Descriptor& of) {
  return of.kind == kPointwiseOperation || of.kind == kProductOperation || of.kind == kReductionOperation ||
         of.kind == kReshapeOperation;
}

bool is_sound_general(const Descriptor& of) {
  const Tensor made(of.part(made_of(of)));
  std::vector<Tensor> in;
  for (const int attribute : operands_of(of)) {
    if (of.part(attribute).kind != kTensor) return false;
    in.emplace_back(of.part(attribute));
  }
  if (in.empty() || made.sizes.size() != 4) return false;
  const auto divides = [](const Shape& small, const Shape& large) {
    for (int i = 0; i < 4; ++i)
      if (large[i] % small[i]) return false;
    return true;
  };
  const Shape& x = in[0].sizes;
  if (of.kind == kProductOperation) {
    const Shape& y = in[1].sizes;
    return of.part(1523).kind == kProduct && x[3] == y[2] && made.sizes[2] == x[2] && made.sizes[3] == y[3] &&
           made.sizes[0] == x[0] && made.sizes[1] == x[1] && x[0] % y[0] == 0 && x[1] % y[1] == 0 &&
           (in[0].type == in[1].type || in[0].between) && (in[1].type == kHalf || in[1].type == kBFloat16);
  }
  if (of.kind == kReductionOperation) return of.part(1612).kind == kReduction && divides(made.sizes, x);
  if (of.kind == kReshapeOperation) return numel(made.sizes) == numel(x) && made.reach() == in[0].reach();
  if (of.part(750).kind != kPointwise) return false;
  const int mode = of.part(750).one<int>(0);
  const bool alone = mode == kExp || mode == kLog || mode == kIdentity || mode == kIndex;
  if (in.size() != (alone ? 1u : mode == kSelect ? 3u : 2u) || (mode == kIndex && !of.part(750).has(9))) return false;
  const bool compares = mode == kGreater || mode == kGreaterEqual;
  if (compares != (made.type == kBool) || (mode == kSelect && in[2].type != kBool)) return false;
  return std::ranges::all_of(in, [&](const Tensor& each) { return divides(each.sizes, made.sizes); });
}

bool is_sound_graph(const std::vector<Descriptor*>& operations) {
  std::set<std::int64_t> made;
  for (const Descriptor* const of : operations) {
    for (const int attribute : operands_of(*of)) {
      const Tensor x(of->part(attribute));
      if (x.between && !made.contains(x.id)) return false;
    }
    if (!made.insert(Tensor(of->part(made_of(*of))).id).second) return false;
  }
  return true;
}

std::unique_ptr<GraphJob> job_of(const std::vector<Descriptor*>& operations, const Descriptor& pack) {
  auto job = std::make_unique<Job>();
  for (const Descriptor* const of : operations) {
    Step made{.kind = of->kind, .in = {}};
    for (const int attribute : operands_of(*of)) made.in.push_back(job->add(of->part(attribute)));
    made.out = job->add(of->part(made_of(*of)));
    if (of->kind == kPointwiseOperation) {
      made.mode = of->part(750).one<int>(0);
      if (of->part(750).has(9)) made.axis = of->part(750).one<std::int64_t>(9);
    }
    if (of->kind == kReductionOperation) made.mode = of->part(1612).one<int>(1600);
    job->steps.push_back(std::move(made));
  }
  const auto ids = pack.numbers(1000);
  const auto places = pack.all<std::byte*>(1001);
  std::size_t given = 0;
  for (Tensor& x : job->tensors) {
    if (x.between) continue;
    const auto found = std::ranges::find(ids, x.id);
    if (found == ids.end()) return nullptr;
    ++given;
    x.memory = places.at(static_cast<std::size_t>(found - ids.begin()));
    if (x.by_value && x.type == kInt32) x.number = *reinterpret_cast<const std::int32_t*>(x.memory);
    else if (x.by_value) x.number = static_cast<double>(*reinterpret_cast<const float*>(x.memory));
    else if (reinterpret_cast<std::uintptr_t>(x.memory) % static_cast<std::uintptr_t>(x.alignment)) return nullptr;
  }
  return given == ids.size() ? std::move(job) : nullptr;
}

}  // namespace kiln::test
