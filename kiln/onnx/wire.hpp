// Protobuf's wire format: fields of a message, each a number, a kind and a payload. Every length is checked against
// what is left, so that nothing is believed that a file says of itself.
#pragma once
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/onnx/file.hpp"

namespace kiln::onnx {

/// The memory that the structs of a file may take: a message of two bytes is a node of two hundred. The structs of an
/// ordinary file need a few times its size.
struct WireBudget {
  static constexpr std::int64_t kOfAny = 1 << 24, kOfByte = 32;
  explicit WireBudget(Bytes file) : left(kOfAny + kOfByte * static_cast<std::int64_t>(file.size())) {}
  std::int64_t left;
};

/// Walks the fields of one message: while (reader.next()) switch (reader.field()) { case 1: reader.text(); ... }. A
/// field that is not read is skipped.
class WireReader {
 public:
  static constexpr int kDeepest = 64;

  WireReader(Bytes bytes, const std::string& file, const std::byte* start, WireBudget& budget, int depth = 0)
      : bytes_(bytes), file_(&file), start_(start), budget_(&budget), depth_(depth) {}

  /// A new `Proto` for a message, charged to the budget.
  template <class Proto>
  Proto made() const {
    budget_->left -= static_cast<std::int64_t>(sizeof(Proto));
    if (budget_->left < 0) damaged("messages of hardly a byte each, which would take far more memory than the file");
    return Proto();
  }

  /// Advances to the next field; false at the end of the message.
  bool next() {
    if (bytes_.empty()) return false;
    const std::uint64_t key = varint_of(bytes_);
    field_ = static_cast<std::uint32_t>(key >> 3);
    wire_ = static_cast<int>(key & 7);
    if (key >> 3 == 0 || key >> 3 > 0x1fffffff) damaged("a field has the number ", key >> 3);
    switch (wire_) {
      case 0: number_ = varint_of(bytes_); break;
      case 1: number_ = fixed(8); break;
      case 2: {
        const std::uint64_t length = varint_of(bytes_);
        if (length > bytes_.size()) damaged("a length of ", length, " where ", bytes_.size(), " bytes are left");
        payload_ = bytes_.first(static_cast<std::size_t>(length));
        bytes_ = bytes_.subspan(static_cast<std::size_t>(length));
        break;
      }
      case 5: number_ = fixed(4); break;
      default: damaged("field ", field_, " has the wire type ", wire_);
    }
    return true;
  }
  std::uint32_t field() const { return field_; }

  std::int64_t integer() const { return static_cast<std::int64_t>(number(0)); }
  float real() const { return std::bit_cast<float>(static_cast<std::uint32_t>(number(5))); }
  Bytes bytes() const {
    if (wire_ != 2) wrong_wire();
    return payload_;
  }
  std::string text() const {
    const Bytes all = bytes();
    return {reinterpret_cast<const char*>(all.data()), all.size()};
  }
  /// The message in this field.
  WireReader message() const {
    if (depth_ + 1 > kDeepest) damaged("messages are nested more than ", kDeepest, " deep");
    return {bytes(), *file_, start_, *budget_, depth_ + 1};
  }

  /// Repeated numbers, packed or one by one.
  template <class T>
  void integers(std::vector<T>& out) const {
    if (wire_ == 0) {
      out.push_back(static_cast<T>(number_));
      return;
    }
    Bytes rest = bytes();
    while (!rest.empty()) out.push_back(static_cast<T>(varint_of(rest)));
  }
  template <class T>
  void reals(std::vector<T>& out) const {
    if (wire_ == (sizeof(T) == 4 ? 5 : 1)) {
      using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
      out.push_back(std::bit_cast<T>(static_cast<Bits>(number_)));
      return;
    }
    const Bytes all = bytes();
    if (all.size() % sizeof(T)) damaged("packed numbers of ", sizeof(T), " bytes take ", all.size());
    const std::size_t before = out.size();
    out.resize(before + all.size() / sizeof(T));
    if (!all.empty()) std::memcpy(out.data() + before, all.data(), all.size());
  }

  template <class... Parts>
  [[noreturn]] void damaged(const Parts&... what) const {
    fail<DataError>(shown(*file_), ": damaged before byte ", bytes_.data() - start_, ": ", what...);
  }

 private:
  std::uint64_t number(int wire) const {
    if (wire_ != wire) wrong_wire();
    return number_;
  }
  [[noreturn]] void wrong_wire() const { damaged("field ", field_, " has the wire type ", wire_); }
  std::uint64_t varint_of(Bytes& from) const {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (from.empty()) damaged("a number has no end");
      const auto byte = std::to_integer<std::uint64_t>(from.front());
      from = from.subspan(1);
      if (shift < 64) value |= (byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
    damaged("a number is longer than ten bytes");
  }
  std::uint64_t fixed(std::size_t size) {
    if (bytes_.size() < size) damaged("a number has no end");
    std::uint64_t value = 0;
    std::memcpy(&value, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
    return value;
  }

  Bytes bytes_, payload_;
  const std::string* file_;
  const std::byte* start_;
  WireBudget* budget_;
  int depth_, wire_ = 0;
  std::uint32_t field_ = 0;
  std::uint64_t number_ = 0;
};

}  // namespace kiln::onnx
