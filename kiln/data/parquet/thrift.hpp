// Thrift's compact protocol, in which Parquet files are described:
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
#pragma once
#include <string>

#include "kiln/core/function_ref.hpp"
#include "kiln/data/parquet/bytes.hpp"

namespace kiln::parquet {

class Thrift {
 public:
  explicit Thrift(Bytes bytes) : bytes_(bytes) {}

  /// The remaining bytes.
  const Bytes& bytes() const { return bytes_; }

  /// Reads a struct: calls field(number) for each of its fields, which reads the field by one of the functions below; a
  /// field that is not read is skipped. All throw DataError if the field has another type.
  void structure(FunctionRef<void(int number)> field);
  std::int64_t whole();
  std::int32_t whole32();
  bool flag();
  std::string text();
  /// Calls element() for each element, which must read it; each takes at least `least` bytes.
  void list(FunctionRef<void()> element, std::uint64_t least = 1);

 private:
  void skip();
  void wants(bool right, std::string_view what) const;

  Bytes bytes_;
  int type_ = 12;  // type of the next value; initially a struct
  bool taken_ = false;
  int depth_ = 0;
};

}  // namespace kiln::parquet
