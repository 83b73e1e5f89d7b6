// What a pickle can be here: plain data, and the few things that PyTorch's state dicts are made of. Nothing of it runs.
#pragma once
#include <cstdint>
#include <deque>
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
/// Where a tensor's elements are: an entry of the archive, or in a legacy file behind the pickles.
struct StorageRef {
  std::string_view key;
  bool typed = false;  // an untyped one counts bytes, and its tensors say their type
  DType dtype = DType::U8;
  std::int64_t count = 0;  // of elements
};
struct Tensor {
  StorageRef storage;
  DType dtype = DType::F32;
  std::int64_t offset = 0;  // in elements, as the strides
  Shape shape;
  Dims strides;
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
/// NumPy's element type, and an array, whose elements BUILD brings.
struct ElementType {
  DType dtype;
};
struct Array {
  TensorData data;
};

struct Value {
  std::variant<std::nullptr_t, bool, std::int64_t, double, Text, Long, List, Dict, Global, StorageRef, Tensor, Object,
               ElementType, Array>
      is;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&is);
  }
};

/// Owns values, which may refer to each other, and even to themselves.
using Arena = std::deque<Value>;

}  // namespace kiln::pickle
