#include "kiln/train/log/growing_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "kiln/core/error/error.hpp"

namespace kiln {

GrowingFile::GrowingFile(GrowingFile&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}
GrowingFile& GrowingFile::operator=(GrowingFile&& other) noexcept {
  close();
  path_ = std::move(other.path_);
  file_ = std::exchange(other.file_, -1);
  return *this;
}
GrowingFile::~GrowingFile() { close(); }

void GrowingFile::fail_with(int error) const {
  fail<IoError>("cannot write ", path_.string(), ": ", std::generic_category().message(error));
}

void GrowingFile::open(const std::filesystem::path& path, bool goes_on) {
  close();
  path_ = path;
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (goes_on ? 0 : O_TRUNC);
  do file_ = ::open(path.c_str(), flags, 0666);
  while (file_ < 0 && errno == EINTR);
  if (file_ < 0) fail_with(errno);
}

void GrowingFile::close() {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

void GrowingFile::append(std::string_view bytes) {
  KILN_CHECK(file_ >= 0);
  struct stat status = {};
  const bool known = ::fstat(file_, &status) == 0 && S_ISREG(status.st_mode);
  std::size_t written = 0;
  while (written < bytes.size()) {
    const auto count = ::write(file_, bytes.data() + written, bytes.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      // A partial line or record would corrupt what follows.
      if (known && written > 0) (void)!::ftruncate(file_, status.st_size);
      fail_with(error);
    }
    written += static_cast<std::size_t>(count);
  }
}

}  // namespace kiln
