// libcudnn.so.9 as loops over the fake driver's memory, by what its reference says of descriptors: attributes of their types
// and counts, nothing changed once it is final, nothing final that lacks an attribute, and sizes that belong together. It
// advises engines of which only the last is good for all. Graphs of other operations than convolutions are fake_graph's.
#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <vector>

#include "tests/backend/cuda/fake_graph.hpp"
#include "tests/backend/gpu/convolve.hpp"

namespace {

using kiln::gpu::Convolution;
using namespace kiln::test;

constexpr int kSuccess = 0, kBadParameter = 2000, kNotFinal = 2004, kNotSupported = 3000;
struct Attribute {
  int type;
  std::int64_t least, most;
  bool optional = false;
};
const std::map<int, std::map<int, Attribute>> kRequired{
    {kConvolution,
     {{100, {kDataType, 1, 1}},
      {101, {kMode, 1, 1}},
      {102, {kInt64, 2, 3}},
      {103, {kInt64, 2, 3}},
      {104, {kInt64, 2, 3}},
      {105, {kInt64, 2, 3}},
      {106, {kInt64, 1, 1}}}},
    {kHeuristics, {{200, {kHeuristicsMode, 1, 1}}, {201, {kPart, 1, 1}}}},
    {kPlan, {{400, {kHandleType, 1, 1}}, {401, {kPart, 1, 1}}}},
    {kForward,
     {{700, {kFloat, 1, 1}},
      {701, {kFloat, 1, 1}},
      {702, {kPart, 1, 1}},
      {703, {kPart, 1, 1}},
      {704, {kPart, 1, 1}},
      {705, {kPart, 1, 1}}}},
    {kBackwardData,
     {{706, {kFloat, 1, 1}},
      {707, {kFloat, 1, 1}},
      {708, {kPart, 1, 1}},
      {709, {kPart, 1, 1}},
      {710, {kPart, 1, 1}},
      {711, {kPart, 1, 1}}}},
    {kBackwardFilter,
     {{712, {kFloat, 1, 1}},
      {713, {kFloat, 1, 1}},
      {714, {kPart, 1, 1}},
      {715, {kPart, 1, 1}},
      {716, {kPart, 1, 1}},
      {717, {kPart, 1, 1}}}},
    {kPointwise, {{0, {kPointwiseMode, 1, 1}}, {1, {kDataType, 1, 1}}, {9, {kInt64, 1, 1, true}}}},
    {kPointwiseOperation,
     {{750, {kPart, 1, 1}},
      {751, {kPart, 1, 1}},
      {752, {kPart, 1, 1, true}},
      {753, {kPart, 1, 1}},
      {758, {kPart, 1, 1, true}}}},
    {kProduct, {{1500, {kDataType, 1, 1}}}},
    {kProductOperation, {{1520, {kPart, 1, 1}}, {1521, {kPart, 1, 1}}, {1522, {kPart, 1, 1}}, {1523, {kPart, 1, 1}}}},
    {kReduction, {{1600, {kReductionMode, 1, 1}}, {1601, {kDataType, 1, 1}}}},
    {kReductionOperation, {{1610, {kPart, 1, 1}}, {1611, {kPart, 1, 1}}, {1612, {kPart, 1, 1}}}},
    {kReshapeOperation, {{2200, {kPart, 1, 1}}, {2201, {kPart, 1, 1}}}},
    {kGraph, {{800, {kHandleType, 1, 1}}, {801, {kPart, 1, 99}}}},
    {kTensor,
     {{900, {kInt64, 1, 1}},
      {901, {kDataType, 1, 1}},
      {902, {kInt64, 4, 5}},
      {903, {kInt64, 4, 5}},
      {906, {kInt64, 1, 1}},
      {907, {kBoolean, 1, 1, true}},
      {908, {kBoolean, 1, 1, true}}}},
    {kPack, {{1000, {kInt64, 3, 99}}, {1001, {kPointer, 3, 99}}, {1003, {kPointer, 1, 1}}}},
};

std::size_t size_of_type(int type) {
  switch (type) {
    case kBoolean: return 1;
    case kDataType:
    case kMode:
    case kHeuristicsMode:
    case kNote:
    case kPointwiseMode:
    case kReductionMode:
    case kFloat: return 4;
    default: return 8;
  }
}

std::vector<std::int64_t> numbers(const Descriptor& of, int attribute) { return of.numbers(attribute); }

bool is_sound_tensor(const Descriptor& x) {
  const auto sizes = numbers(x, 902), strides = numbers(x, 903);
  const auto positive = [](const auto& all) { return std::ranges::all_of(all, [](std::int64_t i) { return i > 0; }); };
  const std::map<int, std::int64_t> bytes{{0, 4}, {1, 8}, {2, 2}, {4, 4}, {9, 2}, {11, 1}};
  const auto known = bytes.find(x.one<int>(901));
  return known != bytes.end() && sizes.size() == strides.size() && positive(sizes) && positive(strides) &&
         x.one<std::int64_t>(900) % known->second == 0;
}

/// An operation's first attribute is alpha; then beta and the convolution, and where the weight, x and y stand.
struct Places {
  int alpha, weight, x, y;
};
Places places_of(const Descriptor& operation) {
  if (operation.kind == kForward) return {700, 703, 704, 705};
  if (operation.kind == kBackwardData) return {706, 709, 710, 711};
  return {712, 715, 716, 717};
}

double number(const Descriptor& of, int attribute) {
  return of.values.at(attribute).first == kDouble ? of.one<double>(attribute) : double(of.one<float>(attribute));
}

/// Sizes, types and numbers that belong together.
bool is_sound_operation(const Descriptor& of) {
  const Places at = places_of(of);
  const Descriptor &c = of.part(at.alpha + 2), &x = of.part(at.x), &w = of.part(at.weight), &y = of.part(at.y);
  if (c.kind != kConvolution || x.kind != kTensor || w.kind != kTensor || y.kind != kTensor) return false;
  const auto xs = numbers(x, 902), ws = numbers(w, 902), ys = numbers(y, 902);
  const auto axes = static_cast<std::size_t>(c.one<std::int64_t>(106));
  if (xs.size() != axes + 2 || ws.size() != xs.size() || ys.size() != xs.size()) return false;
  for (const int attribute : {102, 103, 104, 105})
    if (numbers(c, attribute).size() != axes) return false;
  const int type = x.one<int>(901);
  if (w.one<int>(901) != type || y.one<int>(901) != type || c.one<int>(100) != (type == 1 ? 1 : 0)) return false;
  if (c.one<int>(101) != 1 || number(of, at.alpha) != 1 || number(of, at.alpha + 1) != 0) return false;
  if (of.values.at(at.alpha).first != (type == 1 ? kDouble : kFloat)) return false;
  if (xs[0] != ys[0] || ws[0] != ys[1] || xs[1] % ws[1] || ws[0] % (xs[1] / ws[1])) return false;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t reach = numbers(c, 102)[i] * (ws[i + 2] - 1) + 1;
    const std::int64_t padded = xs[i + 2] + numbers(c, 105)[i] + numbers(c, 104)[i];
    if (ys[i + 2] != (padded - reach) / numbers(c, 103)[i] + 1) return false;
  }
  return true;
}

