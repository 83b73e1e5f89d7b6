// The part of cuDNN, NVIDIA's library for convolutions and attention, that is used: its descriptors of graphs of
// operations. Names and numbers are those of the chapter "Graph API" of its reference, version 9.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "kiln/backend/cuda/driver_api.hpp"

namespace kiln::cuda::cudnn {

/// cudnnStatus_t; 0 is success.
using Status = int;

/// cudnnBackendDescriptorType_t
enum class Kind : int {
  Pointwise = 0,
  Convolution = 1,
  Engine = 2,
  EngineConfig = 3,
  Heuristics = 4,
  Plan = 5,
  ConvolutionForward = 10,
  ConvolutionBackwardFilter = 11,
  ConvolutionBackwardData = 12,
  PointwiseOperation = 13,
  Graph = 15,
  VariantPack = 16,
  Tensor = 17,
  Product = 18,
  ProductOperation = 19,
  Reduction = 21,
  ReductionOperation = 22,
  ReshapeOperation = 31,
};

/// cudnnBackendAttributeName_t
enum class Attribute : int {
  PointwiseMode = 0,
  PointwiseComputeType = 1,
  PointwiseAxis = 9,
  ConvolutionComputeType = 100,
  ConvolutionMode = 101,
  ConvolutionDilations = 102,
  ConvolutionStrides = 103,
  ConvolutionPostPaddings = 104,
  ConvolutionPrePaddings = 105,
  ConvolutionSpatialDims = 106,
  HeuristicsMode = 200,
  HeuristicsGraph = 201,
  HeuristicsResults = 202,
  ConfigEngine = 300,
  PlanHandle = 400,
  PlanConfig = 401,
  PlanWorkspaceSize = 402,
  ForwardAlpha = 700,
  ForwardBeta = 701,
  ForwardConvolution = 702,
  ForwardWeight = 703,
  ForwardX = 704,
  ForwardY = 705,
  DataAlpha = 706,
  DataBeta = 707,
  DataConvolution = 708,
  DataWeight = 709,
  DataX = 710,
  DataY = 711,
  FilterAlpha = 712,
  FilterBeta = 713,
  FilterConvolution = 714,
  FilterWeight = 715,
  FilterX = 716,
  FilterY = 717,
  PointwiseHow = 750,
  PointwiseX = 751,
  PointwiseB = 752,
  PointwiseY = 753,
  PointwiseT = 758,
  GraphHandle = 800,
  GraphOperations = 801,
  TensorByteAlignment = 900,
  TensorDataType = 901,
  TensorDimensions = 902,
  TensorStrides = 903,
  TensorUniqueId = 906,
  TensorIsVirtual = 907,
  TensorIsByValue = 908,
  PackUniqueIds = 1000,
  PackDataPointers = 1001,
  PackWorkspace = 1003,
  EngineGlobalIndex = 1301,
  EngineNumericalNotes = 1303,
  ProductComputeType = 1500,
  ProductA = 1520,
  ProductB = 1521,
  ProductC = 1522,
  ProductHow = 1523,
  ReductionOperator = 1600,
  ReductionComputeType = 1601,
  ReductionX = 1610,
  ReductionY = 1611,
  ReductionHow = 1612,
  ReshapeX = 2200,
  ReshapeY = 2201,
};

enum class DataType : int {
  Float = 0,
  Double = 1,
  Half = 2,
  Int32 = 4,
  BFloat16 = 9,
  Boolean = 11
};  // cudnnDataType_t
enum class Mode : int { Convolution = 0, CrossCorrelation = 1 };  // cudnnConvolutionMode_t
/// cudnnPointwiseMode_t
enum class PointwiseMode : int {
  Add = 0,
  Multiply = 1,
  Divide = 6,
  Subtract = 9,
  Exp = 13,
  Log = 15,
  Identity = 21,
  Greater = 302,
  GreaterEqual = 303,
  Index = 501,
  Select = 601,
};
enum class ReduceBy : int { Add = 0, Max = 3 };           // cudnnReduceTensorOp_t
enum class HeuristicsMode : int { Fallback = 2, A = 3 };  // cudnnBackendHeurMode_t
/// cudnnBackendNumericalNote_t
enum class Note : int {
  TensorCore = 0,
  DownConvertInputs = 1,
  ReducedPrecisionReduction = 2,
  Fft = 3,
  Nondeterministic = 4,
  Winograd = 5,
};

using Handle = struct cudnnContext*;
using DescriptorHandle = struct cudnnBackendDescriptor*;

/// The cudnnBackendAttributeType_t of an attribute's values.
template <class T>
inline constexpr int kTypeOf = -1;
template <>
inline constexpr int kTypeOf<Handle> = 0;
template <>
inline constexpr int kTypeOf<DataType> = 1;
template <>
inline constexpr int kTypeOf<bool> = 2;
template <>
inline constexpr int kTypeOf<std::int64_t> = 3;
template <>
inline constexpr int kTypeOf<float> = 4;
template <>
inline constexpr int kTypeOf<double> = 5;
template <>
inline constexpr int kTypeOf<void*> = 6;
template <>
inline constexpr int kTypeOf<Mode> = 7;
template <>
inline constexpr int kTypeOf<HeuristicsMode> = 8;
template <>
inline constexpr int kTypeOf<Note> = 11;
template <>
inline constexpr int kTypeOf<PointwiseMode> = 14;
template <>
inline constexpr int kTypeOf<DescriptorHandle> = 15;
template <>
inline constexpr int kTypeOf<ReduceBy> = 18;

struct Api {
  explicit Api(const SharedLibrary& library);

