// Reads the output of a Writer and trusts none of it: anything invalid is a DataError that names the position.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/core/error/error.hpp"

namespace kiln::wire {

/// The limits of a reader. Any list is also limited by the bytes that are left.
struct Limits {
  std::size_t names = 4096;      // different names in a connection or a file
  std::size_t name_bytes = 128;  // of each
  std::size_t steps = 1 << 22;   // operations of a program
  int nesting = 3;               // operations within operations
  /// Whether planned ops (op::Planned) are accepted. Their content and results are checked; but a backend may rely on
  /// more, such as that a program fits its registers, which only a planner knows. Set it only for data that this
  /// process wrote itself.
  bool planned = false;
};

class Reader {
 public:
  /// `source` begins each error sentence: the name of a file, or of a peer.
  explicit Reader(std::string_view source, const Limits& limits = {}) : limits_(limits), source_(source) {}
  Reader(std::string_view source, std::span<const std::byte> bytes, const Limits& limits = {})
      : Reader(source, limits) {
    open(bytes);
  }

  /// Continues with these bytes, a result of Writer::take(); they must outlive the reading.
  void open(std::span<const std::byte> bytes) {
    bytes_ = bytes;
    at_ = 0;
  }
  std::size_t left() const { return bytes_.size() - at_; }
  /// Throws DataError unless all bytes are read.
  void finish() const;
  const Limits& limits() const { return limits_; }
  const std::string& source() const { return source_; }

  std::uint8_t byte();
  std::span<const std::byte> bytes(std::size_t count);
  std::uint64_t whole();
  std::int64_t integer();
  std::uint64_t fixed(int count);
  bool flag();
  /// Reads the length of a list whose elements take at least one byte each.
  std::size_t length(std::size_t most, std::string_view of);
  std::string_view text(std::size_t most);

  /// A name, and its meaning as found when it was first read: `number` within what `resolved_by` points to.
  struct Name {
    std::string text;
    std::uint64_t fingerprint = 0;  // of an op
    const void* resolved_by = nullptr;
    std::uint64_t number = 0;
    bool lacks_precision = false;  // of an op that was written before ops had a precision
  };
  Name& name() { return spelled(names_, false); }
  Name& op() { return spelled(ops_, true); }

  template <class... BatchedOps> [[noreturn]] void wrong(const BatchedOps&... parts) const {
    fail<DataError>(source_, ": byte ", at_, " of the program: ", parts...);
  }

  /// Reads ops without their precision while this object lives, where `lacks` says so.
  class OlderOp {
   public:
    OlderOp(Reader& reader, bool lacks) : reader_(reader), before_(std::exchange(reader.lacks_precision_, lacks)) {}
    ~OlderOp() { reader_.lacks_precision_ = before_; }
    OlderOp(const OlderOp&) = delete;

   private:
    Reader& reader_;
    const bool before_;
  };
  bool lacks_precision() const { return lacks_precision_; }

  /// Increases the nesting depth while this object lives.
  class Nested {
   public:
    explicit Nested(Reader& reader);
    ~Nested() { --reader_.depth_; }
    Nested(const Nested&) = delete;

   private:
    Reader& reader_;
  };

 private:
  Name& spelled(std::vector<Name>& known, bool is_op);

  Limits limits_;
  std::string source_;
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool lacks_precision_ = false;
  std::vector<Name> names_, ops_;
};

}  // namespace kiln::wire
