// Collectives over bytes on the host. An all_reduce is two exchanges: first each rank receives its slice from all
// others and combines the slices in rank order, then all ranks receive each slice. No rank sends more than twice its
// tensor, and the order of arrival changes nothing.
#include "kiln/ops/collective/host.hpp"

#include <cmath>
#include <cstring>

#include "kiln/core/parallel.hpp"
#include "kiln/core/wrapping.hpp"
#include "kiln/ops/collective/collective.hpp"

namespace kiln {
namespace collective {
namespace {

constexpr std::int64_t kGrain = 16384;  // the least number of elements worth a thread

template <class T>
T combined(op::ReduceFn fn, T a, T b) {
  if (fn == op::ReduceFn::Sum || fn == op::ReduceFn::Mean) return wrapping_add(a, b);
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
  return fn == op::ReduceFn::Max ? (b > a ? b : a) : (b < a ? b : a);
}

/// Computes result[i] from parts[0][i], parts[1][i], ..., in that order.
void combine(op::ReduceFn fn, DType dtype, const std::vector<const std::byte*>& parts, std::int64_t count,
             std::byte* result) {
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    using Wide = std::conditional_t<is_half<T>, float, T>;
    if constexpr (std::is_same_v<T, bool>) {
      KILN_CHECK(false);
    } else {
      const auto element = [](const std::byte* part, std::int64_t i) {
        T value;
        std::memcpy(&value, part + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
        return static_cast<Wide>(value);
      };
      parallel_for(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          Wide all = element(parts[0], i);
          for (std::size_t rank = 1; rank < parts.size(); ++rank) all = combined(fn, all, element(parts[rank], i));
          if constexpr (std::is_floating_point_v<Wide>)
            if (fn == op::ReduceFn::Mean) all /= static_cast<Wide>(parts.size());
          const T value(all);
          std::memcpy(result + i * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
        }
      });
    }
  });
}

using Pieces = Communicator::Pieces;
using Places = Communicator::Places;

/// Returns slice `rank` of `ranks` of an array whose elements have `size` bytes.
template <class Bytes>
Bytes slice(Bytes all, std::int64_t size, int rank, int ranks) {
  const std::int64_t count = std::ssize(all) / size;
  const auto begin = [&](int r) {
    return static_cast<std::size_t>((count / ranks * r + std::min<std::int64_t>(count % ranks, r)) * size);
  };
  return all.subspan(begin(rank), begin(rank + 1) - begin(rank));
}

/// Fills `result` with this rank's slice of x, combined over all ranks.
void reduce_slices(Communicator& among, std::string_view what, op::ReduceFn fn, DType dtype,
                   std::span<const std::byte> x, std::span<std::byte> result) {
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  Pieces pieces;
  Places places;
  std::vector<std::byte> others(result.size() * static_cast<std::size_t>(among.size()));
  std::vector<const std::byte*> parts;
  for (int rank = 0; rank < among.size(); ++rank) {
    pieces.push_back(slice(x, size, rank, among.size()));
    places.push_back(std::span(others).subspan(static_cast<std::size_t>(rank) * result.size(), result.size()));
    parts.push_back(places.back().data());
  }
  among.exchange(what, pieces, places);
  combine(fn, dtype, parts, std::ssize(result) / size, result.data());
}

}  // namespace

void all_reduce(Communicator& among, std::string_view what, op::ReduceFn fn, DType dtype, std::span<const std::byte> x,
                std::span<std::byte> result) {
  KILN_CHECK(x.size() == result.size());
  const auto own = [&](int rank) {
    return slice(result, static_cast<std::int64_t>(size_of(dtype)), rank, among.size());
  };
  reduce_slices(among, what, fn, dtype, x, own(among.rank()));
  Places places;
  for (int rank = 0; rank < among.size(); ++rank) places.push_back(own(rank));
  // The own slice is copied, as it is sent to all ranks while `places` receives theirs.
  const std::vector<std::byte> mine(own(among.rank()).begin(), own(among.rank()).end());
  among.exchange(what, Pieces(static_cast<std::size_t>(among.size()), mine), places);
}

void broadcast(Communicator& among, std::string_view what, int root, std::span<const std::byte> x,
               std::span<std::byte> result) {
  const auto ranks = static_cast<std::size_t>(among.size());
  Pieces pieces(ranks);
  Places places(ranks);
  if (among.rank() == root) pieces.assign(ranks, x);
  places[static_cast<std::size_t>(root)] = result;
  among.exchange(what, pieces, places);
}

void all_gather(Communicator& among, std::string_view what, std::span<const std::byte> x, std::span<std::byte> result) {
  KILN_CHECK(result.size() == x.size() * static_cast<std::size_t>(among.size()));
  Places places;
  for (int rank = 0; rank < among.size(); ++rank)
    places.push_back(result.subspan(static_cast<std::size_t>(rank) * x.size(), x.size()));
  among.exchange(what, Pieces(static_cast<std::size_t>(among.size()), x), places);
}

void reduce_scatter(Communicator& among, std::string_view what, op::ReduceFn fn, DType dtype,
                    std::span<const std::byte> x, std::span<std::byte> result) {
  KILN_CHECK(x.size() == result.size() * static_cast<std::size_t>(among.size()));
  reduce_slices(among, what, fn, dtype, x, result);
}

std::vector<std::string> gather_texts(Communicator& among, std::string_view what, const std::string& text) {
  const auto ranks = static_cast<std::size_t>(among.size());
  std::vector<std::uint64_t> lengths(ranks);
  const std::uint64_t own = text.size();
  all_gather(among, what, std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(lengths)));
  std::vector<std::string> texts;
  for (const std::uint64_t length : lengths) texts.emplace_back(length, ' ');
  Places places;
  for (std::string& place : texts) places.push_back(std::as_writable_bytes(std::span(place)));
  among.exchange(what, Pieces(ranks, std::as_bytes(std::span(text))), places);
  return texts;
}

}  // namespace collective

void barrier(const Ranks& among) {
  require<ArgumentError>(among != nullptr, "barrier: no communicator was given");
  const auto ranks = static_cast<std::size_t>(among->size());
  among->exchange("barrier", Communicator::Pieces(ranks), Communicator::Places(ranks));
}

}  // namespace kiln
