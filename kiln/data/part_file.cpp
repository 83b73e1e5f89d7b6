#include "kiln/data/part_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/data/sha256.hpp"

namespace kiln {

PartFile::PartFile(std::filesystem::path path) : path_(std::move(path)) {
  for (;;) {
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file_ < 0) fail_io("opened");
    struct stat ours, named;
    while (::flock(file_, LOCK_EX) != 0)
      if (errno != EINTR) fail_io("locked");
    if (::fstat(file_, &ours) != 0) fail_io("examined");
    // The previous holder of the lock may have renamed or removed the file.
    if (::stat(path_.c_str(), &named) == 0 && ours.st_ino == named.st_ino && ours.st_dev == named.st_dev) {
      size_ = ours.st_size;
      return;
    }
    ::close(std::exchange(file_, -1));
  }
}

PartFile::~PartFile() {
  if (file_ >= 0) ::close(file_);
}

void PartFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto written = ::pwrite(file_, bytes.data(), bytes.size(), size_);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_io("written");
    size_ += written;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void PartFile::clear() {
  if (::ftruncate(file_, 0) != 0) fail_io("emptied");
  size_ = 0;
}

std::string PartFile::sha256() const {
  Sha256 hash;
  std::vector<std::byte> buffer(std::size_t{1} << 16);
  for (std::int64_t at = 0; at < size_;) {
    const auto got = ::pread(file_, buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail_io("read");
    hash.update(std::span(buffer).first(static_cast<std::size_t>(got)));
    at += got;
  }
  return hash.hex_digest();
}

void PartFile::remove() {
  if (::unlink(path_.c_str()) != 0) fail_io("removed");
}

void PartFile::publish(const std::filesystem::path& target) {
  if (::fsync(file_) != 0) fail_io("written");
  if (::rename(path_.c_str(), target.c_str()) != 0) fail_io("renamed");
}

void PartFile::fail_io(const char* action) const {
  const std::string reason = std::error_code(errno, std::generic_category()).message();
  fail<IoError>(path_.string(), ": the file cannot be ", action, ": ", reason);
}

}  // namespace kiln
