// The encodings of levels and values in Parquet pages:
// https://parquet.apache.org/docs/file-format/data-pages/encodings/
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "kiln/data/parquet/bytes.hpp"

namespace kiln::parquet {

enum class Encoding {
  Plain = 0,
  PlainDictionary = 2,
  Runs = 3,
  DeltaBinaryPacked = 5,
  DeltaLengthByteArray = 6,
  DeltaByteArray = 7,
  Dictionary = 8,
  ByteStreamSplit = 9,
};

/// Calls use(number) for `count` numbers of `width` bits (0 to 32), encoded as runs of equal numbers and as packed
/// bits. Throws DataError if there are fewer.
template <class Use>
void read_runs(Bytes& in, int width, std::int64_t count, Use&& use) {
  if (width < 0 || width > 32) throw_damaged(in.file(), "numbers of ", width, " bits");
  while (count > 0) {
    const std::uint64_t head = in.varint();
    if (head & 1) {  // groups of eight
      const std::uint64_t groups = head >> 1;
      if (groups > in.rest().size() && width > 0)
        throw_damaged(in.file(), "a run of ", groups, " groups ends too early");
      const auto packed = in.take(width ? groups * static_cast<std::uint64_t>(width) : 0);
      const std::uint64_t here = std::min<std::uint64_t>(static_cast<std::uint64_t>(count), groups * 8);
      if (here == 0) throw_damaged(in.file(), "a run of no numbers");
      for (std::uint64_t i = 0; i < here; ++i) use(width ? packed_bits(packed, i, width) : 0);
      count -= static_cast<std::int64_t>(here);
    } else {
      std::uint64_t number = 0;
      for (int at = 0; at < width; at += 8) number |= std::uint64_t{in.byte()} << at;
      const std::uint64_t here = std::min<std::uint64_t>(static_cast<std::uint64_t>(count), head >> 1);
      if (here == 0) throw_damaged(in.file(), "a run of no numbers");
      for (std::uint64_t i = 0; i < here; ++i) use(number);
      count -= static_cast<std::int64_t>(here);
    }
  }
}

/// Decodes `count` numbers from their differences.
std::vector<std::int64_t> read_deltas(Bytes& in, std::int64_t count);

/// `count` texts, which refer to the page; or, for DeltaByteArray, to `made`, where they are assembled, with at most
/// `most` bytes.
std::vector<std::string_view> read_delta_lengths(Bytes& in, std::int64_t count);
std::vector<std::string_view> read_delta_texts(Bytes& in, std::int64_t count, std::uint64_t most,
                                               std::unique_ptr<std::byte[]>& made);

}  // namespace kiln::parquet
