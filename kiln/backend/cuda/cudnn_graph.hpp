// A graph of cuDNN's operations in the making, and a plan of how to compute it.
#pragma once
#include <deque>
#include <initializer_list>
#include <memory>
#include <vector>

#include "kiln/backend/cuda/cudnn.hpp"
#include "kiln/core/function_ref.hpp"
#include "kiln/core/shape.hpp"

namespace kiln::cuda::cudnn {

/// Operations stand in it in the order in which they were asked for. What cuDNN does not take makes it
/// unsound, and there is no plan for it then, nor for one without operations.
class Graph {
 public:
  explicit Graph(const Api& api) : api_(&api) {}

  /// One of the graph's: its number among the parts, and what is known of it.
  struct Tensor {
    std::size_t part;
    Shape sizes;
    Dims strides;
  };
  /// Memory, of which whoever runs a plan says the addresses in the order of these calls. `alignment` in bytes.
  Tensor operand(DataType type, const Shape& sizes, const Dims& strides, std::int64_t alignment);
  /// Memory of float32 that a plan has while it runs.
  Tensor scratch(const Shape& sizes);
  /// What one operation hands to others, row-major unless `strides` says otherwise.
  Tensor between(DataType type, const Shape& sizes, const Dims& strides = {});
  Tensor number(float value);
  Tensor number(std::int32_t value);

  struct Pointwise {
    PointwiseMode mode;
    DataType made = DataType::Float, computed = DataType::Float;
    std::int64_t axis = -1;  // -1: none
  };
  /// Of x, or of x and y, or y where z is false and x elsewhere; of x's sizes.
  Tensor pointwise(const Pointwise& how, std::initializer_list<Tensor> operands);
  /// The same, into `made`.
  void pointwise(const Pointwise& how, std::initializer_list<Tensor> operands, const Tensor& made);
  void multiply(const Tensor& a, const Tensor& b, const Tensor& made);
  /// Over the dimensions in which `made` has fewer elements.
  void reduce(ReduceBy how, const Tensor& x, const Tensor& made);
  /// The same memory, seen otherwise.
  void reshape(const Tensor& x, const Tensor& made);
  /// Any other operation, or what one is made of; finalized.
  Descriptor& add(Descriptor part) { return parts_.emplace_back(std::move(part)); }
  void add_operation(Descriptor operation);

  const Descriptor& operator[](const Tensor& tensor) const { return parts_[tensor.part]; }
  const Api& api() const { return *api_; }

 private:
  friend class Plan;
  struct Scratch {
    std::int64_t id, offset;
  };
  union Number {
    float real;
    std::int32_t integer;
  };
  Tensor tensor(DataType type, const Shape& sizes, const Dims& strides, std::int64_t alignment,
                std::initializer_list<Attribute> is = {});
  Tensor number(DataType type, Number value);

  const Api* api_;
  std::deque<Descriptor> parts_;
  std::vector<DescriptorHandle> operations_;
  std::vector<std::int64_t> operands_;  // their numbers
  std::vector<Scratch> scratch_;
  std::int64_t scratch_bytes_ = 0;
  std::vector<std::int64_t> of_numbers_;
  std::deque<Number> numbers_;
  Status status_ = 0;
  std::int64_t next_id_ = 1;
};

/// The first of the engines that cuDNN advises that is asked to be chosen, and may have as much memory as it wants.
class Plan {
 public:
  /// `may_be(notes)`: is an engine with these numerical notes exact enough?
  Plan(Graph graph, Handle handle, std::int64_t most_bytes, FunctionRef<bool(std::span<const Note>)> may_be);

  bool known() const { return known_; }
  std::int64_t engine() const { return engine_; }
  std::int64_t workspace_bytes() const { return scratch_start_ + graph_.scratch_bytes_; }
  /// `addresses` of the graph's operands.
  Status run(std::span<void* const> addresses, Address workspace) const;

  mutable bool proven = false;   // it has run
  mutable bool refused = false;  // or would not

 private:
  void choose(HeuristicsMode mode, std::int64_t most_bytes, FunctionRef<bool(std::span<const Note>)> may_be);
  void consider(Descriptor& config, std::int64_t most_bytes, FunctionRef<bool(std::span<const Note>)> may_be);

  const Graph graph_;
  const Handle handle_;
  Descriptor whole_;
  std::vector<Descriptor> chosen_;
  Descriptor plan_;
  std::vector<std::int64_t> ids_;
  std::int64_t scratch_start_ = 0, engine_ = -1;
  bool known_ = false;
};

}  // namespace kiln::cuda::cudnn
