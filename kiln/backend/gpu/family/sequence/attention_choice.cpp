// The choice of the tiles of attention by what was measured. The keys of a tile are the same in all ways: they decide in
// which order a softmax is summed.
#include <algorithm>

#include "kiln/backend/gpu/family/choice.hpp"
#include "kiln/backend/gpu/family/sequence/attention_matrices.hpp"

namespace kiln::gpu::family {
namespace {

std::vector<AttentionWay> ways_for(const AttentionWork& work, const AttentionWay& first) {
  static constexpr AttentionWay kWays[] = {{64, 16},     {64, 32},     {64, 32, 1}, {64, 64, 1}, {128, 16}, {128, 32},
                                           {128, 32, 1}, {128, 64, 1}, {32, 32},    {32, 64, 1}, {32, 16},  {64, 8}};
  std::vector<AttentionWay> all{first};
  if (work.kind == AttentionWork::Kind::Matrices) {
    for (const int rows : {64, 128})
      if (rows != first.rows && rows < 2 * work.rows && (rows == 64 || two_groups_fit(work.width, work.values)))
        all.push_back({rows, first.depth});
    return all;
  }
  if (work.rows <= first.rows / 2) return all;
  for (const AttentionWay& way : kWays) {
    // The threads of fragments, two for each row, load up to 128 columns of values one at a time.
    const bool few_threads = 2 * way.rows < std::min<std::int64_t>(std::max(work.width, work.values), 128);
    const bool left_out = way == first || (work.key.fragments && (way.depth < 16 || few_threads));
    // Rows and depths that do not exist cost as much as others.
    if (!left_out && way.rows < 2 * work.rows && way.depth < 2 * std::max<std::int64_t>(work.width, 16))
      all.push_back(way);
  }
  return all;
}

/// Calls that are alike in this have the same way.
struct WayQuestion {
  AttentionWork::Kind kind;
  AttentionKey key;
  int heads, rows, columns, width, values;  // digits in binary
  Loading q, k, v;
  AttentionWay first;
  std::string words() const {
    static constexpr std::string_view kKinds[] = {"attention", "attention, gradient of queries",
                                                  "attention, gradient of keys and values", "attention by matrices"};
    const auto loaded = [](const Loading& by) { return text(by.along_depth ? " deep " : " wide ", by.width); };
    const auto with = [](bool has, std::string_view what) { return has ? what : std::string_view(); };
    return text(kKinds[static_cast<std::size_t>(kind)], " of ", key.dtype, with(key.causal, ", causal"),
                with(key.windowed, ", windowed"), with(key.capped, ", capped"), with(key.masked, ", masked"),
                with(key.biased, ", biased"), ", 2^", heads, " heads, up to 2^", rows, " x 2^", columns, ", 2^", width,
                " and 2^", values, " wide, loaded", loaded(q), loaded(k), loaded(v));
  }
};

}  // namespace

const AttentionWay& chosen_way(Gpu& gpu, const AttentionWork& work, const AttentionWay& first,
                               FunctionRef<void(const AttentionWay&)> run) {
  const WayQuestion question{work.kind,
                             work.key,
                             digits_of(work.heads),
                             digits_of(work.rows),
                             digits_of(work.columns),
                             digits_of(work.width),
                             digits_of(work.values),
                             work.q,
                             work.k,
                             work.v,
                             first};
  return gpu.made<AttentionWay>(question, [&] {
    const std::vector<AttentionWay> ways = ways_for(work, first);
    std::vector<std::string> names;
    for (const AttentionWay& way : ways)
      names.push_back(text(way.rows, " rows ", way.depth, " deep", way.stages == 1 ? " in one stage" : ""));
    return std::make_shared<const AttentionWay>(
        ways[chosen(gpu, question.words(), names, [&](std::size_t i) { run(ways[i]); })]);
  });
}

}  // namespace kiln::gpu::family
