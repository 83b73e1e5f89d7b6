// Values of a column, out of the bytes of a page.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "kiln/data/parquet/bytes.hpp"
#include "kiln/data/parquet/footer.hpp"
#include "kiln/data/parquet/unpacked.hpp"

namespace kiln::parquet {

/// One of these has them, by their kind.
struct Values {
  std::vector<std::int64_t> wholes;  // truth values among them
  std::vector<double> numbers;
  std::vector<std::string_view> bytes;
};

/// What they stand for, which are as they lie there: decimals are the doubles that are nearest to them, times of 96 bits
/// nanoseconds since 1970. Throws DataError where they stand for nothing, or for a time before 1677 or after 2262.
Values understood(Values values, const Column& column, std::string_view file);

class ValueReader {
 public:
  /// Both stay. No page may have more than `most` bytes of texts, if they are put together here.
  ValueReader(const Column& column, std::string_view file, std::uint64_t most)
      : column_(column), file_(file), most_(most) {}

  /// The values that pages of the column may refer to.
  void take_dictionary(Bytes in, std::int64_t count);
  /// The next `count`, understood. Bytes among them lie in the page, or in what is added to `pages`. Throws DataError where
  /// they end too early, or are of an encoding that is not read.
  Values read(Bytes in, std::int32_t encoding, std::int64_t count, std::vector<Page>& pages) const;

 private:
  Values plain(Bytes& in, std::int64_t count) const;
  Values split_streams(Bytes& in, std::int64_t count, std::vector<Page>& pages) const;
  Values by_dictionary(Bytes& in, std::int64_t count) const;
  std::int64_t of_width(std::int64_t whole) const;

  const Column& column_;
  std::string_view file_;
  std::uint64_t most_;
  Values dictionary_;
  std::int64_t dictionary_size_ = 0;
};

}  // namespace kiln::parquet
