#include "kiln/data/parquet/decompressed.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "kiln/core/system/shared_library.hpp"
#include "kiln/data/gzip.hpp"
#include "kiln/data/parquet/bytes.hpp"

namespace kiln::parquet {
namespace {

enum Codec { kPlain, kSnappy, kGzip, kLzo, kBrotli, kLz4, kZstd, kLz4Raw };

/// Appends `length` bytes that are copies of those `back` before; the ranges may overlap.
void repeat(std::span<std::byte> out, std::size_t& done, std::size_t back, std::size_t length) {
  for (std::size_t i = 0; i < length; ++i, ++done) out[done] = out[done - back];
}

/// https://github.com/google/snappy/blob/main/format_description.txt
void unpack_snappy(Bytes in, std::span<std::byte> out) {
  if (in.varint() != out.size()) throw_damaged(in.file(), "a page has another size than its header states");
  std::size_t done = 0;
  const auto little = [&](int bytes) {
    std::size_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= std::size_t{in.byte()} << (8 * i);
    return value;
  };
  while (!in.rest().empty()) {
    const unsigned tag = in.byte(), kind = tag & 3;
    if (kind == 0) {
      std::size_t length = (tag >> 2) + 1;
      if (length > 60) length = little(static_cast<int>(length) - 60) + 1;
      const auto literal = in.take(length);
      if (length > out.size() - done) throw_damaged(in.file(), "a page is longer than its header states");
      std::memcpy(out.data() + done, literal.data(), length);
      done += length;
      continue;
    }
    const std::size_t length = kind == 1 ? 4 + (tag >> 2 & 7) : 1 + (tag >> 2);
    const std::size_t back = kind == 1 ? (std::size_t{tag} >> 5 << 8) + in.byte() : little(kind == 2 ? 2 : 4);
    if (back == 0 || back > done || length > out.size() - done)
      throw_damaged(in.file(), "a page refers to bytes before its beginning");
    repeat(out, done, back, length);
  }
  if (done != out.size()) throw_damaged(in.file(), "a page is shorter than its header states");
}

/// A block: https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md
void unpack_lz4(Bytes in, std::span<std::byte> out) {
  std::size_t done = 0;
  const auto length_of = [&](unsigned bits) {
    std::size_t length = bits;
    if (bits == 15)
      for (unsigned more = 255; more == 255; length += more) more = in.byte();
    return length;
  };
  while (true) {
    const unsigned token = in.byte();
    const auto literal = in.take(length_of(token >> 4));
    if (literal.size() > out.size() - done) throw_damaged(in.file(), "a page is longer than its header states");
    std::ranges::copy(literal, out.data() + done);
    done += literal.size();
    if (in.rest().empty()) break;  // the last sequence is a literal only
    const std::size_t back = in.number<std::uint16_t>(), length = length_of(token & 15) + 4;
    if (back == 0 || back > done || length > out.size() - done)
      throw_damaged(in.file(), "a page refers to bytes before its beginning");
    repeat(out, done, back, length);
  }
  if (done != out.size()) throw_damaged(in.file(), "a page is shorter than its header states");
}

std::uint32_t big_endian(Bytes& in) {
  std::uint32_t number = 0;
  for (int i = 0; i < 4; ++i) number = number << 8 | in.byte();
  return number;
}

/// Are these blocks with their sizes in front, as Hadoop writes them?
bool is_hadoop(Bytes in, std::size_t size) {
  while (in.rest().size() > 8) {
    const std::size_t here = big_endian(in), packed = big_endian(in);
    if (here > size || packed > in.rest().size()) return false;
    in.take(packed);
    size -= here;
  }
  return size == 0 && in.rest().empty();
}

/// The LZ4 format before it was specified: Hadoop's blocks, or a single block.
void unpack_old_lz4(Bytes in, std::span<std::byte> out) {
  if (!is_hadoop(in, out.size())) return unpack_lz4(in, out);
  while (!out.empty()) {
    const std::size_t size = big_endian(in), packed = big_endian(in);
    unpack_lz4(Bytes(in.take(packed), in.file(), "a page"), out.first(size));
    out = out.subspan(size);
  }
}

// These functions have been stable since the first releases of their libraries.

struct Zstd {
  std::size_t (*decompress)(void* out, std::size_t room, const void* in, std::size_t size);
  unsigned (*is_error)(std::size_t code);
  OptionalLibrary library{"libzstd", {"libzstd.so.1"}, "libzstd1"};

  Zstd() {
    library.find("ZSTD_decompress", decompress);
    library.find("ZSTD_isError", is_error);
  }
};

void unpack_zstd(std::span<const std::byte> packed, std::span<std::byte> out, std::string_view file) {
  static const Zstd zstd;
  require<IoError>(zstd.library.problem().empty(), file, ": is compressed by zstd, and ", zstd.library.problem());
  const std::size_t size = zstd.decompress(out.data(), out.size(), packed.data(), packed.size());
  if (zstd.is_error(size) || size != out.size()) throw_damaged(file, "a page is not zstd of ", out.size(), " bytes");
}

struct Brotli {
  int (*decompress)(std::size_t size, const std::byte* in, std::size_t* room, std::byte* out);
  OptionalLibrary library{"libbrotli", {"libbrotlidec.so.1"}, "libbrotli1"};

  Brotli() { library.find("BrotliDecoderDecompress", decompress); }
};

void unpack_brotli(std::span<const std::byte> packed, std::span<std::byte> out, std::string_view file) {
  static const Brotli brotli;
  require<IoError>(brotli.library.problem().empty(), file, ": is compressed by Brotli, and ", brotli.library.problem());
  std::size_t size = out.size();
  if (brotli.decompress(packed.size(), packed.data(), &size, out.data()) != 1 || size != out.size())
    throw_damaged(file, "a page is not Brotli of ", out.size(), " bytes");
}

}  // namespace

Page decompressed(std::span<const std::byte> packed, std::size_t size, int codec, std::string_view file) {
  if (codec == kPlain) {
    if (packed.size() != size) throw_damaged(file, "a page of ", packed.size(), " bytes should have ", size);
    return {packed};
  }
  if (size == 0 && packed.empty()) return {};
  // Limits of what the data can contain: three bytes give at most 64, two bits 258, one byte of LZ4 255. The other
  // formats write no more than they find.
  std::size_t most = 0;
  switch (codec) {
    case kSnappy: most = 22; break;
    case kGzip: most = std::size_t{kMaxInflation}; break;
    case kLz4:
    case kLz4Raw: most = 255; break;
    case kZstd:
    case kBrotli: break;
    default:
      fail<DataError>(file, ": is compressed by ", codec == kLzo ? "LZO" : text("something of number ", codec),
                      ", which is not supported: snappy, gzip, zstd, LZ4 and Brotli are");
  }
  if (most && size / most > packed.size() + 16)
    throw_damaged(file, "a page of ", packed.size(), " bytes should have ", size);
  Page page{.bytes = {}, .own = std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(size, 1))};
  const std::span<std::byte> out(page.own.get(), size);
  page.bytes = out;
  const Bytes in(packed, file, "a page");
  switch (codec) {
    case kSnappy: unpack_snappy(in, out); break;
    case kLz4: unpack_old_lz4(in, out); break;
    case kLz4Raw: unpack_lz4(in, out); break;
    case kZstd: unpack_zstd(packed, out, file); break;
    case kBrotli: unpack_brotli(packed, out, file); break;
    default:
      if (GzipReader(packed, file).read(out) != size) throw_damaged(file, "a page is shorter than its header states");
  }
  return page;
}

}  // namespace kiln::parquet
