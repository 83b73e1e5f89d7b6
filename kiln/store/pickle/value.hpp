// What a pickle can be here: plain data, and the few things that PyTorch's state dicts are made of. Nothing of it runs.
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

/// A name of Python, "torch FloatStorage", which is only compared with those that mean something here.
struct Global {
  std::string_view module, name;
};
/// An element type of PyTorch's that Kiln does not have.
struct OtherType {
  std::string_view storage, name;  // "ComplexFloatStorage", "complex64"
  std::size_t bytes;
};
/// Where a tensor's elements are: an entry of the archive, or in a legacy file behind the pickles.
struct StorageRef {
  std::string_view key;
  std::int64_t count = 0;  // of elements
  bool typed = false;      // an untyped one counts bytes, and its tensors say their type
  DType dtype = DType::U8;
  const OtherType* other = nullptr;  // instead of that
};
struct Tensor {
  StorageRef storage;
  DType dtype = DType::F32;
  std::int64_t offset = 0;  // in elements, as the strides
  Shape shape;
  Dims strides;
  const OtherType* other = nullptr;  // such a tensor is known by name and shape, and not read
};
/// A whole number beyond 64 bits, little-endian.
struct Long {
  std::string_view bytes;
};
struct Text {
  std::string_view text;
};
/// Of a class that holds data alone; BUILD brings its attributes.
struct Object {
  Dict attributes;
};
/// NumPy's element type, and an array, whose elements BUILD brings. `unread` names a type that Kiln does not have.
struct ElementType {
  DType dtype;
  std::string_view unread = {};
};
struct Array {
  TensorData data;
  Shape shape = {};  // of one that is not read
  std::string_view unread = {};
};

/// As small as may be, since a pickle makes one of two or three bytes: what is larger lies elsewhere.
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
