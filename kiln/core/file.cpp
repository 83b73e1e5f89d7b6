#include "kiln/core/file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/core/folder.hpp"

namespace kiln {
namespace {

constexpr std::size_t kBufferSize = 1 << 16;
constexpr unsigned kNewFile = 0666;  // the process's umask clears some of these bits

std::string reason(int error) { return std::generic_category().message(error); }

// Repeats a call that a signal interrupted.
template <class F>
auto retry(F&& call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

struct OpenFile {
  int number;
  ~OpenFile() {
    if (number >= 0) ::close(number);
  }
};

template <class Bytes>
Bytes read_all(const std::string& path) {
  const auto fail_with = [&](int error) { fail<IoError>("cannot read ", path, ": ", reason(error)); };
  const OpenFile file{retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); })};
  struct stat status = {};
  if (file.number < 0 || ::fstat(file.number, &status) != 0) fail_with(errno);
  if (S_ISDIR(status.st_mode)) fail_with(EISDIR);
  require<IoError>(S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode), "cannot read ", path, ": not a file");
  try {
    // The size is a first guess: the file may grow, and a pipe has none. One byte more lets the first read reach the
    // end.
    Bytes bytes(static_cast<std::size_t>(status.st_size) + 1, {});
    std::size_t filled = 0;
    for (;;) {
      if (filled == bytes.size()) bytes.resize(bytes.size() + bytes.size() / 2 + kBufferSize);
      const auto count = retry([&] { return ::read(file.number, bytes.data() + filled, bytes.size() - filled); });
      if (count < 0) fail_with(errno);
      if (count == 0) break;
      filled += static_cast<std::size_t>(count);
    }
    bytes.resize(filled);
    return bytes;
  } catch (const std::bad_alloc&) {
    fail<MemoryError>("no memory for the contents of ", path);
  } catch (const std::length_error&) { fail<MemoryError>("no memory for the contents of ", path); }
}

// The directory of a file, for calls that take a directory.
std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Whether `path` still names the file that is open.
bool is_named(int file, const std::string& path) {
  struct stat open = {}, named = {};
  return ::fstat(file, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && S_ISREG(named.st_mode) &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

/// Whether the name is NAME.PROCESS-NUMBER.tmp and starts with `prefix`.
bool is_temporary(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || !name.ends_with(".tmp")) return false;
  name.remove_suffix(4);
  const auto take_number = [&] {
    const std::size_t last = name.find_last_not_of("0123456789");
    if (last == std::string_view::npos || last + 1 == name.size()) return '\0';
    const char before = name[last];
    name = name.substr(0, last);
    return before;
  };
  return take_number() == '-' && take_number() == '.' && name.size() >= prefix.size();
}

int remove_abandoned(const std::string& directory, std::string_view prefix) {
  int removed = 0;
  std::error_code ignored;
  for (const std::filesystem::path& entry : paths_in(directory, ignored)) {
    if (!is_temporary(entry.filename().native(), prefix)) continue;
    const std::string& path = entry.native();
    const OpenFile file{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    if (file.number >= 0 && ::flock(file.number, LOCK_EX | LOCK_NB) == 0 && is_named(file.number, path))
      removed += ::unlink(path.c_str()) == 0;
  }
  return removed;
}

}  // namespace

std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder, std::error_code& problem) {
  std::vector<std::filesystem::path> paths;
  problem.clear();
  const auto close = [](DIR* open) { ::closedir(open); };
  const std::unique_ptr<DIR, decltype(close)> open(::opendir(folder.c_str()), close);
  if (!open) problem = std::error_code(errno, std::generic_category());
  while (open) {
    errno = 0;
    const dirent* const entry = ::readdir(open.get());
    if (!entry) {
      if (errno != 0) problem = std::error_code(errno, std::generic_category());
      break;
    }
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") paths.push_back(folder / name);
  }
  return paths;
}

int remove_abandoned(const std::string& directory) { return remove_abandoned(directory, ""); }

std::vector<std::byte> read_file(const std::string& path) { return read_all<std::vector<std::byte>>(path); }
std::string read_text_file(const std::string& path) { return read_all<std::string>(path); }

