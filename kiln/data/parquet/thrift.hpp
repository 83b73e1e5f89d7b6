// Thrift's compact protocol, in which Parquet files say what they hold:
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
#pragma once
#include <string>

#include "kiln/core/function_ref.hpp"
#include "kiln/data/parquet/bytes.hpp"

namespace kiln::parquet {

class Thrift {
 public:
  explicit Thrift(Bytes bytes) : bytes_(bytes) {}

  /// Behind what was read.
  const Bytes& bytes() const { return bytes_; }

  /// Goes through a struct: calls field(number) for each of its fields, which reads the field by one of the functions below,
  /// or leaves it, and it is skipped. All throw DataError where the field is of another type.
  void structure(FunctionRef<void(int number)> field);
  std::int64_t whole();
  std::int32_t whole32();
  bool flag();
  std::string text();
  /// Calls element() for each, which must read it; none takes fewer than `least` bytes.
  void list(FunctionRef<void()> element, std::uint64_t least = 1);

 private:
  void skip();
  void wants(bool right, std::string_view what) const;

  Bytes bytes_;
  int type_ = 12;  // of what comes next: at first a struct
  bool taken_ = false;
  int depth_ = 0;
};

}  // namespace kiln::parquet
