// Item: what C++ and JavaScript hand each other in a call. It is a value of one of a few kinds that both languages have,
// and bytes on its way between them: both sides see the same memory, so that tensors travel by address or by handle.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include "kiln/core/alternatives.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/reflect/reflect.hpp"
#include "kiln/ops/value.hpp"

namespace kiln::browser {

struct Item;

/// An object of the page's C++ that JavaScript holds by a handle.
class Object {
 public:
  Object() = default;
  template <class T>
  explicit Object(std::shared_ptr<T> object)
      : object_(std::move(object)), type_(&typeid(T)), name_(reflect::type_name<T>()) {}

  /// The name of its type: "Training".
  std::string_view type() const { return name_; }
  /// The object, or null where it is of another type.
  template <class T>
  std::shared_ptr<T> as() const {
    return *type_ == typeid(T) ? std::static_pointer_cast<T>(object_) : nullptr;
  }

 private:
  std::shared_ptr<void> object_;
  const std::type_info* type_ = &typeid(void);  // names are without namespaces, so that two types may share one
  std::string_view name_ = "nothing";
};

/// A function of JavaScript that was an argument. It is called in the thread of the call that got it, and only until that
/// call returns; it cannot call Kiln.
class Callback {
 public:
  Callback() = default;
  explicit Callback(int number) : number_(number) {}
  /// Calls it with one value. False where it returned false, which asks the caller to stop.
  bool call(const Item& item) const;
  int number() const { return number_; }

 private:
  int number_ = 0;
};

struct Item {
  using List = std::vector<Item>;
  using Record = std::vector<std::pair<std::string, Item>>;  // each name once
  /// A Value stays on its device and JavaScript gets a handle; TensorData is a typed array, whose memory moves.
  using Is = Alternatives<std::nullptr_t, bool, double, std::string, Value, TensorData, Object, Callback, List, Record>;
  Is is = nullptr;

  Item() = default;
  template <class T>
  requires std::is_constructible_v<Is, std::in_place_type_t<T>, T>
  Item(T value) : is(std::in_place_type<T>, std::move(value)) {}
};

/// "a number", "a tensor": how errors name it.
std::string described(const Item& item);

/// Reads an item. Memory that the bytes name is owned by what is returned. Throws ArgumentError for a handle of what was
/// disposed, DataError for other bytes than JavaScript writes (packaging/npm/src/codec.js).
Item read_item(std::span<const std::byte> bytes);
/// Writes an item. Each Value and Object in it gets a handle, and each TensorData memory, which the reader frees. Where it
/// throws, nothing is left of them.
std::vector<std::byte> write_item(const Item& item);

using Block = std::span<std::byte>;
/// Memory that either side may free. Throws MemoryError.
Block new_block(std::size_t bytes);
/// write_item to such memory.
Block write_block(const Item& item);
void free_block(void* address) noexcept;

}  // namespace kiln::browser
