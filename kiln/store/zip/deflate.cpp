#include "kiln/store/zip/deflate.hpp"

#include <algorithm>
#include <limits>

#include <zlib.h>

#include "kiln/core/error/error.hpp"

namespace kiln {
namespace {

constexpr int kRaw = -MAX_WBITS;  // without a header, see zlib.h
constexpr std::size_t kPiece = 1 << 20;

// zlib counts bytes in 32 bits.
uInt piece(std::size_t size) {
  return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
}

/// Gives zlib the next piece of input, and space for another piece of output.
void refill(z_stream& z, std::span<const std::byte>& rest, std::vector<std::byte>& out, std::size_t done) {
  if (z.avail_in == 0) {
    z.avail_in = piece(rest.size());
    z.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(rest.data()));  // zlib only reads it
    rest = rest.subspan(z.avail_in);
  }
  if (done == out.size()) out.resize(done + std::max(kPiece, done / 2));
  z.next_out = reinterpret_cast<Bytef*>(out.data() + done);
  z.avail_out = piece(out.size() - done);
}

struct Inflation {
  z_stream z{};
  explicit Inflation(std::string_view what) {
    require<MemoryError>(inflateInit2(&z, kRaw) == Z_OK, what, ": zlib has no memory to inflate it");
  }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;
  ~Inflation() { inflateEnd(&z); }
};

}  // namespace

std::vector<std::byte> inflate(std::span<const std::byte> bytes, std::uint64_t size, std::string_view what) {
  Inflation inflation(what);
  z_stream& z = inflation.z;
  std::vector<std::byte> out(static_cast<std::size_t>(std::min<std::uint64_t>(size + 1, kPiece)));
  std::size_t done = 0;
  for (int status = Z_OK; status != Z_STREAM_END;) {
    refill(z, bytes, out, done);
    const uInt room = z.avail_out;
    status = ::inflate(&z, Z_NO_FLUSH);
    done += room - z.avail_out;
    require<DataError>(status == Z_OK || status == Z_STREAM_END, what, ": the compressed data are ",
                       status == Z_BUF_ERROR ? "cut off" : "damaged");
    require<DataError>(done <= size, what, ": inflates to more than the ", size, " bytes that it should have");
  }
  require<DataError>(done == size, what, ": inflates to ", done, " bytes, not the ", size, " that it should have");
  out.resize(done);
  return out;
}

std::vector<std::byte> inflate_beginning(std::span<const std::byte> bytes, std::size_t count, std::string_view what) {
  Inflation inflation(what);
  z_stream& z = inflation.z;
  std::vector<std::byte> out(count);
  std::size_t done = 0;
  for (int status = Z_OK; status != Z_STREAM_END && done < count;) {
    refill(z, bytes, out, done);
    const uInt room = z.avail_out;
    status = ::inflate(&z, Z_NO_FLUSH);
    done += room - z.avail_out;
    require<DataError>(status == Z_OK || status == Z_STREAM_END, what, ": the compressed data are ",
                       status == Z_BUF_ERROR ? "cut off" : "damaged");
  }
  out.resize(done);
  return out;
}

std::vector<std::byte> deflate(std::span<const std::byte> bytes) {
  z_stream z{};
  constexpr int kFast = 1, kMemory = 8;
  require<MemoryError>(deflateInit2(&z, kFast, Z_DEFLATED, kRaw, kMemory, Z_DEFAULT_STRATEGY) == Z_OK,
                       "zlib has no memory to compress");
  std::vector<std::byte> out(bytes.size() / 2 + 64);
  std::size_t done = 0;
  for (int status = Z_OK; status != Z_STREAM_END;) {
    refill(z, bytes, out, done);
    const uInt room = z.avail_out;
    status = ::deflate(&z, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    done += room - z.avail_out;
  }
  deflateEnd(&z);
  out.resize(done);
  return out;
}

std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t before) {
  if (bytes.empty()) return before;  // for a null pointer zlib returns the initial checksum
  return static_cast<std::uint32_t>(::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace kiln
