#include "kiln/train/recorded.hpp"

#include <algorithm>
#include <utility>

namespace kiln {
namespace {

/// The prefix of the paths of optional objects.
constexpr std::string_view kOptional = "seen.";

/// Moves the tensors of optional objects out of a record.
TensorSource without_optional(TensorSource& record) {
  TensorSource optional;
  std::erase_if(record.tensors, [&](auto& entry) {
    const bool takes = entry.first.starts_with(kOptional);
    if (takes) optional.tensors.insert(entry);
    return takes;
  });
  const std::string value = text("value.", kOptional);
  std::erase_if(record.metadata, [&](const auto& entry) {
    const bool takes = entry.first.starts_with(value);
    if (takes) optional.metadata.insert(entry);
    return takes;
  });
  return optional;
}

template <class Visit>
void restore_by(const Visit& visit, const TensorSource& record, std::string_view file, const LoadOptions& options) {
  detail::RecordReader reader(record, file, options);
  visit(reader);
  const detail::LoadedValues fitted = reader.fit();
  detail::RecordAssigner taker(record, file, options, fitted.values);
  visit(taker);
}

}  // namespace

void RecordedObjects::add(RecordedObject part) {
  for (const RecordedObject& other : parts_)
    require<ArgumentError>(part.path != other.path, "training: there are two objects called '", part.path, '\'');
  parts_.push_back(std::move(part));
}

std::string RecordedObjects::free_optional(const std::string& path) const {
  std::string free = text(kOptional, path);
  for (int i = 1; std::ranges::find(parts_, free, &RecordedObject::path) != parts_.end(); ++i)
    free = text(kOptional, path, i);
  return free;
}

TensorSource RecordedObjects::snapshot(Metadata metadata) const {
  TensorSource record;
  record.metadata = std::move(metadata);
  detail::RecordWriter writer(record);
  for (const RecordedObject& part : parts_) part.visit_with(writer);
  return record;
}

void RecordedObjects::restore(const TensorSource& record, std::string_view file, const LoadOptions& options) {
  TensorSource needed = record;
  const TensorSource optional = without_optional(needed);
  const auto visit = [&](detail::RecordVisitor& visitor) {
    for (const RecordedObject& part : parts_)
      if (!part.path.starts_with(kOptional)) part.visit_with(visitor);
  };
  restore_by(visit, needed, file, options);
  for (const RecordedObject& part : parts_) {
    if (!part.path.starts_with(kOptional)) continue;
    try {
      restore_by([&](detail::RecordVisitor& visitor) { part.visit_with(visitor); }, optional, file,
                 {.allow_unexpected = true});
    } catch (const Error&) {}  // the object is unchanged
  }
}

}  // namespace kiln
