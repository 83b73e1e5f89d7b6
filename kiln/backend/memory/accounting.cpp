#include "kiln/backend/memory/accounting.hpp"

#include <algorithm>
#include <vector>

#include "kiln/core/text.hpp"

namespace kiln {
namespace {

constexpr std::size_t kShown = 5;  // the number of largest holders in a report

// An unknown limit is the largest number.
std::int64_t whole(std::size_t bytes) { return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, INT64_MAX)); }

std::string text_of(std::size_t bytes) { return text_of_bytes(whole(bytes)); }

const char* name(MemoryUse use, bool several) {
  switch (use) {
    case MemoryUse::Upload: return several ? "uploads" : "upload";
    case MemoryUse::Result: return several ? "results" : "result";
    case MemoryUse::Scratch: return several ? "scratch blocks" : "scratch block";
    case MemoryUse::Packed: return several ? "packed copies of" : "packed copy of";
  }
  return "";
}

}  // namespace

void MemoryAccounting::record_acquire(const std::byte* block, std::size_t bytes, const Purpose& purpose) {
  ++requests_;
  in_use_ += bytes;
  by_use_[static_cast<std::size_t>(purpose.use)] += bytes;
  peak_ = std::max(peak_, in_use_);
  if (bytes >= kLarge)
    large_[block] = {bytes, purpose.use, purpose.desc != nullptr, purpose.desc ? *purpose.desc : Desc{}};
}

void MemoryAccounting::record_release(const std::byte* block, std::size_t bytes, MemoryUse use) {
  in_use_ -= bytes;
  by_use_[static_cast<std::size_t>(use)] -= bytes;
  if (bytes >= kLarge) large_.erase(block);
}

MemoryStatistics MemoryAccounting::statistics(std::size_t reserved, std::size_t limit) const {
  const auto used_for = [&](MemoryUse use) { return whole(by_use_[static_cast<std::size_t>(use)]); };
  return {.in_use = whole(in_use_),
          .reserved = whole(reserved),
          .peak = whole(peak_),
          .limit = whole(limit),
          .uploads = used_for(MemoryUse::Upload),
          .results = used_for(MemoryUse::Result),
          .scratch = used_for(MemoryUse::Scratch),
          .packed = used_for(MemoryUse::Packed),
          .requests = requests_,
          .system_requests = system_requests_};
}

std::string MemoryAccounting::report(std::size_t reserved, std::size_t limit) const {
  struct Kind {
    Holder holder;  // with the bytes of all of them
    std::size_t count = 1;
  };
  std::vector<Kind> kinds;
  for (const auto& [block, holder] : large_) {
    const auto same = [&, &holder = holder](const Kind& kind) {
      return kind.holder.use == holder.use && kind.holder.is_tensor == holder.is_tensor &&
             kind.holder.desc == holder.desc && (holder.is_tensor || kind.holder.bytes / kind.count == holder.bytes);
    };
    if (const auto known = std::find_if(kinds.begin(), kinds.end(), same); known != kinds.end()) {
      known->holder.bytes += holder.bytes;
      ++known->count;
    } else {
      kinds.push_back({.holder = holder});
    }
  }
  std::sort(kinds.begin(), kinds.end(), [](const Kind& a, const Kind& b) { return a.holder.bytes > b.holder.bytes; });

  std::string out = text(statistics(reserved, limit), ", the limit is ", text_of(limit));
  std::size_t shown = 0, named = 0;
  for (const auto& [holder, count] : kinds) {
    if (++shown > kShown) break;
    named += holder.bytes;
    out += text(shown == 1 ? "; the largest: " : ", ", count, " ", name(holder.use, count > 1));
    if (holder.is_tensor) out += text(" ", holder.desc.dtype, " ", holder.desc.shape);
    out += text(" (", text_of(holder.bytes), ")");
  }
  if (shown && named < in_use_) out += text(", and ", text_of(in_use_ - named), " in others");
  return out;
}

}  // namespace kiln
