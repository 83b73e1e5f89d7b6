// ONNX files as tests need them, normal and hostile: protobuf messages written field by field.
#pragma once
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "kiln/onnx/file.hpp"

namespace kiln::onnx::test {

/// The bytes of a message.
class Message {
 public:
  Message& number(int field, std::int64_t value) {
    key(field, 0);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& real(int field, float value) {
    key(field, 5);
    bytes_.append(reinterpret_cast<const char*>(&value), 4);
    return *this;
  }
  Message& text(int field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& inner) { return text(field, inner.bytes_); }
  Message& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void key(int field, int wire) { varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire)); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

using Names = std::initializer_list<std::string_view>;
using Sizes = std::initializer_list<std::int64_t>;

inline Message attribute(std::string_view name, std::int64_t value) {
  return Message().text(1, name).number(3, value).number(20, 2);
}
inline Message attribute(std::string_view name, float value) {
  return Message().text(1, name).real(2, value).number(20, 1);
}
inline Message attribute(std::string_view name, std::string_view value) {
  return Message().text(1, name).text(4, value).number(20, 3);
}
inline Message attribute(std::string_view name, const char* value) { return attribute(name, std::string_view(value)); }
inline Message ints_attribute(std::string_view name, const std::vector<std::int64_t>& values) {
  Message made = Message().text(1, name).number(20, 7);
  for (const std::int64_t value : values) made.number(8, value);
  return made;
}
inline Message attribute(std::string_view name, Sizes values) { return ints_attribute(name, values); }
inline Message floats_attribute(std::string_view name, const std::vector<double>& values) {
  Message made = Message().text(1, name).number(20, 6);
  for (const double value : values) made.real(7, static_cast<float>(value));
  return made;
}
inline Message words_attribute(std::string_view name, const std::vector<std::string>& words) {
  Message made = Message().text(1, name).number(20, 8);
  for (const std::string& word : words) made.text(9, word);
  return made;
}
inline Message graph_attribute(std::string_view name, const Message& graph) {
  return Message().text(1, name).message(6, graph).number(20, 5);
}

inline Message node(std::string_view op, Names inputs, Names outputs, std::initializer_list<Message> attributes = {},
                    std::string_view domain = {}) {
  Message made;
  for (const std::string_view input : inputs) made.text(1, input);
  for (const std::string_view output : outputs) made.text(2, output);
  made.text(3, std::string(op) + "_node").text(4, op);
  for (const Message& each : attributes) made.message(5, each);
  if (!domain.empty()) made.text(7, domain);
  return made;
}

/// A tensor of floats, as raw data.
inline Message tensor(std::string_view name, Sizes sizes, const std::vector<float>& values) {
  Message made;
  for (const std::int64_t size : sizes) made.number(1, size);
  made.number(2, 1).text(8, name);
  return made.text(9, std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
}
inline Message tensor(std::string_view name, Sizes sizes, const std::vector<std::int64_t>& values) {
  Message made;
  for (const std::int64_t size : sizes) made.number(1, size);
  made.number(2, 7).text(8, name);
  return made.text(
      9, std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int64_t)));
}

/// A value of `element`; sizes that are words are symbols.
inline Message value(std::string_view name, std::initializer_list<std::string_view> sizes,
                     Element element = Element::Float) {
  Message shape;
  for (const std::string_view size : sizes) {
    const bool is_number = !size.empty() && size[0] >= '0' && size[0] <= '9';
    shape.message(1, is_number ? Message().number(1, std::stoll(std::string(size))) : Message().text(2, size));
  }
  const Message type = Message().number(1, static_cast<std::int64_t>(element)).message(2, shape);
  return Message().text(1, name).message(2, Message().message(1, type));
}

struct GraphParts {
  std::vector<Message> nodes, initializers, inputs, outputs;
};
inline Message graph(const GraphParts& parts) {
  Message made;
  for (const Message& each : parts.nodes) made.message(1, each);
  made.text(2, "main");
  for (const Message& each : parts.initializers) made.message(5, each);
  for (const Message& each : parts.inputs) made.message(11, each);
  for (const Message& each : parts.outputs) made.message(12, each);
  return made;
}

inline Message opset(std::int64_t version, std::string_view domain = {}) {
  return Message().text(1, domain).number(2, version);
}

inline Message function(std::string_view name, std::string_view domain, Names inputs, Names outputs,
                        const std::vector<Message>& nodes, Names attributes = {}) {
  Message made = Message().text(1, name);
  for (const std::string_view input : inputs) made.text(4, input);
  for (const std::string_view output : outputs) made.text(5, output);
  for (const std::string_view each : attributes) made.text(6, each);
  for (const Message& each : nodes) made.message(7, each);
  return made.message(9, opset(17)).message(9, opset(1, domain)).text(10, domain);
}

/// A whole file, of operator set `version`, of domain "test" and of those in `more_sets`.
inline std::string model(const Message& graph, std::int64_t version = 17, const std::vector<Message>& functions = {},
                         const std::vector<Message>& more_sets = {}) {
  Message made = Message().number(1, 8).message(7, graph).message(8, opset(version)).message(8, opset(1, "test"));
  for (const Message& each : more_sets) made.message(8, each);
  for (const Message& each : functions) made.message(25, each);
  return made.bytes();
}

inline Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }

}  // namespace kiln::onnx::test
