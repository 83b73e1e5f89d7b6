// Replaces transfer_curl.cpp and http_curl.cpp in a build without libcurl.
#include "kiln/core/error/error.hpp"
#include "kiln/data/curl/http.hpp"
#include "kiln/data/curl/transfer.hpp"

namespace kiln {

std::optional<TransferFailure> transfer(const std::string&, const Download&, PartFile&, const DownloadProgress&,
                                        std::string_view) {
  return TransferFailure{"this Kiln was built without libcurl"};
}

HttpAnswer ask(const HttpQuestion&) { fail<IoError>("this Kiln was built without libcurl"); }

}  // namespace kiln
