#include "kiln/data/parquet/unpacked.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "kiln/data/gzip.hpp"
#include "kiln/data/parquet/bytes.hpp"

namespace kiln::parquet {
namespace {

enum Codec { kPlain, kSnappy, kGzip, kLzo, kBrotli, kLz4, kZstd, kLz4Raw };
constexpr std::string_view kNames[] = {"none", "snappy", "gzip", "LZO", "Brotli", "LZ4", "zstd", "LZ4"};

/// https://github.com/google/snappy/blob/main/format_description.txt
void unpack_snappy(Bytes in, std::span<std::byte> out) {
  if (in.varint() != out.size()) refuse(in.file(), "a page has another size than it says");
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
      if (length > out.size() - done) refuse(in.file(), "a page is longer than it says");
      std::memcpy(out.data() + done, literal.data(), length);
      done += length;
      continue;
    }
    const std::size_t length = kind == 1 ? 4 + (tag >> 2 & 7) : 1 + (tag >> 2);
    const std::size_t back = kind == 1 ? (std::size_t{tag} >> 5 << 8) + in.byte() : little(kind == 2 ? 2 : 4);
    if (back == 0 || back > done || length > out.size() - done) refuse(in.file(), "a page repeats what is not there");
    // What is repeated may overlap what it makes.
    for (std::size_t i = 0; i < length; ++i, ++done) out[done] = out[done - back];
  }
  if (done != out.size()) refuse(in.file(), "a page is shorter than it says");
}

/// libzstd, of which two functions are used that have been the same since its first release.
struct Zstd {
  std::size_t (*decompress)(void* out, std::size_t room, const void* in, std::size_t size) = nullptr;
  unsigned (*is_error)(std::size_t code) = nullptr;

  Zstd() {
    void* const library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    decompress = reinterpret_cast<decltype(decompress)>(dlsym(library, "ZSTD_decompress"));
    is_error = reinterpret_cast<decltype(is_error)>(dlsym(library, "ZSTD_isError"));
  }
};

void unpack_zstd(std::span<const std::byte> packed, std::span<std::byte> out, std::string_view file) {
  static const Zstd zstd;
  require<IoError>(zstd.decompress && zstd.is_error, file,
                   ": is compressed by zstd, and this machine has no libzstd (Debian: libzstd1)");
  const std::size_t size = zstd.decompress(out.data(), out.size(), packed.data(), packed.size());
  if (zstd.is_error(size) || size != out.size()) refuse(file, "a page is no zstd of ", out.size(), " bytes");
}

}  // namespace

Page unpacked(std::span<const std::byte> packed, std::size_t size, int codec, std::string_view file) {
  if (codec == kPlain) {
    if (packed.size() != size) refuse(file, "a page of ", packed.size(), " bytes says that it has ", size);
    return {packed};
  }
  if (size == 0 && packed.empty()) return {};
  if (codec != kSnappy && codec != kGzip && codec != kZstd)
    fail<DataError>(file, ": is compressed by ", codec > kPlain && codec <= kLz4Raw ? kNames[codec] : "something",
                    ", which is not read: snappy, gzip and zstd are");
  // No more than could be in it: three bytes are at most 64, two bits 258; zstd itself writes no more than it finds.
  const std::size_t most = codec == kSnappy ? 22 : codec == kGzip ? std::size_t{kMaxInflation} : 0;
  if (most && size / most > packed.size() + 16)
    refuse(file, "a page of ", packed.size(), " bytes says that it has ", size);
  Page page{.bytes = {}, .own = std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(size, 1))};
  const std::span<std::byte> out(page.own.get(), size);
  page.bytes = out;
  if (codec == kSnappy) unpack_snappy(Bytes(packed, file, "a page"), out);
  else if (codec == kZstd) unpack_zstd(packed, out, file);
  else if (GzipReader(packed, file).read(out) != size) refuse(file, "a page is shorter than it says");
  return page;
}

}  // namespace kiln::parquet
