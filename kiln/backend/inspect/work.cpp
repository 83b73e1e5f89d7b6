#include "kiln/backend/inspect/work.hpp"

#include <algorithm>

namespace kiln {
namespace {

/// The number of elements in memory: dimensions with stride 0 repeat them.
double distinct(const Node& node) {
  const Shape& shape = node.desc.shape;
  double count = 1;
  for (int i = 0; i < shape.size(); ++i)
    if (shape[i] == 0 || node.strides.size() != shape.size() || node.strides[i] != 0)
      count *= static_cast<double>(shape[i]);
  return count;
}

double bytes_of(const Node& node) { return distinct(node) * static_cast<double>(size_of(node.desc.dtype)); }

bool is_view(const Value& result, Inputs in) {
  const Ref<Storage>& storage = result.node()->storage;
  return storage && std::any_of(in.begin(), in.end(),
                                [&](const Value& value) { return value.node() && value.node()->storage == storage; });
}

double bytes_of(const op::Op& op, const Call& call) {
  double written = 0;
  bool all_views = !call.out.empty();
  for (const Value& result : call.out) {
    if (is_view(result, call.in)) continue;
    all_views = false;
    written += bytes_of(*result.node());
  }
  if (all_views) return 0;
  const bool looks_up = op::visit(op, []<class T>(const T&) { return T::kTraits.pattern == Pattern::Lookup; });
  double read = 0;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    if (!call.in[i].node()) continue;
    const double bytes = bytes_of(*call.in[i].node());
    read += looks_up && i == 0 ? std::min(bytes, written) : bytes;
  }
  return read + written;
}

}  // namespace

Work work_of(const op::Op& op, const Call& call) {
  return {.bytes = bytes_of(op, call),
          .flops = op::visit(op, [&](const auto& o) { return flops_of(o, call.in, call.out); })};
}

}  // namespace kiln
