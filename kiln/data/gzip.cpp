#include "kiln/data/gzip.hpp"

#include <algorithm>
#include <limits>

#include <zlib.h>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"

namespace kiln {

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

struct GzipReader::Stream {
  z_stream z{};
  std::span<const std::byte> rest;  // the part of the file that zlib has not got yet
  std::string_view name;
  bool ended = false;

  // zlib uses 32-bit sizes; larger files and buffers are passed in pieces.
  static uInt piece(std::size_t size) {
    return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
  }

  void refill() {
    if (z.avail_in > 0 || rest.empty()) return;
    z.avail_in = piece(rest.size());
    z.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(rest.data()));  // zlib only reads it
    rest = rest.subspan(z.avail_in);
  }

  /// Continues after the end of a member: with another member, the end of the file, or an error.
  void next_member() {
    refill();
    ended = z.avail_in == 0;
    if (ended) return;
    const std::span<const std::byte> behind(reinterpret_cast<const std::byte*>(z.next_in), z.avail_in);
    require<DataError>(is_gzip(behind), name, ": ", behind.size() + rest.size(), " stray bytes follow the gzip data");
    inflateReset(&z);
  }
};

void GzipReader::Close::operator()(Stream* stream) const {
  inflateEnd(&stream->z);
  delete stream;
}

GzipReader::GzipReader(std::span<const std::byte> file, std::string_view name) try
    : stream_(new Stream{.rest = file, .name = name}) {
  constexpr int kGzipOnly = 16;  // added to the window size, see zlib.h
  if (inflateInit2(&stream_->z, kGzipOnly + MAX_WBITS) != Z_OK)
    fail<MemoryError>(name, ": zlib has no memory to inflate it");
} catch (...) { rethrow_as_memory_error(name); }

std::size_t GzipReader::read(std::span<std::byte> out) try {
  Stream& s = *stream_;
  std::size_t done = 0;
  while (done < out.size() && !s.ended) {
    s.refill();
    s.z.avail_out = Stream::piece(out.size() - done);
    s.z.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    const uInt room = s.z.avail_out;
    const int status = inflate(&s.z, Z_NO_FLUSH);
    done += room - s.z.avail_out;
    if (status == Z_STREAM_END) s.next_member();
    else if (status == Z_MEM_ERROR) fail<MemoryError>(s.name, ": zlib has no memory to inflate it");
    else if (status == Z_BUF_ERROR)  // no progress although `out` has space: the input has ended
      fail<DataError>(s.name, ": the gzip data is cut off after ", s.z.total_out, " inflated bytes");
    else if (status != Z_OK)
      fail<DataError>(s.name, ": the gzip data is damaged", s.z.msg ? ": " : "", s.z.msg ? s.z.msg : "");
  }
  return done;
} catch (...) { rethrow_as_memory_error(stream_->name); }

}  // namespace kiln