/// Engines, in the order in which they are advised. Those that are not to be taken fail.
enum Engine { kTransforms, kTakesMuch, kTensorCores, kPlain, kEngines };
std::vector<int> notes_of(const Descriptor& engine) {
  if (engine.engine == kTransforms) return {5};
  return engine.engine == kTensorCores ? std::vector{0} : std::vector<int>{};
}
bool may_run(int engine, int) { return engine == kPlain || engine == kTensorCores; }
int plain_convolutions = 0, rounded_convolutions = 0;  // of float32

template <class T>
int give(const std::vector<T>& values, std::int64_t wanted, std::int64_t* count, void* to) {
  *count = static_cast<std::int64_t>(values.size());
  if (to) std::copy_n(values.data(), std::min(wanted, *count), static_cast<T*>(to));
  return kSuccess;
}

}  // namespace

extern "C" {

int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data);  // the fake driver's

/// What cudnnCreate() makes: each handle has a stream of its own.
struct Handle {
  void* stream = nullptr;
};

std::size_t kiln_fake_cudnn_version = 91900;  // tests set it

/// For tests: how many convolutions of float32 ran without tensor cores and on them, where their operands are TF32.
void kiln_fake_cudnn_convolutions(int* plain, int* rounded) {
  *plain = plain_convolutions;
  *rounded = rounded_convolutions;
}