FileReplacement::FileReplacement(const std::string& path) : path_(path), target_(path) {
  struct stat status = {};
  unsigned mode = kNewFile;
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) fail_with(EISDIR);
    require<IoError>(S_ISREG(status.st_mode), "cannot write ", path, ": not a file");
    // Where `path` is a symbolic link, its target is replaced, not the link.
    if (char* const resolved = ::realpath(path.c_str(), nullptr)) {
      target_ = resolved;
      std::free(resolved);
    }
    mode = status.st_mode & 07777;
  }
  buffer_.reserve(kBufferSize);
  create(mode);
}

void FileReplacement::create(unsigned mode) {
  static std::atomic<unsigned> count = 0;
  const auto next_name = [&] {
    return text(target_, '.', static_cast<std::int64_t>(::getpid()), '-', count++, ".tmp");
  };
  remove_abandoned(directory_of(target_), target_.substr(target_.rfind('/') + 1));
  temporary_ = next_name();
#ifdef O_TMPFILE
  // A file without a name vanishes when its process is killed. Some file systems lack such files, and without /proc
  // they cannot be given a name later.
  if (::access("/proc/self/fd", X_OK) == 0)
    file_ = retry([&] { return ::open(directory_of(target_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kNewFile); });
#endif
  if (file_ >= 0) ::flock(file_, LOCK_EX | LOCK_NB);
  while (file_ < 0 && !create_named()) temporary_ = next_name();
  if (mode != kNewFile) ::fchmod(file_, mode);
}

// Creates the temporary file and locks it; the lock shows that a process is writing it. Returns false where another
// process removed the file as abandoned before it was locked, or where a file of that name is left from an ended
// process.
bool FileReplacement::create_named() {
  // Emscripten's open() in node cuts a longer name off, so that all of them would be one file.
  if (temporary_.size() - (temporary_.rfind('/') + 1) > NAME_MAX) fail_with(ENAMETOOLONG);
  file_ = retry([&] { return ::open(temporary_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, kNewFile); });
  if (file_ < 0 && errno == EEXIST) return false;
  if (file_ < 0) fail_with(errno);
  const bool taken = ::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  named_ = !taken && is_named(file_, temporary_);
  if (!named_) ::close(std::exchange(file_, -1));
  return named_;
}

FileReplacement::~FileReplacement() {
  if (file_ >= 0) ::close(file_);
  if (named_) ::unlink(temporary_.c_str());
}

void FileReplacement::fail_with(int error) const { fail<IoError>("cannot write ", path_, ": ", reason(error)); }

void FileReplacement::write(std::span<const std::byte> bytes) {
  KILN_CHECK(file_ >= 0);
  if (buffer_.size() + bytes.size() > kBufferSize) flush();
  if (bytes.size() > kBufferSize) write_through(bytes);
  else buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void FileReplacement::flush() {
  write_through(buffer_);
  buffer_.clear();
}

void FileReplacement::write_through(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto count = retry([&] { return ::write(file_, bytes.data(), bytes.size()); });
    if (count < 0) fail_with(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void FileReplacement::commit() {
  KILN_CHECK(file_ >= 0);
  const std::string folder =
      directory_of(target_);  // what may fail for lack of memory does so before the file is in place
  flush();
  if (::fsync(file_) != 0) fail_with(errno);
  if (!named_) {
    const std::string handle = text("/proc/self/fd/", file_);
    if (::linkat(AT_FDCWD, handle.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) fail_with(errno);
    named_ = true;
  }
  // The file stays open, and so locked, while it has its temporary name.
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_with(errno);
  named_ = false;
  ::close(std::exchange(file_, -1));
  // Writes the directory's new entry to the disk too. Where that is refused, the file is in place all the same.
  const OpenFile directory{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (directory.number >= 0) ::fsync(directory.number);
}

void write_file_atomically(const std::string& path, std::span<const std::byte> bytes) {
  write_file_atomically(path, [&](FileReplacement& file) { file.write(bytes); });
}

void write_file_atomically(const std::string& path, std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

void write_file_atomically(const std::string& path, FunctionRef<void(FileReplacement&)> write) {
  FileReplacement file(path);
  write(file);
  file.commit();
}

}  // namespace kiln
