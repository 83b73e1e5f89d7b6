// Any operator of the table by its name, outside of a graph: what generated code (kiln/onnx/generate) says where Kiln has
// no shorter way to say it.
//
//   const Datum y = onnx::apply("Resize", 19, {x, {}, scales}, {{"mode", "cubic"}});
#pragma once
#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "kiln/onnx/graph.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln::onnx {

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;

/// A result of a body, for loops that make no step: a tensor of this type, with a first size of 0 before this shape.
struct BodyOutput {
  Element element = Element::Float;
  Shape shape = {};
};

/// A sub-graph as a function: the body of a Loop, a branch of an If.
struct Body {
  std::size_t inputs;
  std::vector<BodyOutput> outputs;
  std::function<std::vector<Datum>(std::vector<Datum>)> run;
};

/// A named attribute of an operator, from whatever it may be.
struct Argument {
  std::string_view name;
  Attribute value;

  Argument(std::string_view of, Attribute is) : name(of), value(std::move(is)) {}
  Argument(std::string_view of, Datum tensor) : Argument(of, Attribute(std::move(tensor))) {}
  Argument(std::string_view of, Body body);
};
using Arguments = std::initializer_list<Argument>;

/// A result on its way into what a program calls it: a Datum, or a tensor of known rank. Throws ShapeError or DTypeError
/// where it is another.
struct Applied {
  Datum datum;
  operator Datum() const { return datum; }
  template <int D, class K>
  operator Tensor<D, K>() const {
    return Tensor<D, K>(datum.value());
  }
};

/// The first result of the operator `op` ("Relu", "com.microsoft.BiasGelu") as version `version` of its domain's operator
/// set has it. Absent inputs are empty; computed on `device`, or where the first input lies. Throws ArgumentError where
/// there is no such operator, and what the operator throws.
Applied apply(std::string_view op, int version, std::vector<Datum> inputs, Arguments attributes = {},
              std::optional<Device> device = {});
/// The results whose numbers are `wanted`, each in its place; others are empty.
std::vector<Datum> apply_for(std::initializer_list<int> wanted, std::string_view op, int version,
                             std::vector<Datum> inputs, Arguments attributes = {}, std::optional<Device> device = {});

/// Constants.
Datum ints(const Shape& shape, std::initializer_list<std::int64_t> numbers, const Device& device,
           Element element = Element::Int64);
Datum reals(const Shape& shape, std::initializer_list<double> numbers, const Device& device,
            Element element = Element::Float);
Datum strings(const Shape& shape, Strings words, const Device& device);

/// The one element of a condition. Waits. Throws ArgumentError where it has not one.
bool is_true(const Datum& condition);
/// The device of the first tensor among `data`; the processor where there is none.
Device device_of(std::initializer_list<Datum> data);

}  // namespace kiln::onnx
