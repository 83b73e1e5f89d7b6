// The values of a pickle: plain data, and the few types that PyTorch's state dicts consist of. Nothing is executed.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kiln/core/dtype.hpp"
#include "kiln/core/shape.hpp"
#include "kiln/core/tensor_data.hpp"

namespace kiln::pickle {

struct Value;
using List = std::vector<const Value*>;  // also a tuple or a set
using Dict = std::vector<std::pair<const Value*, const Value*>>;

/// A name of Python, "torch FloatStorage", which is only compared with the known ones.
struct Global {
  std::string_view module, name;
};
/// An element type of PyTorch that Kiln does not have.
struct OtherType {
  std::string_view storage, name;  // "ComplexFloatStorage", "complex64"
  std::size_t bytes;
};
/// The place of a tensor's elements: an entry of the archive, or data after the pickles of a legacy file.
struct StorageRef {
  std::string_view key;
  std::int64_t count = 0;  // number of elements
  bool typed = false;      // an untyped storage counts bytes, and its tensors have the type
  DType dtype = DType::U8;
  const OtherType* other = nullptr;  // if not null, the type instead of `dtype`
};
struct Tensor {
  StorageRef storage;
  DType dtype = DType::F32;
  std::int64_t offset = 0;  // in elements, like the strides
  Shape shape;
  Dims strides;
  const OtherType* other = nullptr;  // if not null, the tensor has a name and a shape, but is not read
};
/// An integer of more than 64 bits, little-endian.
struct Long {
  std::string_view bytes;
};
struct Text {
  std::string_view text;
};
/// An object of a class that is plain data. BUILD sets its attributes.
struct Object {
  Dict attributes;
};
/// NumPy's element type, and an array, whose elements BUILD sets. `unread` names a type that Kiln does not have.
struct ElementType {
  DType dtype;
  std::string_view unread = {};
};
struct Array {
  TensorData data;
  Shape shape = {};  // the shape of an array that is not read
  std::string_view unread = {};
};

/// A value is as small as possible, because two or three bytes of a pickle create one. Larger values are allocated
/// separately.
struct Value {
  template <class T>
  using Large = std::shared_ptr<T>;
  std::variant<std::nullptr_t, bool, std::int64_t, double, Text, Long, List, Dict, Global, Large<const StorageRef>,
               Large<const Tensor>, Object, ElementType, Large<Array>>
      is;

  template <class T>
  const T* as() const {
    if constexpr (std::is_same_v<T, StorageRef> || std::is_same_v<T, Tensor>) {
      const auto* const large = std::get_if<Large<const T>>(&is);
      return large ? large->get() : nullptr;
    } else if constexpr (std::is_same_v<T, Array>) {
      const auto* const large = std::get_if<Large<T>>(&is);
      return large ? large->get() : nullptr;
    } else {
      return std::get_if<T>(&is);
    }
  }
};

/// Owns values, which may refer to each other, and even to themselves.
using Arena = std::deque<Value>;

}  // namespace kiln::pickle
