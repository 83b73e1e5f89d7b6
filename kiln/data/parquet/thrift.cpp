#include "kiln/data/parquet/thrift.hpp"

#include <utility>

namespace kiln::parquet {
namespace {

enum Type { kTrue = 1, kFalse = 2, kByte = 3, kI16 = 4, kI32 = 5, kI64 = 6, kDouble = 7, kBinary = 8, kList = 9 };
enum { kSet = 10, kMap = 11, kStruct = 12 };

constexpr int kDepth = 64;

}  // namespace

void Thrift::wants(bool right, std::string_view what) const {
  if (!right) throw_damaged(bytes_.file(), "its description has a value of type ", type_, " instead of ", what);
}

void Thrift::structure(FunctionRef<void(int number)> field) {
  wants(type_ == kStruct, "a struct");
  if (++depth_ > kDepth) throw_damaged(bytes_.file(), "its description nests more than ", kDepth, " deep");
  for (std::int64_t number = 0;;) {
    const std::uint8_t head = bytes_.byte();
    if (head == 0) break;
    number = head >> 4 ? number + (head >> 4) : bytes_.zigzag();
    if (number < -0x8000 || number > 0x7fff) throw_damaged(bytes_.file(), "its description has a field ", number);
    type_ = head & 15;
    taken_ = false;
    field(static_cast<int>(number));
    if (!taken_) skip();
  }
  --depth_;
  taken_ = true;
}

std::int64_t Thrift::whole() {
  wants(type_ >= kByte && type_ <= kI64, "a whole number");
  taken_ = true;
  return type_ == kByte ? static_cast<std::int8_t>(bytes_.byte()) : bytes_.zigzag();
}

std::int32_t Thrift::whole32() {
  const std::int64_t value = whole();
  if (!std::in_range<std::int32_t>(value)) throw_damaged(bytes_.file(), "its description has ", value, " in 32 bits");
  return static_cast<std::int32_t>(value);
}

bool Thrift::flag() {
  wants(type_ == kTrue || type_ == kFalse, "a truth value");
  taken_ = true;
  return type_ == kTrue;
}

std::string Thrift::text() {
  wants(type_ == kBinary, "a text");
  taken_ = true;
  const auto letters = bytes_.take(bytes_.varint());
  return {reinterpret_cast<const char*>(letters.data()), letters.size()};
}

void Thrift::list(FunctionRef<void()> element, std::uint64_t least) {
  wants(type_ == kList || type_ == kSet, "a list");
  const std::uint8_t head = bytes_.byte();
  const std::uint64_t count = head >> 4 == 15 ? bytes_.varint() : head >> 4;
  if (count > bytes_.rest().size() / least)
    throw_damaged(bytes_.file(), "its description has a list that ends too early");
  for (std::uint64_t i = 0; i < count; ++i) {
    type_ = head & 15;
    element();
  }
  taken_ = true;
}

void Thrift::skip() {
  if (++depth_ > kDepth) throw_damaged(bytes_.file(), "its description nests more than ", kDepth, " deep");
  switch (type_) {
    case kTrue:
    case kFalse: break;  // the type is the value
    case kByte: bytes_.take(1); break;
    case kI16:
    case kI32:
    case kI64: bytes_.varint(); break;
    case kDouble: bytes_.take(8); break;
    case kBinary: bytes_.take(bytes_.varint()); break;
    case kList:
    case kSet:
      list([&] {
        if (type_ == kTrue || type_ == kFalse) bytes_.take(1);  // except in lists
        else skip();
      });
      break;
    case kMap:
      if (const std::uint64_t count = bytes_.varint()) {
        const std::uint8_t types = bytes_.byte();
        if (count > bytes_.rest().size()) throw_damaged(bytes_.file(), "its description has a map that ends too early");
        for (std::uint64_t i = 0; i < 2 * count; ++i) {
          type_ = i % 2 ? types & 15 : types >> 4;
          if (type_ == kTrue || type_ == kFalse) bytes_.take(1);
          else skip();
        }
      }
      break;
    case kStruct: structure([](int) {}); break;
    default: throw_damaged(bytes_.file(), "its description has a value of type ", type_);
  }
  --depth_;
  taken_ = true;
}

}  // namespace kiln::parquet