  std::size_t (*get_version)();  // 90100 is 9.1.0
  Status (*create)(Handle* handle);
  Status (*destroy)(Handle handle);
  Status (*set_stream)(Handle handle, StreamHandle stream);
  const char* (*get_error_string)(Status status);
  Status (*descriptor_create)(Kind kind, DescriptorHandle* descriptor);
  Status (*descriptor_destroy)(DescriptorHandle descriptor);
  Status (*descriptor_finalize)(DescriptorHandle descriptor);
  Status (*descriptor_set)(DescriptorHandle descriptor, Attribute attribute, int type, std::int64_t count,
                           const void* values);
  Status (*descriptor_get)(DescriptorHandle descriptor, Attribute attribute, int type, std::int64_t wanted,
                           std::int64_t* count, void* values);
  Status (*execute)(Handle handle, DescriptorHandle plan, DescriptorHandle variant_pack);
};

/// The installed library. Throws DeviceError if there is none.
const Api& api();

/// A descriptor that is being built. If cuDNN rejects a value, that remains its status, and later calls do nothing.
class Descriptor {
 public:
  Descriptor(const Api& api, Kind kind) : api_(&api), status_(api.descriptor_create(kind, &held_)) {}
  ~Descriptor() {
    if (held_) api_->descriptor_destroy(held_);
  }
  Descriptor(Descriptor&& other) noexcept
      : api_(other.api_), held_(std::exchange(other.held_, nullptr)), status_(other.status_) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(held_, other.held_);
    std::swap(status_, other.status_);
    return *this;
  }

  Status status() const { return status_; }
  bool sound() const { return status_ == 0; }
  DescriptorHandle handle() const { return held_; }

  template <class T>
  Descriptor& set(Attribute attribute, std::span<const T> values) {
    static_assert(kTypeOf<T> >= 0);
    if (sound())
      status_ =
          api_->descriptor_set(held_, attribute, kTypeOf<T>, static_cast<std::int64_t>(values.size()), values.data());
    return *this;
  }
  template <class T>
  Descriptor& set(Attribute attribute, const T& value) {
    return set(attribute, std::span<const T>(&value, 1));
  }
  /// Sets another descriptor, which must outlive what is built from this one.
  Descriptor& set(Attribute attribute, const Descriptor& other) {
    if (sound()) status_ = other.status_;
    return set(attribute, other.held_);
  }
  /// Must be called after the last set().
  Descriptor& finalize() {
    if (sound()) status_ = api_->descriptor_finalize(held_);
    return *this;
  }

  /// The number of values of the attribute, the first of which are copied to `values`; -1 if cuDNN does not give any.
  template <class T>
  std::int64_t get(Attribute attribute, std::span<T> values) const {
    static_assert(kTypeOf<T> >= 0);
    std::int64_t count = 0;
    const auto room = static_cast<std::int64_t>(values.size());
    if (!sound() || api_->descriptor_get(held_, attribute, kTypeOf<T>, room, &count, room ? values.data() : nullptr))
      return -1;
    return count;
  }

 private:
  const Api* api_;
  DescriptorHandle held_ = nullptr;
  Status status_;
};

}  // namespace kiln::cuda::cudnn
