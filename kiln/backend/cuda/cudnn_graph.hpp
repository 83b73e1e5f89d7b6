// Builds a graph of cuDNN's operations, and a plan to run it.
#pragma once
#include <deque>
#include <initializer_list>
#include <memory>
#include <vector>

#include "kiln/backend/cuda/cudnn.hpp"
#include "kiln/core/function_ref.hpp"
#include "kiln/core/shape.hpp"

namespace kiln::cuda::cudnn {

/// Operations are in the order in which they were added. If cuDNN rejects one, the graph is invalid; an invalid or
/// empty graph gets no plan.
class Graph {
 public:
  explicit Graph(const Api& api) : api_(&api) {}

  /// A tensor of the graph: its number among the parts, and its description.
  struct Tensor {
    std::size_t part;
    Shape sizes;
    Dims strides;
  };
  /// Memory whose addresses are passed to Plan::run() in the order of these calls. `alignment` is in bytes.
  Tensor operand(DataType type, const Shape& sizes, const Dims& strides, std::int64_t alignment);
  /// float32 memory that a plan has while it runs.
  Tensor scratch(const Shape& sizes);
  /// A result that one operation passes to others, row-major unless `strides` are given.
  Tensor between(DataType type, const Shape& sizes, const Dims& strides = {});
  Tensor number(float value);
  Tensor number(std::int32_t value);

  struct Pointwise {
    PointwiseMode mode;
    DataType made = DataType::Float, computed = DataType::Float;
    std::int64_t axis = -1;  // -1: none
  };
  /// A function of x, of x and y, or (x where z is true, else y); the result has x's sizes.
  Tensor pointwise(const Pointwise& how, std::initializer_list<Tensor> operands);
  /// Computes such a function into `made`.
  void pointwise(const Pointwise& how, std::initializer_list<Tensor> operands, const Tensor& made);
  void multiply(const Tensor& a, const Tensor& b, const Tensor& made);
  /// Reduces over the dimensions in which `made` has fewer elements.
  void reduce(ReduceBy how, const Tensor& x, const Tensor& made);
  /// Views the same memory with another shape.
  void reshape(const Tensor& x, const Tensor& made);
  /// Adds any other operation, or a part of one; it must be finalized.
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
  std::vector<std::int64_t> operands_;  // their numbers among the parts
  std::vector<Scratch> scratch_;
  std::int64_t scratch_bytes_ = 0;
  std::vector<std::int64_t> of_numbers_;
  std::deque<Number> numbers_;
  Status status_ = 0;
  std::int64_t next_id_ = 1;
};

/// The first of the engines that cuDNN suggests which is exact enough, and whose workspace is small enough.
class Plan {
 public:
  /// `may_be(notes)`: is an engine with these numerical notes exact enough?
  Plan(Graph graph, Handle handle, std::int64_t most_bytes, FunctionRef<bool(std::span<const Note>)> may_be);

  bool known() const { return known_; }
  std::int64_t engine() const { return engine_; }
  std::int64_t workspace_bytes() const { return scratch_start_ + graph_.scratch_bytes_; }
  /// `addresses` are those of the graph's operands.
  Status run(std::span<void* const> addresses, Address workspace) const;

  mutable bool proven = false;   // has it run successfully?
  mutable bool refused = false;  // has it failed?

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
