#include "kiln/backend/remote/protocol.hpp"

#include <algorithm>
#include <limits>
#include <new>

#include "kiln/core/error/trace.hpp"
#include "kiln/wire/op_wire.hpp"

namespace kiln::remote {

std::int64_t bytes_of(const Desc& desc) { return numel(desc.shape) * static_cast<std::int64_t>(size_of(desc.dtype)); }

std::int64_t bytes_of(std::span<const Desc> all) {
  std::int64_t sum = 0;
  for (const Desc& desc : all)
    if (__builtin_add_overflow(sum, bytes_of(desc), &sum)) return std::numeric_limits<std::int64_t>::max();
  return sum;
}

wire::Writer begun(Frame first) {
  wire::Writer out;
  begin(out, first);
  wire::write_header(out);
  return out;
}

Refusal told(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    return {known.kind(), without_all_calls(known.message()), {}};  // the server's calls tell a client nothing
  } catch (const std::bad_alloc&) {
    return {ErrorKind::Memory, "the server's memory does not suffice", {}};
  } catch (const std::exception& other) { return {ErrorKind::Device, other.what(), {}}; } catch (...) {
    return {ErrorKind::Device, "an error of an unknown type", {}};
  }
}

std::vector<KnownOp> own_ops() {
  std::vector<KnownOp> all;
  for (const wire::OpFingerprint& op : wire::op_fingerprints()) all.push_back({std::string(op.name), op.fingerprint});
  return all;
}

std::string differing_ops(const std::vector<KnownOp>& others) {
  constexpr std::size_t kShown = 6;
  const auto has = [](const std::vector<KnownOp>& all, const KnownOp& op) {
    return std::ranges::any_of(
        all, [&](const KnownOp& each) { return each.name == op.name && each.fingerprint == op.fingerprint; });
  };
  const std::vector<KnownOp> own = own_ops();
  std::vector<std::string> names;
  for (const KnownOp& op : own)
    if (!has(others, op)) names.push_back(op.name);
  for (const KnownOp& op : others)
    if (!has(own, op) && std::ranges::find(names, op.name) == names.end()) names.push_back(op.name);
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) list += (i ? ", " : "") + names[i];
  if (names.size() > kShown) list += text(" and ", names.size() - kShown, " more");
  return list;
}

}  // namespace kiln::remote
