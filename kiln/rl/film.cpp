#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/core/file.hpp"
#include "kiln/data/png.hpp"
#include "kiln/rl/gif.hpp"
#include "kiln/rl/wrapper.hpp"
#include "kiln/rl/wrappers.hpp"

namespace kiln::rl {
namespace {

/// Returns the number padded to so many digits: 7 with 4 digits is "0007".
std::string digits(std::int64_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() < 4) digits.insert(0, 4 - digits.size(), '0');
  return digits;
}

class Filmed final : public Wrapper {
 public:
  Filmed(EnvironmentPtr inner, FilmConfig config) : Wrapper("filmed", std::move(inner)), config_(std::move(config)) {}

 private:
  void begin(std::span<float> observation) override {
    inner().reset(observation);
    pictures_.clear();
    steps_ = 0;
    filming_ = ended_ % config_.every == 0;
    film();
  }
  Outcome advance(std::span<const float> action, std::span<float> observation) override {
    const Outcome outcome = inner().step(action, observation);
    ++steps_;
    film();
    if (!outcome.over()) return outcome;
    ++ended_;
    if (filming_) write();
    return outcome;
  }
  void film() {
    if (filming_ && steps_ % config_.steps_per_picture == 0 &&
        static_cast<std::int64_t>(pictures_.size()) < config_.most_pictures)
      pictures_.push_back(inner().render());
  }
  void write() {
    filming_ = false;
    const std::vector<Picture> pictures = std::exchange(pictures_, {});
    const std::filesystem::path place = config_.directory / ("episode-" + digits(ended_));
    const std::filesystem::path folder = config_.gif ? config_.directory : place;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    require<IoError>(!error, "cannot make the directory ", folder.string(), ": ", error.message());
    if (config_.gif) {
      write_file_atomically(place.string() + ".gif", encode_gif(pictures, config_.milliseconds));
      return;
    }
    for (std::size_t i = 0; i < pictures.size(); ++i)
      write_picture(pictures[i], (place / (digits(static_cast<std::int64_t>(i) + 1) + ".png")).string());
  }

  FilmConfig config_;
  std::int64_t ended_ = 0;  // ended episodes
  std::int64_t steps_ = 0;  // steps of the running episode
  bool filming_ = false;
  std::vector<Picture> pictures_;
};

}  // namespace

void FilmConfig::check() const {
  require<ArgumentError>(!directory.empty(), "FilmConfig: directory must be given");
  require<ArgumentError>(every >= 1, "FilmConfig: every = ", every, " must be at least 1");
  require<ArgumentError>(10 <= milliseconds && milliseconds <= 655350 && milliseconds % 10 == 0,
                         "FilmConfig: milliseconds = ", milliseconds, " must be 10 to 655350, a multiple of 10");
  require<ArgumentError>(steps_per_picture >= 1, "FilmConfig: steps_per_picture = ", steps_per_picture,
                         " must be at least 1");
  require<ArgumentError>(most_pictures >= 1, "FilmConfig: most_pictures = ", most_pictures, " must be at least 1");
}

EnvironmentPtr filmed(EnvironmentPtr environment, const FilmConfig& config) {
  config.check();
  return std::make_unique<Filmed>(std::move(environment), config);
}

}  // namespace kiln::rl
