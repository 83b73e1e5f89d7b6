#include "kiln/backend/streams/driver_api.hpp"

namespace kiln::streams {

std::string words_of(const DriverApi& api, Result error) {
  const char *name = nullptr, *words = nullptr;
  if (api.get_error_name(error, &name) != kSuccess || !name) return text("error ", error);
  if (api.get_error_string(error, &words) != kSuccess || !words) return name;
  return text(name, ": ", words);
}

void start(const DriverApi& api) {
  const Result result = api.init(0);
  require<DeviceError>(result == kSuccess, api.device, ": the driver does not start: ", words_of(api, result));
}

int device_count(const DriverApi& api) {
  int count = 0;
  const Result result = api.device_get_count(&count);
  require<DeviceError>(result == kSuccess, api.device, ": devices cannot be counted: ", words_of(api, result));
  return count;
}

}  // namespace kiln::streams
