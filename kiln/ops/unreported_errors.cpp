#include "kiln/ops/unreported_errors.hpp"

#include <algorithm>

namespace kiln {
namespace {

constexpr std::size_t kMostCauses = 8;  // of one value; a loop may add any number

void add_roots(std::vector<Ref<Failure>>& all, const Ref<Failure>& failure) {
  const auto add = [&](const Ref<Failure>& root) {
    if (all.size() < kMostCauses && std::ranges::find(all, root) == all.end()) all.push_back(root);
  };
  if (failure->causes.empty()) add(failure);
  for (const Ref<Failure>& cause : failure->causes) add(cause);
}

}  // namespace

Ref<Failure> joined(const Ref<Failure>& a, const Ref<Failure>& b) {
  if (!b || a == b) return a;
  if (!a) return b;
  std::vector<Ref<Failure>> causes;
  add_roots(causes, a);
  const std::size_t before = causes.size();
  add_roots(causes, b);
  return causes.size() == before ? a : make_ref<Failure>(a->error, std::move(causes));
}

Ref<Failure> with_cause(const Ref<Failure>& own, const Ref<Failure>& cause) {
  std::vector<Ref<Failure>> causes;
  add_roots(causes, cause);
  return make_ref<Failure>(own->error, std::move(causes));
}

Ref<Failure> failure_among(Inputs values) {
  const auto known = [&] {
    Ref<Failure> failure;
    for (const Value& value : values) failure = joined(failure, failure_of(value.node()));
    return failure;
  };
  // Looked up again if there is one: the device may have found errors of the first values meanwhile.
  const Ref<Failure> failure = known();
  return failure ? known() : failure;
}

void UnreportedErrors::note(const Ref<Failure>& failure, const Ref<Requester>& requester) {
  if (!failure || !requester) return;
  for (const Ref<Failure>& cause : failure->causes) note(cause, requester);
  if (!failure->causes.empty()) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const UnreportedError& entry) { return entry.failure->thrown > 0; });
  const bool known = std::ranges::find(entries_, failure, &UnreportedError::failure) != entries_.end();
  if (!known && entries_.size() < kMost) entries_.push_back({failure, requester});
}

Ref<Failure> UnreportedErrors::errors_of(const Ref<Requester>& requester) {
  const std::lock_guard lock(mutex_);
  Ref<Failure> failure;
  for (const UnreportedError& entry : entries_)
    if (entry.requester == requester) failure = joined(failure, entry.failure);
  return failure;
}

void UnreportedErrors::throw_all() {
  const Ref<Requester> self = Requester::current();
  std::vector<Ref<Failure>> found;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const UnreportedError& entry) {
      if (entry.failure->thrown > 0) return true;
      const bool ownerless = entry.requester->is_gone() && entry.failure->has_one_owner();
      if (entry.requester != self && !ownerless) return false;
      // A thread that reads the value at this moment may be first.
      if (entry.failure->thrown.fetch_add(1) == 0) found.push_back(entry.failure);
      return true;
    });
  }
  if (!found.empty()) throw_failures(found);
}

}  // namespace kiln
