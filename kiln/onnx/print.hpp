// Models as bytes: protobuf's wire format, written as WireReader reads it.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "kiln/onnx/datum.hpp"

namespace kiln::onnx {

/// A model as bytes, which parse_model() reads as the same again.
std::string print_model(const ModelProto& model);

/// A tensor as a TensorProto, a sequence as a SequenceProto, an optional as an OptionalProto: what the standard's tests
/// have in their .pb files. Throws ArgumentError for a map, or a sequence of anything but tensors.
std::string print_datum(const Datum& datum);

/// The bytes of one message, a field after the other.
class WireWriter {
 public:
  void integer(int field, std::int64_t value) {
    key(field, 0);
    varint(static_cast<std::uint64_t>(value));
  }
  void real(int field, float value) {
    key(field, 5);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void text(int field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
  }
  void bytes(int field, Bytes value) { text(field, {reinterpret_cast<const char*>(value.data()), value.size()}); }
  void message(int field, const WireWriter& inner) { text(field, inner.bytes_); }
  /// Repeated numbers, packed; nothing where there are none.
  template <class List>
  void integers(int field, const List& list) {
    if (list.empty()) return;
    WireWriter packed;
    for (const auto each : list) packed.varint(static_cast<std::uint64_t>(static_cast<std::int64_t>(each)));
    message(field, packed);
  }
  template <class List>
  void reals(int field, const List& list) {
    if (!list.empty()) bytes(field, std::as_bytes(std::span(list)));
  }
  const std::string& written() const { return bytes_; }

 private:
  void key(int field, int wire) { varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire)); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

}  // namespace kiln::onnx
