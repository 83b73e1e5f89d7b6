#include "kiln/fusion/segment.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include "kiln/core/error/called_as.hpp"
#include "kiln/core/reflect/reflect_words.hpp"

namespace kiln::fusion {
namespace {

// A mark holds the segment's epoch in its upper bits and the value's index in its lower ones; the highest bit says that
// the value waits in that segment to be computed. Only a mark without that bit may be replaced by another segment's:
// threads that read the same tensors overwrite each other's marks.
constexpr int kIndexBits = 24;
constexpr std::uint64_t kPending = std::uint64_t{1} << 63;
std::atomic<std::uint64_t> last_epoch{0};

/// Whether two numbers are equal, and zeros of the same sign.
bool identical(const Scalar& a, const Scalar& b) {
  return a == b && (a.kind() != Kind::Float || std::signbit(a.to<double>()) == std::signbit(b.to<double>()));
}

std::uint64_t epoch_of(std::uint64_t mark) { return (mark & ~kPending) >> kIndexBits; }
std::uint32_t index_of(std::uint64_t mark) {
  return static_cast<std::uint32_t>(mark & ((std::uint64_t{1} << kIndexBits) - 1));
}
std::uint64_t mark_of(const Node& node) { return node.mark.bits.load(std::memory_order_acquire); }

}  // namespace

void encode(const op::Op& op, std::vector<std::uint64_t>& words) {
  words.push_back(op.is.index());
  op::visit(op, [&]<class T>(const T& o) {
    if constexpr (std::is_same_v<T, op::Custom>) o.op->identify(words), words.push_back(std::uint64_t(o.precision));
    else if constexpr (std::is_same_v<T, op::Fused>) words.push_back(reinterpret_cast<std::uintptr_t>(o.program.get()));
    else if constexpr (std::is_same_v<T, op::Epilogue>)
      words.push_back(reinterpret_cast<std::uintptr_t>(o.program.get()));
    else if constexpr (std::is_same_v<T, op::RowBlocked>)
      words.push_back(reinterpret_cast<std::uintptr_t>(o.blocks.get()));
    else if constexpr (std::is_same_v<T, op::RowFused>)
      words.push_back(reinterpret_cast<std::uintptr_t>(o.sequence.get()));
    else if constexpr (std::is_same_v<T, op::Batched>) words.push_back(reinterpret_cast<std::uintptr_t>(o.parts.get()));
    else reflect::append_words(words, o);
  });
}

bool may_fail(const op::Op& op) {
  return op::visit(op, []<class T>(const T&) { return T::kTraits.may_fail != MayFail::Never; });
}

std::uint64_t pending_in(const Value& value) {
  if (!value.node()) return 0;
  const std::uint64_t mark = mark_of(*value.node());
  return mark & kPending ? epoch_of(mark) : 0;
}
bool waits(const Node& node) { return mark_of(node) & kPending; }
void mark_computed(Node& node) { node.mark.bits.store(0, std::memory_order_release); }

const Value* Segment::find_foreign(Inputs in) const {
  for (const Value& value : in)
    if (const std::uint64_t epoch = pending_in(value); epoch && epoch != this->epoch()) return &value;
  return nullptr;
}

std::uint32_t Segment::add(const Ref<Node>& node, std::uint64_t pending) {
  const auto index = static_cast<std::uint32_t>(values_.size());
  values_.push_back(node);  // before the mark, which must not be set where there is no memory for this
  node->mark.bits.store(pending | epoch() << kIndexBits | index, std::memory_order_relaxed);
  if (!pending) bytes_ += numel(node->desc.shape) * static_cast<std::int64_t>(size_of(node->desc.dtype));
  return index;
}

Reference Segment::refer(const Scalar& number) {
  // Which operands are one number is part of the structure: a plan may depend on which are equal, not on their values.
  const std::size_t oldest = numbers_.size() - std::min(numbers_.size(), kRecentNumbers);
  std::size_t last = numbers_.size();
  while (last > oldest && !identical(numbers_[last - 1], number)) --last;
  if (last == oldest) {
    numbers_.push_back(number);
    last = numbers_.size();
  }
  const auto place = static_cast<std::uint32_t>(last - 1);
  key_.push_back(static_cast<std::uint64_t>(number.kind()) | std::uint64_t{1} << 40 | std::uint64_t{place} << 8);
  return Reference::number(place);
}

Reference Segment::refer(const Value& value) {
  if (value.is_scalar()) return refer(value.scalar());
  const Ref<Node>& node = value.node();
  if (!node) {
    key_.push_back(~std::uint64_t{0});
    return Reference::nothing();
  }
  if (const std::uint64_t mark = mark_of(*node); epoch_of(mark) == epoch()) {
    key_.push_back(index_of(mark));
    return Reference::value(index_of(mark));
  }
  const std::uint32_t index = add(node, 0);
  key_.push_back(index | std::uint64_t{1} << 41);
  reflect::append_words(key_, node->desc);
  return Reference::value(index);
}

// Undoes a call that could not be appended whole for lack of memory: later calls would take its rest for operands.
class Segment::Appending {
 public:
  explicit Appending(Segment& segment)
      : segment_(segment),
        entries_(segment.entries_.size()),
        references_(segment.references_.size()),
        values_(segment.values_.size()),
        numbers_(segment.numbers_.size()),
        key_(segment.key_.size()),
        call_sites_(segment.call_sites_.size()),
        bytes_(segment.bytes_) {}
  Appending(const Appending&) = delete;
  Appending& operator=(const Appending&) = delete;
  ~Appending() {
    if (complete_) return;
    for (std::size_t i = values_; i < segment_.values_.size(); ++i)
      mark_computed(*segment_.values_[i]);  // no longer waits
    shorten(segment_.entries_, entries_);
    shorten(segment_.references_, references_);
    shorten(segment_.values_, values_);
    shorten(segment_.numbers_, numbers_);
    shorten(segment_.key_, key_);
    shorten(segment_.call_sites_, call_sites_);
    segment_.bytes_ = bytes_;
    if (entries_ == 0) segment_.epoch_ = 0;
  }
  void complete() { complete_ = true; }

