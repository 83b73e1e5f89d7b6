// What fake_cudnn keeps of a descriptor, and the numbers of kinds, types and data types that its parts share.
#pragma once
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

namespace kiln::test {

// Kinds of descriptors
enum {
  kPointwise,
  kConvolution,
  kEngine,
  kConfig,
  kHeuristics,
  kPlan,
  kForward = 10,
  kBackwardFilter,
  kBackwardData,
  kPointwiseOperation,
  kGraph = 15,
  kPack,
  kTensor,
  kProduct,
  kProductOperation,
  kReduction = 21,
  kReductionOperation,
  kReshapeOperation = 31
};
// Types of attributes
enum {
  kHandleType,
  kDataType,
  kBoolean,
  kInt64,
  kFloat,
  kDouble,
  kPointer,
  kMode,
  kHeuristicsMode,
  kNote = 11,
  kPointwiseMode = 14,
  kPart,
  kReductionMode = 18
};

struct Descriptor {
  int kind;
  bool final = false;
  std::map<int, std::pair<int, std::vector<std::byte>>> values{};  // type and bytes
  int engine = 0;                                                  // of engines and their configurations
  Descriptor* graph = nullptr;                                     // likewise

  bool has(int attribute) const { return values.contains(attribute); }
  template <class T>
  std::vector<T> all(int attribute) const {
    const auto& bytes = values.at(attribute).second;
    std::vector<T> made(bytes.size() / sizeof(T));
    std::memcpy(made.data(), bytes.data(), bytes.size());
    return made;
  }
  template <class T>
  T one(int attribute) const {
    T made;
    std::memcpy(&made, values.at(attribute).second.data(), sizeof(T));
    return made;
  }
  Descriptor& part(int attribute) const { return *reinterpret_cast<Descriptor*>(one<std::uintptr_t>(attribute)); }
  std::vector<std::int64_t> numbers(int attribute) const { return all<std::int64_t>(attribute); }
};

}  // namespace kiln::test
