#include "examples/guide/settings.hpp"

#include "kiln/core/config/config.hpp"
#include "kiln/train/checkpointer.hpp"

namespace guide {

Json to_json(const Settings& settings) { return kiln::to_json(settings); }

Settings settings_of(const std::string& checkpoint) {
  return from_json<Settings>(checkpoint_configuration(checkpoint), checkpoint);
}

}  // namespace guide
