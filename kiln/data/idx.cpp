#include "kiln/data/idx.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/data/gzip.hpp"

namespace kiln {
namespace {

/// The contents of a file, inflated if it is gzip.
class Contents {
 public:
  Contents(std::span<const std::byte> file, std::string_view name) : file_(file) {
    if (is_gzip(file)) gzip_.emplace(file, name);
  }

  /// Fills `out` as far as possible.
  std::size_t read(std::span<std::byte> out) {
    if (gzip_) return gzip_->read(out);
    const std::size_t count = std::min(out.size(), file_.size());
    std::copy_n(file_.begin(), count, out.begin());
    file_ = file_.subspan(count);
    return count;
  }

  /// An upper bound of the remaining bytes.
  std::int64_t at_most() const { return static_cast<std::int64_t>(file_.size()) * (gzip_ ? kMaxInflation : 1); }

 private:
  std::span<const std::byte> file_;
  std::optional<GzipReader> gzip_;
};

}  // namespace

IdxArray read_idx(std::span<const std::byte> file, std::string_view name, std::int64_t limit) try {
  Contents contents(file, name);
  const auto read_word = [&] {
    std::array<std::byte, 4> word;
    require<DataError>(contents.read(word) == 4, name, ": the file ends inside its IDX header");
    return word;
  };

  const auto magic = read_word();
  constexpr std::byte kUnsignedByte{0x08};
  require<DataError>(magic[0] == std::byte{0} && magic[1] == std::byte{0}, name,
                     ": this is no IDX file: it does not begin with two zero bytes");
  require<DataError>(magic[2] == kUnsignedByte, name, ": the IDX element type is ", std::to_integer<int>(magic[2]),
                     ", only 8 (unsigned bytes) can be read");
  const int rank = std::to_integer<int>(magic[3]);
  require<DataError>(rank >= 1 && rank <= kMaxRank, name, ": the IDX header claims ", rank,
                     " dimensions, it should have 1 to ", kMaxRank);

  IdxArray array;
  std::int64_t count = 1;
  bool overflow = false;
  for (int i = 0; i < rank; ++i) {
    std::uint32_t size = 0;
    for (const auto byte : read_word()) size = size << 8 | std::to_integer<std::uint32_t>(byte);
    array.shape.push_back(size);
    overflow |= __builtin_mul_overflow(count, std::int64_t{size}, &count);
  }
  require<DataError>(!overflow && count <= limit, name, ": the IDX header claims shape ", array.shape,
                     ", more than the ", limit, " bytes that are allowed");
  require<DataError>(count <= contents.at_most(), name, ": the IDX header claims shape ", array.shape,
                     ", the file is too short to hold that");

  array.values.resize(static_cast<std::size_t>(count));
  const std::size_t got = contents.read(std::as_writable_bytes(std::span(array.values)));
  require<DataError>(got == array.values.size(), name, ": the IDX header claims shape ", array.shape, ", but only ",
                     got, " of ", count, " bytes follow");
  std::array<std::byte, 1> beyond;
  require<DataError>(contents.read(beyond) == 0, name, ": bytes follow after the ", count,
                     " that the IDX header claims");
  return array;
} catch (...) { rethrow_as_memory_error(name); }

}  // namespace kiln
