// The lines of a file that is read sequentially.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "kiln/core/error/error.hpp"
#include "kiln/data/stream/sources.hpp"

namespace kiln {
namespace {

class LineCursor final : public Cursor<std::string> {
 public:
  LineCursor(const std::string& path, std::size_t longest) : path_(path), longest_(longest) {
    require<IoError>(!std::filesystem::is_directory(path), path, ": is a folder");
    file_.reset(::gzopen(path.c_str(), "rb"));  // passes through files that are not gzip
    require<IoError>(file_ != nullptr, path, ": cannot be opened: ", std::strerror(errno));
  }

  std::optional<Lazy<std::string>> next() override {
    std::string line;
    for (;;) {
      if (begin_ == end_ && !fill()) {
        if (line.empty()) return std::nullopt;
        break;
      }
      const auto first = buffer_.begin() + begin_, last = buffer_.begin() + end_, stop = std::find(first, last, '\n');
      line.append(first, stop);
      require<DataError>(line.size() <= longest_, path_, ": the line at byte ", at_, " has more than ", longest_,
                         " bytes");
      begin_ = stop - buffer_.begin();
      if (stop == last) continue;
      ++begin_;
      ++at_;
      break;
    }
    at_ += std::ssize(line);
    if (line.ends_with('\r')) line.pop_back();
    return Lazy<std::string>(std::move(line));
  }
  void save(wire::Writer& out) const override {
    save_stage(out, "lines");
    out.integer(at_);
  }
  void restore(wire::Reader& in) override {
    restore_stage(in, "lines");
    const std::int64_t at = restore_count(in, "the place in a file", 0, std::numeric_limits<std::int64_t>::max());
    begin_ = end_ = 0;
    ::gzrewind(file_.get());
    for (at_ = 0; at_ < at;) {  // gzseek() would seek beyond the end of a file that has been truncated
      require<DataError>(fill(), path_, ": ends at byte ", at_, ", before the place ", at, " that was saved");
      begin_ = std::min(end_, static_cast<std::ptrdiff_t>(at - at_));
      at_ += begin_;
    }
  }

 private:
  struct Close {
    void operator()(gzFile file) const { ::gzclose(file); }
  };

  bool fill() {
    const int count = ::gzread(file_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
    int problem = Z_OK;
    const char* const why = ::gzerror(file_.get(), &problem);
    if (problem == Z_ERRNO) fail<IoError>(path_, ": cannot be read: ", std::strerror(errno));
    if (count < 0 || (problem != Z_OK && problem != Z_STREAM_END))
      fail<DataError>(path_, ": is damaged or cut off: ", why);
    begin_ = 0;
    end_ = count;
    return count > 0;
  }

  std::string path_;
  std::size_t longest_;
  std::unique_ptr<gzFile_s, Close> file_;
  std::array<char, 1 << 16> buffer_;
  std::ptrdiff_t begin_ = 0, end_ = 0;  // the unread part of the buffer
  std::int64_t at_ = 0;                 // offset in the text of the next line
};

}  // namespace

Stream<std::string> stream_of_lines(const std::string& path, std::size_t longest) {
  return Stream<std::string>([path, longest](Key) -> std::unique_ptr<Cursor<std::string>> {
    return std::make_unique<LineCursor>(path, longest);
  });
}

}  // namespace kiln
