#include "kiln/wire/custom.hpp"

#include <atomic>

#include "kiln/core/error/shown.hpp"

namespace kiln::wire {
namespace {

constexpr std::string_view kPrefix = "custom:";
constexpr std::uint64_t kRevision = 2;  // 2: a precision follows the fields

/// Readers may traverse the list at any time; registered entries stay.
struct CustomReader {
  CustomClass registered;
  const CustomReader* next;
};
std::atomic<const CustomReader*> newest{nullptr};

template <class Is>
const CustomClass* find(Is is) {
  for (const CustomReader* entry = newest.load(std::memory_order_acquire); entry; entry = entry->next)
    if (is(entry->registered)) return &entry->registered;
  return nullptr;
}

}  // namespace

void register_custom_class(const CustomClass& registered) {
  require<ArgumentError>(!registered.name.empty() && registered.name.size() <= 64,
                         "register_custom_op: a name has 1 to 64 letters, got '", shown(registered.name), "'");
  if (const CustomClass* const known = find([&](const CustomClass& other) { return other.name == registered.name; })) {
    require<ArgumentError>(known->is == registered.is, "register_custom_op: another class is called '",
                           shown(registered.name), "'");
    return;
  }
  auto* const entry = new CustomReader{registered, newest.load(std::memory_order_relaxed)};
  while (!newest.compare_exchange_weak(entry->next, entry, std::memory_order_acq_rel)) continue;
}

std::vector<CustomClass> custom_classes() {
  std::vector<CustomClass> all;
  find([&](const CustomClass& each) { return all.push_back(each), false; });
  return all;
}

const CustomClass* class_of(const CustomOp& op) {
  return find([&](const CustomClass& each) { return each.is(op); });
}

void write_custom(Writer& out, const CustomOp& op) {
  const CustomClass* const found = class_of(op);
  require<ArgumentError>(found, "the operation '", op.name(), "' is the program's own: register_custom_op<", op.name(),
                         ">(name) lets it travel (kiln/tensor/custom_wire.hpp)");
  out.op(text(kPrefix, found->name), found->fingerprint + kRevision);
  found->write(out, op);
}

bool is_custom(std::string_view name) { return name.starts_with(kPrefix); }

Ref<const CustomOp> read_custom(Reader& in, Reader::Name& name) {
  if (name.resolved_by != &newest) {
    const std::string_view own = std::string_view(name.text).substr(kPrefix.size());
    const CustomClass* const found = find([&](const CustomClass& each) { return each.name == own; });
    if (!found)
      in.wrong("the operation '", shown(own),
               "' is the writing program's own: register_custom_op in this one too, "
               "under that name");
    name.lacks_precision = found->fingerprint == name.fingerprint;
    if (found->fingerprint + kRevision != name.fingerprint && !name.lacks_precision)
      in.wrong("the operation '", shown(own), "' has other fields in this program than in the one that wrote it");
    name.resolved_by = &newest;
    name.number = reinterpret_cast<std::uintptr_t>(found);
  }
  return reinterpret_cast<const CustomClass*>(static_cast<std::uintptr_t>(name.number))->read(in);
}

}  // namespace kiln::wire
