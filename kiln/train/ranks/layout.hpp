// Where the gradients of a model lie in the tensors in which ranks send them, its buckets, and which elements of them
// belong to which rank.
//
//   a bucket   | first   | second     | third |pad|     in row-major order, one parameter after the other
//   its slices | rank 0        | rank 1             |   of `width` elements each
//
// With one slice a bucket is what all ranks sum. With a slice for each rank, a rank receives the sum of its slice alone,
// and updates the parts of parameters that lie there.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/function_ref.hpp"
#include "kiln/nn/module.hpp"
#include "kiln/optim/part.hpp"

namespace kiln::training {

/// Are gradients of half types sent and returned as halves, or in float32?
enum class Halves { AsTheyAre, InFloat32 };

struct Layout {
  struct Param {
    std::string path;
    Shape shape;
    DType dtype, sent;  // of the parameter, and of its gradient on the way
    Device device;
    std::int64_t place = 0;  // of its first element in the bucket
  };
  /// The parameters [begin, end), by place.
  struct Bucket {
    std::size_t begin, end;
    std::int64_t width;  // elements of a slice
  };
  int slices = 1;
  std::vector<Param> params;  // those that are trained, from the last to the first
  std::vector<Bucket> buckets;

  /// Buckets of some megabytes, from the last parameter to the first. They depend on the model alone, so that all ranks
  /// make the same calls.
  static Layout whole(const nn::ModuleView& model, Halves halves);
  /// A slice for each of several ranks; gradients are sent in float32 or wider. A parameter for which `needs_whole` is
  /// true lies in one slice, and those of a bucket are spread over the slices by their sizes.
  static Layout sharded(const nn::ModuleView& model, int ranks, FunctionRef<bool(const std::string& path)> needs_whole);

  /// The elements of a parameter of this bucket that lie in a slice; none if there are none. A parameter without elements
  /// belongs to the first slice.
  std::optional<ParamPart> part(const Bucket& bucket, const Param& param, int slice) const;
  ParamParts parts(int slice) const;

  /// The bucket's tensor [slices * width], from a tensor of each of its parameters, in `dtype`.
  Value joined(const Bucket& bucket, DType dtype, FunctionRef<Value(std::size_t param)> value) const;
  /// One slice of it, [width], from the parts that lie there.
  Value joined_slice(const Bucket& bucket, int slice, DType dtype,
                     FunctionRef<Value(std::size_t param, const ParamPart& part)> value) const;
  /// A parameter's elements of a bucket's tensor, in its shape.
  Value taken(const Value& bucket, std::size_t param) const;
  /// A part of a parameter, from the slice in which it lies: in the parameter's shape if it is all of it, else [count].
  Value taken(const Value& slice, const Bucket& bucket, std::size_t param, const ParamPart& part) const;
};

/// Tests and measurements set by this how many bytes a bucket of several parameters has at most; 0: the default. Must not
/// be called while buckets are running, and must be the same on all ranks.
void limit_buckets(std::int64_t most_bytes);

}  // namespace kiln::training