 private:
  template <class T>
  static void shorten(std::vector<T>& list, std::size_t size) {
    while (list.size() > size) list.pop_back();
  }
  Segment& segment_;
  const std::size_t entries_, references_, values_, numbers_, key_, call_sites_;
  const std::int64_t bytes_;
  bool complete_ = false;
};

void Segment::append(const op::Op& op, const Call& call) {
  Appending appending(*this);
  if (entries_.empty()) epoch_ = ++last_epoch;
  const auto entry = static_cast<std::uint32_t>(entries_.size());
  entries_.emplace_back(op, static_cast<std::uint32_t>(references_.size()), static_cast<std::uint16_t>(call.in.size()),
                        static_cast<std::uint16_t>(call.out.size()));
  key_.push_back(call.in.size() << 16 | call.out.size());
  encode(op, key_);
  if (may_fail(op)) call_sites_.push_back({entry, CalledAs::function(), Trace::here()});
  for (const Value& value : call.in) references_.push_back(refer(value));
  for (const Value& value : call.out) references_.push_back(Reference::value(add(value.node(), kPending)));
  appending.complete();
}

void Segment::guard(const FailsWith& scope, bool late) {
  const auto end = static_cast<std::uint32_t>(entries_.size());
  if (!guards_.empty() && guards_.back().scope == scope.id() && guards_.back().end == end - 1) {
    guards_.back().end = end;
    return;
  }
  Guard guard{scope.id(), end - 1, end, {}, {}, {}};
  for (const FailsWith* each = &scope; each; each = each->outer()) {
    for (const Value& cause : each->causes()) {
      if (!cause.node()) continue;
      if (pending_in(cause)) guard.causes.push_back(Reference::value(index_of(mark_of(*cause.node()))));
      else if (Ref<Failure> failure = failure_of(cause.node())) guard.failure = joined(guard.failure, failure);
      else if (late) guard.others.push_back(cause);
    }
  }
  guards_.push_back(std::move(guard));
}

const Segment::Guard* Segment::guard_of(std::uint32_t entry) const {
  const auto guard = std::ranges::find_if(guards_, [&](const Guard& each) { return entry < each.end; });
  return guard != guards_.end() && guard->begin <= entry ? &*guard : nullptr;
}

bool Segment::is_cause(std::uint32_t value) const {
  return std::ranges::any_of(guards_, [&](const Guard& guard) {
    return std::ranges::find(guard.causes, Reference::value(value)) != guard.causes.end();
  });
}

std::string Segment::with_call_site(std::uint32_t entry, std::string_view sentence) const {
  const auto place = std::ranges::find(call_sites_, entry, &CallSite::entry);
  if (place == call_sites_.end()) return std::string(sentence);
  return text(CalledAs::rename(place->function, without_calls(sentence)), lines_of(place->calls));
}

const Trace* Segment::calls_of(std::uint32_t entry) const {
  const auto place = std::ranges::find(call_sites_, entry, &CallSite::entry);
  return place == call_sites_.end() ? nullptr : &place->calls;
}

const char* Segment::function_of(std::uint32_t entry) const {
  const auto place = std::ranges::find(call_sites_, entry, &CallSite::entry);
  return place == call_sites_.end() ? nullptr : place->function;
}

void Segment::close() {
  visible_.resize(values_.size());
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    visible_[i] = !values_[i]->has_one_owner();
    word = word << 1 | std::uint64_t{visible_[i]};
    if (i % 64 == 63 || i + 1 == values_.size()) key_.push_back(word);
  }
}

void Segment::clear() {
  entries_.clear();
  references_.clear();
  values_.clear();
  visible_.clear();
  numbers_.clear();
  key_.clear();
  guards_.clear();
  call_sites_.clear();
  bytes_ = 0;
  epoch_ = 0;
}

}  // namespace kiln::fusion
