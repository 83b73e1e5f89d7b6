// JavaScript's half of a call, as packaging/npm/src/codec.js has it: arguments as bytes, and answers from them.
#pragma once
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kiln/browser/call.hpp"

namespace kiln::test {

/// Writes arguments. Tensors and objects are their handles.
class Arguments {
 public:
  Arguments& list(double count) { return tag(9).number_bytes(count); }
  Arguments& record(double count) { return tag(10).number_bytes(count); }
  Arguments& name(std::string_view text) {
    return number_bytes(static_cast<double>(text.size())).raw(text.data(), text.size());
  }
  Arguments& null() { return tag(0); }
  Arguments& truth(bool value) { return tag(value ? 2 : 1); }
  Arguments& number(double value) { return tag(3).number_bytes(value); }
  Arguments& text(std::string_view value) { return tag(4).name(value); }
  Arguments& tensor(double handle) { return tag(5).number_bytes(handle); }
  Arguments& object(double handle) { return tag(7).number_bytes(handle); }
  Arguments& function(double number) { return tag(8).number_bytes(number); }
  /// Memory that the reader frees.
  template <class T>
  Arguments& array(std::string_view dtype, const std::vector<T>& elements, std::vector<double> shape = {}) {
    if (shape.empty()) shape = {static_cast<double>(elements.size())};
    void* const address = kiln_allocate(elements.size() * sizeof(T));
    std::memcpy(address, elements.data(), elements.size() * sizeof(T));
    tag(6).name(dtype).list(static_cast<double>(shape.size()));
    for (const double size : shape) number(size);
    number_bytes(static_cast<double>(reinterpret_cast<std::uintptr_t>(address)));
    return number_bytes(static_cast<double>(elements.size() * sizeof(T)));
  }
  Arguments& tag(int value) {
    bytes.push_back(static_cast<std::byte>(value));
    return *this;
  }
  Arguments& raw(const void* from, std::size_t count) {
    const auto* const first = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), first, first + count);
    return *this;
  }
  Arguments& number_bytes(double value) { return raw(&value, sizeof value); }

  std::vector<std::byte> bytes;
};

/// An answer in a few words: `{digit: 3, seen: float32[2] 0.5 1, model: Model #1}`. Handles are in it, and arrays are freed.
std::string shown_answer(std::span<const std::byte> bytes);

/// Calls, and returns the answer, or "ShapeError: ...".
std::string called(const std::string& name, const Arguments& arguments);

/// What runs for kiln_call_back: gets the number and the argument shown, and says whether to go on.
extern std::function<bool(int, std::string)> on_callback;

}  // namespace kiln::test