std::size_t cudnnGetVersion() { return kiln_fake_cudnn_version; }
int cudnnCreate(void** handle) {
  *handle = new Handle;
  return kSuccess;
}
int cudnnDestroy(void* handle) {
  delete static_cast<Handle*>(handle);
  return kSuccess;
}
int cudnnSetStream(void* handle, void* stream) {
  static_cast<Handle*>(handle)->stream = stream;
  return kSuccess;
}
const char* cudnnGetErrorString(int) { return "a status"; }

int cudnnBackendCreateDescriptor(int kind, void** made) {
  *made = new Descriptor{kind};
  return kSuccess;
}
int cudnnBackendDestroyDescriptor(void* descriptor) {
  delete static_cast<Descriptor*>(descriptor);
  return kSuccess;
}

int cudnnBackendSetAttribute(void* descriptor, int attribute, int type, std::int64_t count, const void* values) {
  auto& of = *static_cast<Descriptor*>(descriptor);
  const auto known = kRequired.find(of.kind);
  if (of.final || known == kRequired.end() || !known->second.contains(attribute)) return kBadParameter;
  const Attribute& is = known->second.at(attribute);
  if (type != is.type && !(type == kDouble && is.type == kFloat)) return kBadParameter;
  if (count < is.least || count > is.most) return kBadParameter;
  for (std::int64_t i = 0; type == kPart && i < count; ++i)
    if (!static_cast<Descriptor* const*>(values)[i]->final) return kNotFinal;
  const auto* const bytes = static_cast<const std::byte*>(values);
  of.values[attribute] = {type, {bytes, bytes + static_cast<std::size_t>(count) * size_of_type(type)}};
  return kSuccess;
}

int cudnnBackendFinalize(void* descriptor) {
  auto& of = *static_cast<Descriptor*>(descriptor);
  const auto known = kRequired.find(of.kind);
  if (of.final || known == kRequired.end()) return kBadParameter;
  for (const auto& [number, attribute] : known->second)
    if (!attribute.optional && !of.has(number)) return kBadParameter;
  const bool operation = of.kind == kForward || of.kind == kBackwardData || of.kind == kBackwardFilter;
  if (of.kind == kTensor && !is_sound_tensor(of)) return kBadParameter;
  if (operation && !is_sound_operation(of)) return kBadParameter;
  if (is_general(of) && !is_sound_general(of)) return kBadParameter;
  if (of.kind == kGraph && is_general(of.part(801)) && !is_sound_graph(of.all<Descriptor*>(801))) return kBadParameter;
  of.final = true;
  return kSuccess;
}

int cudnnBackendGetAttribute(void* descriptor, int attribute, int type, std::int64_t wanted, std::int64_t* count,
                             void* values) {
  auto& of = *static_cast<Descriptor*>(descriptor);
  if (!of.final) return kNotFinal;
  if (of.kind == kHeuristics && attribute == 202 && type == kPart) {
    *count = of.one<int>(200) == 3 ? kEngines : 0;
    for (std::int64_t i = 0; i < std::min(wanted, *count); ++i) {
      Descriptor& config = *static_cast<Descriptor**>(values)[i];
      if (config.kind != kConfig) return kBadParameter;
      config.engine = static_cast<int>(i);
      config.graph = &of.part(201);
      config.final = true;
    }
    return kSuccess;
  }
  if (of.kind == kConfig && attribute == 300 && type == kPart && wanted == 1) {
    Descriptor& engine = **static_cast<Descriptor**>(values);
    if (engine.kind != kEngine) return kBadParameter;
    engine.engine = of.engine;
    engine.final = true;
    *count = 1;
    return kSuccess;
  }
  if (of.kind == kEngine && attribute == 1303 && type == kNote) return give(notes_of(of), wanted, count, values);
  if (of.kind == kEngine && attribute == 1301 && type == kInt64)
    return give(std::vector<std::int64_t>{of.engine}, wanted, count, values);
  if (of.kind == kPlan && attribute == 402 && type == kInt64) {
    const bool much = of.part(401).engine == kTakesMuch;
    return give(std::vector<std::int64_t>{much ? std::int64_t{1} << 40 : 1024}, wanted, count, values);
  }
  return kNotSupported;
}

