// Segment: operations that have been called but have not run, as data. Recording one appends to a few arrays.
#pragma once
#include <array>
#include <atomic>
#include <vector>

#include "kiln/core/error/trace.hpp"
#include "kiln/ops/backend.hpp"
#include "kiln/ops/failure.hpp"
#include "kiln/ops/op.hpp"
#include "kiln/ops/scope/fails_with.hpp"

namespace kiln::fusion {

/// An operand of an operation within its segment: a value by index, a plain number by index, or nothing.
class Reference {
 public:
  static Reference nothing() { return Reference(~0u); }
  static Reference value(std::uint32_t index) { return Reference(index); }
  static Reference number(std::uint32_t index) { return Reference(index | kNumber); }
  bool is_value() const { return !(code_ & kNumber); }
  bool is_number() const { return (code_ & kNumber) && code_ != ~0u; }
  std::uint32_t index() const { return code_ & ~kNumber; }
  std::uint32_t code() const { return code_; }
  friend bool operator==(Reference, Reference) = default;

 private:
  static constexpr std::uint32_t kNumber = 1u << 31;
  explicit Reference(std::uint32_t code) : code_(code) {}
  std::uint32_t code_;
};

/// Appends an op and its attributes as words: equal words mean equal ops.
void encode(const op::Op& op, std::vector<std::uint64_t>& words);

/// Whether the op's kernel may fail, such as by the elements of its operands.
bool may_fail(const op::Op& op);

/// Returns the epoch of the segment in which a value waits to be computed, or 0.
std::uint64_t pending_in(const Value& value);
/// Whether a node waits in some segment.
bool waits(const Node& node);
/// Marks a value as computed: other threads may see its contents from here on.
void mark_computed(Node& node);

struct RecordedCall {
  op::Op op;
  std::uint32_t first;  // the index of its references: the operands, then the results
  std::uint16_t operands, results;
};

/// The recorded calls of one thread. Any thread may read the epoch; all else requires the lock of the segment's stream.
class Segment {
 public:
  /// Entries that fail if one of `causes` fails, or for a reason that was known when they were appended.
  struct Guard {
    std::uint64_t scope;
    std::uint32_t begin, end;
    std::vector<Reference> causes;
    Ref<Failure> failure;
    Values others;  // causes that did not wait, but that the device may later find to have failed
  };

  /// Returns the first operand that waits in another segment, or null.
  const Value* find_foreign(Inputs in) const;
  /// Records that `op` runs on `call`, none of whose operands is foreign.
  void append(const op::Op& op, const Call& call);
  /// Records that the last entry is in a scope. The plan does not depend on it. `late`: the device finds errors after
  /// the call that causes them.
  void guard(const FailsWith& scope, bool late);
  /// Returns the guard of an entry, or null.
  const Guard* guard_of(std::uint32_t entry) const;
  /// Whether a value is among the causes of some guard.
  bool is_cause(std::uint32_t value) const;
  /// Returns an entry's error sentence under the name of the called function, with the calls that led to it.
  std::string with_call_site(std::uint32_t entry, std::string_view sentence) const;
  /// Returns the function that was called for an entry, as named by CalledAs; null for an entry that cannot fail.
  const char* function_of(std::uint32_t entry) const;
  /// Returns the calls that led to an entry; null for an entry that cannot fail.
  const Trace* calls_of(std::uint32_t entry) const;
  /// Appends to the key which values have handles outside the segment. Call it once, before planning.
  void close();
  void clear();

  /// Identifies this segment among all that ever existed; 0 while it is empty.
  std::uint64_t epoch() const { return epoch_.load(std::memory_order_relaxed); }
  std::size_t size() const { return entries_.size(); }
  /// The bytes of the operands that the segment keeps alive; its results have no memory yet.
  std::int64_t bytes() const { return bytes_; }
  bool empty() const { return entries_.empty(); }
  const std::vector<RecordedCall>& entries() const { return entries_; }
  /// The guards, in the order of their entries; each entry has at most one.
  const std::vector<Guard>& guards() const { return guards_; }
  std::span<const Reference> operands(const RecordedCall& entry) const {
    return {&references_[entry.first], entry.operands};
  }
  std::span<const Reference> results(const RecordedCall& entry) const {
    return {&references_[entry.first + entry.operands], entry.results};
  }
  /// The values, in the order of their first use. A value without a handle outside has no other owner.
  std::vector<Ref<Node>>& values() { return values_; }
  const std::vector<Ref<Node>>& values() const { return values_; }
  bool visible(std::uint32_t value) const { return visible_[value]; }
  /// The numbers. A number that comes again soon is stored once: which numbers are equal is then part of the structure,
  /// so that repeated operations on them can be done once.
  const std::vector<Scalar>& numbers() const { return numbers_; }
  /// Adds a number that a plan derives from these.
  void add_number(const Scalar& number) { numbers_.push_back(number); }
  /// The operands and results of all entries, one entry after the other.
  const std::vector<Reference>& references() const { return references_; }

  /// The exact structure of the segment: two segments with the same key differ only in the contents of tensors and in
  /// the values of numbers.
  const std::vector<std::uint64_t>& key() const { return key_; }

 private:
  /// The calls that led to an operation that may fail on its data.
  struct CallSite {
    std::uint32_t entry;
    const char* function;  // as named by CalledAs
    Trace calls;
  };

  class Appending;
  Reference refer(const Value& value);
  Reference refer(const Scalar& number);
  std::uint32_t add(const Ref<Node>& node, std::uint64_t pending);

  std::vector<RecordedCall> entries_;
  std::vector<Reference> references_;
  std::vector<Ref<Node>> values_;
  std::vector<bool> visible_;
  std::vector<Scalar> numbers_;
  static constexpr std::size_t kRecentNumbers = 16;  // how many of the last numbers are compared with a new one
  std::vector<std::uint64_t> key_;
  std::vector<Guard> guards_;
  std::vector<CallSite> call_sites_;
  std::int64_t bytes_ = 0;
  std::atomic<std::uint64_t> epoch_{0};  // distinguishes this segment's marks on nodes from others
};

}  // namespace kiln::fusion
