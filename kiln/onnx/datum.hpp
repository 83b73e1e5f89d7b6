// Datum: what an edge of an ONNX graph carries: a tensor of numbers or strings, a sequence, an optional, a map, or
// nothing.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "kiln/core/alternatives.hpp"
#include "kiln/onnx/file.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln::onnx {

using Strings = std::vector<std::string>;

/// A tensor is a Value and its ONNX type, which says more than the Value's where that is narrow. A tensor of strings is
/// one of numbers (int64) into a list, so that whatever moves elements around moves strings, too.
class Datum {
 public:
  enum class Kind : std::uint8_t { Absent, Tensor, Sequence, Optional, Map };
  using Key = Alternatives<std::int64_t, std::string>;
  using Map = std::map<Key, Datum>;

  Datum() = default;
  Datum(const Value& value) : Datum(value, element_of(value.dtype())) {}
  Datum(const Value& value, Element element) : kind_(Kind::Tensor), element_(element), value_(value) {}
  /// A Tensor<D, Kind>.
  template <class T>
  requires requires(const T& tensor) {
    { tensor.value() } -> std::same_as<const Value&>;
  } Datum(const T& tensor) : Datum(tensor.value()) {}
  /// Strings by number.
  Datum(const Value& numbers, std::shared_ptr<const Strings> strings)
      : kind_(Kind::Tensor), element_(Element::String), value_(numbers), strings_(std::move(strings)) {}

  static Datum of_strings(const Shape& shape, Strings strings, const Device& device);
  /// `element` is the type of tensors in an empty sequence.
  static Datum sequence(std::vector<Datum> items, Element element = Element::Undefined);
  static Datum optional(Datum element);
  static Datum empty_optional();
  static Datum map(Map entries);

  Kind kind() const { return kind_; }
  bool empty() const { return kind_ == Kind::Absent; }
  bool is_tensor() const { return kind_ == Kind::Tensor; }
  bool is_string() const { return element_ == Element::String && is_tensor(); }
  Element element() const { return element_; }
  /// The tensor. Throws DTypeError for anything else.
  const Value& value() const;
  /// A tensor's strings in row-major order. Waits.
  Strings strings() const;
  const std::shared_ptr<const Strings>& string_list() const { return strings_; }
  /// `value` with this tensor's type, where only elements were moved around.
  Datum like(const Value& value) const { return is_string() ? Datum(value, strings_) : Datum(value, element_); }
  const std::vector<Datum>& items() const;
  const Map& entries() const;
  /// The element of an optional; null where it has none.
  const Datum* held() const;

 private:
  Kind kind_ = Kind::Absent;
  Element element_ = Element::Undefined;
  Value value_;
  std::shared_ptr<const Strings> strings_;
  std::shared_ptr<const std::vector<Datum>> items_;
  std::shared_ptr<const Map> map_;
};

/// The place of each word among the distinct ones in order, which become `sorted`.
std::vector<std::int64_t> ranks_of(const Strings& words, Strings& sorted);
/// Tensors of strings with one list for all; others are left as they are.
std::vector<Datum> with_one_list(std::vector<Datum> tensors);

/// The contents of a tensor, a sequence or an optional in a file.
Datum datum_of(const TensorProto& tensor, TensorReader& reader, const Device& device);
Datum datum_of(const SparseTensorProto& tensor, TensorReader& reader, const Device& device);
Datum datum_of(const SequenceProto& sequence, TensorReader& reader, const Device& device);
Datum datum_of(const OptionalProto& optional, TensorReader& reader, const Device& device);

/// x with the values that `element` has: halves to even for floats, the low bits of integers; strings are read and
/// written. A cast, as the operator of that name defines it.
Datum cast_to(const Datum& x, Element element, const NarrowRules& rules = {});

/// "tensor(float) [2, 3]", "sequence of 3": how sentences name it.
void append(std::string& out, const Datum& datum);

}  // namespace kiln::onnx
