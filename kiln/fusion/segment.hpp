// Segment: operations that were asked for and have not run yet, as data. Recording one is appending to a few arrays.
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

/// What an operation's operand is within its segment: a value by number, a plain number by number, or nothing.
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

/// May its kernel find that its operands' elements are wrong?
bool may_fail(const op::Op& op);

/// The epoch of the segment in which a value waits to be computed, or 0.
std::uint64_t pending_in(const Value& value);
/// Does it wait in some segment?
bool waits(const Node& node);
/// To be called when a value has its contents: other threads may see them from here on.
void arrive(Node& node);

/// The calls of one thread. Others may ask for the epoch; the rest is for who holds its stream's lock.
class Segment {
 public:
  struct Entry {
    op::Op op;
    std::uint32_t first;  // its references: the operands, then the results
    std::uint16_t operands, results;
  };

  /// Entries that fail where one of `causes` does, or for a reason that was known when they were appended.
  struct Guard {
    std::uint64_t scope;
    std::uint32_t begin, end;
    std::vector<Reference> causes;
    Ref<Failure> failure;
    Values others;  // causes that did not wait, where the device may find later that one has failed
  };

  /// The first operand that waits in another segment, or null.
  const Value* find_foreign(Inputs in) const;
  /// Notes that `op` is to be run on `call`, none of whose operands is foreign.
  void append(const op::Op& op, const Call& call);
  /// Notes that the entry that was appended last is in a scope. The plan knows nothing of this. `late`: the device finds
  /// what is wrong later than it is asked.
  void guard(const FailsWith& scope, bool late);
  /// The guard of an entry, or null.
  const Guard* guard_of(std::uint32_t entry) const;
  /// Does some guard look at the value?
  bool is_cause(std::uint32_t value) const;
  /// What an entry's kernel says is wrong: by the function that was called, with the calls that led to it.
  std::string placed(std::uint32_t entry, std::string_view sentence) const;
  /// The function that was called for an entry, as CalledAs knows it.
  const char* function_of(std::uint32_t entry) const;
  /// To be called once, before planning: appends to the key which values have handles outside the segment.
  void close();
  void clear();

  /// Names this segment among all that ever were; 0 while it is empty.
  std::uint64_t epoch() const { return epoch_.load(std::memory_order_relaxed); }
  std::size_t size() const { return entries_.size(); }
  /// Of the operands that it keeps alive; its results have no memory yet.
  std::int64_t bytes() const { return bytes_; }
  bool empty() const { return entries_.empty(); }
  const std::vector<Entry>& entries() const { return entries_; }
  /// In the order of their entries, of which each has at most one.
  const std::vector<Guard>& guards() const { return guards_; }
  std::span<const Reference> operands(const Entry& entry) const { return {&references_[entry.first], entry.operands}; }
  std::span<const Reference> results(const Entry& entry) const {
    return {&references_[entry.first + entry.operands], entry.results};
  }
  /// The values, in the order in which they appeared. This is the only reference to one without a handle outside.
  std::vector<Ref<Node>>& values() { return values_; }
  const std::vector<Ref<Node>>& values() const { return values_; }
  bool visible(std::uint32_t value) const { return visible_[value]; }
  /// Each number once, unless others came in between: that numbers are equal is part of the structure then, so that
  /// what is done to them twice can be done once.
  const std::vector<Scalar>& numbers() const { return numbers_; }
  /// For numbers that a plan derives from these.
  void add_number(const Scalar& number) { numbers_.push_back(number); }
  /// All operands and results, entry by entry.
  const std::vector<Reference>& references() const { return references_; }

  /// The structure of the segment, exactly: two segments with the same key differ in the contents of tensors and in
  /// plain numbers alone.
  const std::vector<std::uint64_t>& key() const { return key_; }

 private:
  /// The calls that led to an operation whose data may turn out to be wrong.
  struct Place {
    std::uint32_t entry;
    const char* function;  // as CalledAs knows it
    Trace calls;
  };

  class Appending;
  Reference refer(const Value& value);
  Reference refer(const Scalar& number);
  std::uint32_t add(const Ref<Node>& node, std::uint64_t pending);

  std::vector<Entry> entries_;
  std::vector<Reference> references_;
  std::vector<Ref<Node>> values_;
  std::vector<bool> visible_;
  std::vector<Scalar> numbers_;
  static constexpr std::size_t kRecentNumbers = 16;  // among which one that comes again is looked for
  std::vector<std::uint64_t> key_;
  std::vector<Guard> guards_;
  std::vector<Place> places_;
  std::int64_t bytes_ = 0;
  std::atomic<std::uint64_t> epoch_{0};  // tells this segment's marks on nodes from others
};

}  // namespace kiln::fusion
