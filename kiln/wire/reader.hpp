// Reads what a Writer wrote, and believes nothing of it: whatever does not fit is a DataError that names the place.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/error/error.hpp"

namespace kiln::wire {

/// What a reader takes. No list is longer than the bytes that are left, whatever it says of itself; these are for the
/// rest.
struct Limits {
  std::size_t names = 4096;      // different ones that a connection or a file may spell
  std::size_t name_bytes = 128;  // of each
  std::size_t steps = 1 << 22;   // operations of a program
  int nesting = 3;               // operations within operations
  /// Planned ops (op::Planned) too. What they hold is checked, their results as well; but a backend is entitled to more,
  /// as that a program fits its registers, which only a planner knows. For what this process wrote itself.
  bool planned = false;
};

class Reader {
 public:
  /// `source` begins each sentence: the name of a file, or of a peer.
  explicit Reader(std::string_view source, const Limits& limits = {}) : limits_(limits), source_(source) {}
  Reader(std::string_view source, std::span<const std::byte> bytes, const Limits& limits = {})
      : Reader(source, limits) {
    open(bytes);
  }

  /// Goes on with these bytes, as Writer::take() gave them; they must outlive the reading.
  void open(std::span<const std::byte> bytes) {
    bytes_ = bytes;
    at_ = 0;
  }
  std::size_t left() const { return bytes_.size() - at_; }
  /// Nothing may be left.
  void finish() const;
  const Limits& limits() const { return limits_; }
  const std::string& source() const { return source_; }

  std::uint8_t byte();
  std::span<const std::byte> bytes(std::size_t count);
  std::uint64_t whole();
  std::int64_t integer();
  std::uint64_t fixed(int count);
  bool flag();
  /// The length of a list of what takes a byte at least.
  std::size_t length(std::size_t most, std::string_view of);
  std::string_view text(std::size_t most);

  /// A name, and what it turned out to mean to those who read it before: `number` of what `meaning` points to.
  struct Name {
    std::string text;
    std::uint64_t fingerprint = 0;  // of an op
    const void* meaning = nullptr;
    std::uint64_t number = 0;
  };
  Name& name() { return spelled(names_, false); }
  Name& op() { return spelled(ops_, true); }

  template <class... Parts> [[noreturn]] void wrong(const Parts&... parts) const {
    fail<DataError>(source_, ": byte ", at_, " of the program: ", parts...);
  }

  /// One operation deeper, as long as it lives.
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
  std::vector<Name> names_, ops_;
};

}  // namespace kiln::wire