static int run_general(void* stream, const Descriptor& plan, const Descriptor& pack) {
  if (plan.part(401).engine != kTensorCores && plan.part(401).engine != kPlain) return kBadParameter;
  static std::list<std::unique_ptr<GraphJob>> asked;  // which graphs may do again
  auto job = job_of(plan.part(401).graph->all<Descriptor*>(801), pack);
  if (!job) return kBadParameter;
  GraphJob& is = *asked.emplace_back(std::move(job));
  return cuLaunchHostFunc(stream, [](void* one) { static_cast<GraphJob*>(one)->run(); }, &is);
}

int cudnnBackendExecute(void* handle, void* plan, void* variant_pack) {
  void* const stream = static_cast<Handle*>(handle)->stream;
  const auto &of = *static_cast<Descriptor*>(plan), &pack = *static_cast<Descriptor*>(variant_pack);
  if (!of.final || !pack.final) return kNotFinal;
  const Descriptor& operation = of.part(401).graph->part(801);
  if (is_general(operation)) return run_general(stream, of, pack);
  const Places at = places_of(operation);
  const int type = operation.part(at.x).one<int>(901);
  if (!may_run(of.part(401).engine, type) || !pack.one<void*>(1003)) return kBadParameter;
  if (type == 0) ++(of.part(401).engine == kTensorCores ? rounded_convolutions : plain_convolutions);
  const Descriptor& c = operation.part(at.alpha + 2);
  const auto dims = [](const Descriptor& from, int attribute) {
    const auto all = numbers(from, attribute);
    return kiln::Dims(all.begin(), all.end());
  };
  const auto spatial = [&](int attribute) {
    const auto all = numbers(c, attribute);
    return kiln::Spatial(all.begin(), all.end());
  };
  bool aligned = true;
  const auto tensor = [&](const Descriptor& x) {
    const auto ids = numbers(pack, 1000);
    const auto which = std::ranges::find(ids, x.one<std::int64_t>(906)) - ids.begin();
    auto* const data = pack.all<std::byte*>(1001).at(static_cast<std::size_t>(which));
    aligned = aligned && reinterpret_cast<std::uintptr_t>(data) % x.one<std::uint64_t>(900) == 0;
    return Convolution::Tensor{data, dims(x, 902), dims(x, 903)};
  };
  using enum Convolution::Kind;
  static std::list<Convolution> asked;  // which graphs may do again
  Convolution& is = asked.emplace_back(Convolution{.kind = operation.kind == kForward        ? Forward
                                                           : operation.kind == kBackwardData ? DataGradient
                                                                                             : WeightGradient,
                                                   .dtype = type == 0   ? kiln::DType::F32
                                                            : type == 1 ? kiln::DType::F64
                                                            : type == 2 ? kiln::DType::F16
                                                                        : kiln::DType::BF16,
                                                   .x = tensor(operation.part(at.x)),
                                                   .weight = tensor(operation.part(at.weight)),
                                                   .y = tensor(operation.part(at.y)),
                                                   .stride = spatial(103),
                                                   .padding = spatial(105),
                                                   .padding_after = spatial(104),
                                                   .dilation = spatial(102)});
  if (!aligned) return kBadParameter;
  return cuLaunchHostFunc(
      stream, [](void* one) { kiln::test::convolve_by_loops(*static_cast<Convolution*>(one)); }, &is);
}

}  // extern "C"
