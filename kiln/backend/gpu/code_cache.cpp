#include "kiln/backend/gpu/code_cache.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/file.hpp"
#include "kiln/core/reflect/reflect_values.hpp"
#include "kiln/core/setting/setting.hpp"
#include "kiln/core/user_folders.hpp"

namespace kiln::gpu {
namespace {

// The layout of a file: this header, the key, the code.
struct Header {
  char magic[8];
  std::uint64_t key_bytes, code_bytes, key_hash, code_hash;
};
constexpr char kMagic[9] = "KILNCOD1";

std::string_view letters(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Header header_of(std::string_view key, std::span<const std::byte> code) {
  Header header{{}, key.size(), code.size(), reflect::hash(key), reflect::hash(letters(code))};
  std::memcpy(header.magic, kMagic, sizeof(header.magic));
  return header;
}

}  // namespace

CodeCache CodeCache::named(const char* folder) {
  const char* const wish = setting("KILN_CACHE");
  if (!wish) return CodeCache(cache_directory(folder));
  if (std::string_view(wish) == "0") return CodeCache(std::nullopt);
  return CodeCache(std::filesystem::path(wish) / folder);
}

std::filesystem::path CodeCache::file_of(std::string_view key) const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string name;
  for (std::uint64_t hash = reflect::hash(key), i = 0; i < 16; ++i) name += kDigits[hash >> (60 - 4 * i) & 15];
  return *folder_ / (name + ".code");
}

// Other users must not write to the folder, since its contents are executed.
void CodeCache::warn_of_others() const {
  static std::once_flag once;
  std::call_once(once, [&] {
    std::fprintf(
        stderr,
        "kiln: compiled kernels are not kept in %s, since other users may change what lies there: let KILN_CACHE "
        "name a folder that is yours alone, or be 0\n",
        shown(folder_->native()).c_str());
  });
}

std::optional<std::vector<std::byte>> CodeCache::find(std::string_view key) const {
  if (!folder_) return std::nullopt;
  try {
    const std::filesystem::path path = file_of(key);
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return std::nullopt;
    if (!is_safe_from_others(path)) return warn_of_others(), std::nullopt;
    const std::vector<std::byte> file = read_file(path.string());
    Header header;
    if (file.size() < sizeof(header) + key.size()) return std::nullopt;
    std::memcpy(&header, file.data(), sizeof(header));
    const auto contents = std::span(file).subspan(sizeof(header));
    const auto code = contents.subspan(key.size());
    const Header expected = header_of(key, code);
    if (std::memcmp(&header, &expected, sizeof(header)) != 0 || letters(contents.first(key.size())) != key)
      return std::nullopt;
    return std::vector(code.begin(), code.end());
  } catch (const Error&) { return std::nullopt; }
}

void CodeCache::keep(std::string_view key, std::span<const std::byte> code) const {
  if (!folder_) return;
  try {
    if (!make_private_folder(*folder_)) return;
    if (!is_safe_from_others(*folder_)) return warn_of_others();
    write_file_atomically(file_of(key).string(), [&](FileReplacement& file) {
      const Header header = header_of(key, code);
      file.write(std::as_bytes(std::span(&header, 1)));
      file.write(key);
      file.write(code);
    });
  } catch (const Error&) {}
}

}  // namespace kiln::gpu
