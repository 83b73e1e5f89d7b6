#include "kiln/backend/inspect/profile_log.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "kiln/backend/inspect/work.hpp"

namespace kiln {
namespace {

constexpr const char* kOthers = "others";  // a row for all calls that are too many for rows of their own

/// A small number that identifies the calling thread.
int thread_number() {
  static std::atomic<int> next = 0;
  thread_local const int number = next++;
  return number;
}

Desc desc_of(const Value& value) { return value.node() ? value.node()->desc : Desc{}; }

void mix(std::size_t& hash, std::size_t word) { hash = (hash ^ word) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29; }

std::string described(const Value& value) {
  if (value.empty()) return "none";
  if (value.is_scalar()) return "number";
  const Desc& desc = value.node()->desc;
  return desc.dtype == DType::F32 ? text(desc.shape) : text(desc.dtype, " ", desc.shape);
}

std::string shapes_of(const Call& call) {
  constexpr std::size_t kShown = 6;
  std::string out;
  std::size_t shown = 0, tensors = 0;
  for (const Value& value : call.in) {
    if (!value.node()) continue;
    if (++tensors > kShown) continue;
    out += text(shown++ ? " x " : "", described(value));
  }
  if (tensors > kShown) out += text(" x ", tensors - kShown, " more");
  out += tensors ? " -> " : "-> ";
  for (std::size_t i = 0; i < call.out.size() && i < kShown; ++i) out += text(i ? ", " : "", described(call.out[i]));
  if (call.out.size() > kShown) out += text(", ", call.out.size() - kShown, " more");
  return out;
}

}  // namespace

std::size_t ProfileLog::row_of(const op::Op& op, const Call& call) {
  std::size_t hash = op::hash(op);
  const auto add = [&](const Desc& desc) {
    mix(hash, static_cast<std::size_t>(desc.dtype));
    for (const std::int64_t size : desc.shape) mix(hash, static_cast<std::size_t>(size));
  };
  for (const Value& value : call.in) add(desc_of(value));
  for (const Value& value : call.out) add(desc_of(value));

  const auto same = [](const std::vector<Desc>& known, std::span<const Value> values) {
    return std::equal(known.begin(), known.end(), values.begin(), values.end(),
                      [](const Desc& desc, const Value& value) { return desc == desc_of(value); });
  };
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry) {
    const Key& key = entry->second.first;
    if (key.op == op && same(key.in, call.in) && same(key.out, call.out)) return entry->second.second;
  }
  Key key{.op = op, .in = {}, .out = {}};
  for (const Value& value : call.in) key.in.push_back(desc_of(value));
  for (const Value& value : call.out) key.out.push_back(desc_of(value));
  // Ops that differ only in attributes that the table does not show share a row.
  const std::size_t row = row_of(op::display_name(op), shapes_of(call));
  if (by_hash_.size() < options_.most_rows) by_hash_.emplace(hash, std::pair(std::move(key), row));
  return row;
}

std::size_t ProfileLog::row_of(const std::string& name, const std::string& shapes) {
  const std::string key = text(name, "\n", shapes);
  if (const auto known = by_text_.find(key); known != by_text_.end()) return known->second;
  if (contents_.rows.size() + 1 >= options_.most_rows && name != kOthers) return row_of(kOthers, "");
  contents_.rows.push_back({.name = name, .shapes = shapes});
  return by_text_.emplace(key, contents_.rows.size() - 1).first->second;
}

void ProfileLog::note(std::size_t row, double bytes, double flops, const Timing& timing,
                      const MemoryStatistics& memory) {
  ProfileRow& entry = contents_.rows[row];
  ++entry.calls;
  entry.seconds += std::chrono::duration<double>(timing.own).count();
  entry.bytes += bytes;
  entry.flops += flops;
  if (contents_.first == ProfileClock::time_point{}) contents_.first = timing.start;
  contents_.first = std::min(contents_.first, timing.start);
  contents_.last = std::max(contents_.last, timing.start + timing.took);
  contents_.memory = memory;
  if (contents_.events.size() < options_.most_events)
    contents_.events.push_back({row, timing.start, timing.took, thread_number(), memory.in_use});
  else ++contents_.events_left_out;
}

void ProfileLog::add(const op::Op& op, const Call& call, const Timing& timing, const MemoryStatistics& memory) {
  const Work work = work_of(op, call);
  const std::lock_guard lock(mutex_);
  note(row_of(op, call), work.bytes, work.flops, timing, memory);
}

void ProfileLog::add_copy(std::string_view name, const Desc& desc, const Timing& timing,
                          const MemoryStatistics& memory) {
  const std::string shapes = desc.dtype == DType::F32 ? text(desc.shape) : text(desc.dtype, " ", desc.shape);
  const double bytes = static_cast<double>(numel(desc.shape)) * static_cast<double>(size_of(desc.dtype));
  const std::lock_guard lock(mutex_);
  note(row_of(std::string(name), shapes), 2 * bytes, 0, timing, memory);
}

void ProfileLog::set_device(std::string name) {
  const std::lock_guard lock(mutex_);
  contents_.device = std::move(name);
}

ProfileContents ProfileLog::contents() const {
  const std::lock_guard lock(mutex_);
  return contents_;
}

void ProfileLog::reset() {
  const std::lock_guard lock(mutex_);
  by_hash_.clear();
  by_text_.clear();
  std::string device = std::move(contents_.device);
  contents_ = {};
  contents_.device = std::move(device);
}

}  // namespace kiln
