#include "kiln/backend/gpu/tune/choices.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "kiln/backend/gpu/tune/quickest.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/file.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln::gpu {
namespace {

// The version of the tables of ways to choose from, and of what the questions mean: choices that were made from others
// are forgotten.
constexpr int kVersion = 3;
constexpr std::string_view kSign = " = ";

}  // namespace

Choices::Choices(std::string device, Clock clock, CodeCache cache, std::optional<std::string> file)
    : device_(std::move(device)),
      clock_(std::move(clock)),
      cache_(std::move(cache)),
      file_(std::move(file)),
      measures_(is_set("KILN_AUTOTUNE", false)),
      asks_(measures_ || file_),
      logs_(is_logged("gpu")) {
  read_file();
}

std::unique_ptr<Choices> Choices::of(std::string device, std::function<void()> synchronize) {
  const char* const file = setting("KILN_CHOICES");
  auto clock = [synchronize = std::move(synchronize)](FunctionRef<void()> work) {
    using Steady = std::chrono::steady_clock;
    synchronize();
    const Steady::time_point start = Steady::now();
    work();
    synchronize();
    return std::chrono::duration<double, std::milli>(Steady::now() - start).count();
  };
  return std::make_unique<Choices>(std::move(device), std::move(clock), CodeCache::named("choices"),
                                   file ? std::optional<std::string>(file) : std::nullopt);
}

void Choices::read_file() {
  if (!file_) return;
  std::ifstream in(*file_);
  // A file that is not there yet is written by what is measured.
  if (!in) {
    require<ArgumentError>(measures_, "KILN_CHOICES names ", shown(*file_),
                           ", which cannot be read; let it name a file of choices, or let KILN_AUTOTUNE=1 write one");
    return;
  }
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const std::size_t sign = line.rfind(kSign);
    require<ArgumentError>(sign != std::string::npos && sign > 0 && sign + kSign.size() < line.size(),
                           "KILN_CHOICES: line ", number, " of ", shown(*file_),
                           " is no choice, which is \"KEY = CHOICE\"; delete it");
    shipped_[line.substr(0, sign)] = line.substr(sign + kSign.size());
  }
}

std::optional<int> Choices::known(const std::string& key, std::span<const std::string> names) const {
  std::string name;
  if (const auto shipped = shipped_.find(key); shipped != shipped_.end()) {
    name = shipped->second;
  } else if (const auto kept = cache_.find(key)) {
    name.assign(reinterpret_cast<const char*>(kept->data()), kept->size());
  }
  // What is no longer among the ways is measured again.
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<int>(found - names.begin());
}

void Choices::keep(const std::string& key, const std::string& name) {
  cache_.keep(key, std::as_bytes(std::span(name)));
  if (!file_) return;
  try {
    read_file();  // another program may have written it meanwhile
    shipped_[key] = name;
    write_file_atomically(*file_, [&](FileReplacement& file) {
      file.write(std::string_view("# Kernels that were measured to be the quickest (KILN_AUTOTUNE=1).\n"));
      for (const auto& [known, choice] : shipped_) file.write(std::string_view(text(known, kSign, choice, "\n")));
    });
  } catch (const Error& error) {  // the choice is known and used all the same
    std::fprintf(stderr, "kiln: KILN_CHOICES: %s cannot be kept: %s\n", file_->c_str(), error.what());
    file_.reset();
  }
}

int Choices::choose(const std::string& question, std::span<const std::string> names, FunctionRef<bool(int)> run) {
  const std::lock_guard lock(mutex_);
  const std::string key = text("kiln ", kVersion, " on ", device_, ": ", question);
  if (const std::optional<int> choice = known(key, names)) return *choice;
  if (!measures_ || names.size() < 2) return 0;
  const std::optional<Quickest> found =
      quickest(static_cast<int>(names.size()), run, [&](FunctionRef<void()> work) { return clock_(work); });
  if (!found) return 0;
  keep(key, names[static_cast<std::size_t>(found->which)]);
  if (logs_) {
    std::string said;
    for (std::size_t i = 0; i < names.size(); ++i) said += text(i ? ", " : "", names[i], ' ', found->milliseconds[i]);
    std::fprintf(stderr, "kiln: %s: %s: %s of %s (ms)\n", device_.c_str(), question.c_str(),
                 names[static_cast<std::size_t>(found->which)].c_str(), said.c_str());
  }
  return found->which;
}

}  // namespace kiln::gpu
