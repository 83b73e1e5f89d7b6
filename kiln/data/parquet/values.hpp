// Decodes the values of a column from the bytes of a page.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "kiln/data/parquet/bytes.hpp"
#include "kiln/data/parquet/decompressed.hpp"
#include "kiln/data/parquet/footer.hpp"

namespace kiln::parquet {

/// The values are in one of these, depending on their kind.
struct Values {
  std::vector<std::int64_t> integers;  // booleans, too
  std::vector<double> numbers;
  std::vector<std::string_view> bytes;
};

/// Converts stored values to their meaning: decimals become the nearest doubles, 96-bit times nanoseconds since 1970.
/// Throws DataError for invalid values, or for times before 1677 or after 2262.
Values converted(Values values, const Column& column, std::string_view file);

class ValueReader {
 public:
  /// Both must outlive this. Texts that are assembled here may have at most `most` bytes per page.
  ValueReader(const Column& column, std::string_view file, std::uint64_t most)
      : column_(column), file_(file), most_(most) {}

  /// Sets the dictionary to which pages of the column may refer.
  void take_dictionary(Bytes in, std::int64_t count);
  /// The next `count` values, converted. Bytes refer to the page, or to data that are added to `pages`. Throws
  /// DataError if there are fewer, or the encoding is not supported.
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
