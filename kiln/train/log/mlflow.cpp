#include "kiln/train/log/mlflow.hpp"

#include <charconv>
#include <chrono>
#include <cmath>
#include <random>
#include <span>
#include <system_error>
#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/core/file.hpp"
#include "kiln/core/folder.hpp"
#include "kiln/data/sha256.hpp"
#include "kiln/train/log/line_log.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRunning = 1, kFinished = 3;  // of mlflow.entities.RunStatus

std::int64_t now_ms() { return std::chrono::system_clock::now().time_since_epoch() / std::chrono::milliseconds(1); }

/// 64 hexadecimal digits: the same for the same text, or different each time for none.
std::string digits_of(std::string text) {
  if (text.empty()) {
    std::random_device random;
    for (int i = 0; i < 8; ++i) text += std::to_string(random()) + ' ';
  }
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return hash.hex_digest();
}

/// A key as MLflow has them: letters, digits and "_-. /", no part of which leads out of its folder.
std::string key_of(std::string_view name) {
  std::string key, part;
  const auto end_part = [&] {
    const bool is_plain = part.find_first_not_of('.') != part.npos;
    key += is_plain ? part : "_" + part;
    part.clear();
  };
  for (const char c : name) {
    if (c == '/') {
      end_part();
      key += c;
      continue;
    }
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                       c == '-' || c == '.' || c == ' ';
    part += plain ? c : '_';
  }
  end_part();
  return key;
}

/// The value of a line `key: value`, whether in quotes or not; empty if there is none.
std::string yaml_value(const std::string& yaml, const std::string& key) {
  const std::size_t at = ("\n" + yaml).find("\n" + key + ": ");
  if (at == std::string::npos) return "";
  const std::size_t first = at + key.size() + 2;
  std::string value = yaml.substr(first, yaml.find('\n', first) - first);
  if (value.size() >= 2 && value.front() == value.back() && (value.front() == '\'' || value.front() == '"'))
    value = value.substr(1, value.size() - 2);
  return value;
}

void make_folder(const fs::path& folder) {
  std::error_code problem;
  fs::create_directories(folder, problem);
  require<IoError>(!problem, "cannot write to ", folder.string(), ": ", problem.message());
}

void write_text(const fs::path& file, std::string_view content) {
  make_folder(file.parent_path());
  write_file_atomically(file.string(), content);
}

/// "file:///a%20b" of a folder.
std::string address_of(const fs::path& folder) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string address = "file://";
  for (const char c : fs::absolute(folder).lexically_normal().string()) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) address += c;
    else ((address += '%') += kHex[byte >> 4]) += kHex[byte & 15];
  }
  return address;
}

/// Calls use(path, text) for each value that is no object.
template <class Use>
void for_each_param(const Json& json, const std::string& path, const Use& use) {
  if (const auto* const object = std::get_if<Json::Object>(&json.is)) {
    for (const auto& [key, value] : *object) for_each_param(value, path.empty() ? key : text(path, '.', key), use);
  } else if (const auto* const word = std::get_if<std::string>(&json.is)) {
    use(path, *word);
  } else if (!path.empty()) {
    std::string written = write_json(json);
    std::erase(written, '\n');
    use(path, written);
  }
}

/// Keeps the lines "time value step" up to a step.
void take_back(const fs::path& file, std::int64_t step) {
  const std::string contents = read_text_file(file.string());
  std::string kept;
  for (std::size_t at = 0, end; (end = contents.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::string line = contents.substr(at, end + 1 - at);
    const std::size_t last = line.rfind(' ');
    std::int64_t of_line = -1;
    if (last != line.npos) std::from_chars(line.data() + last + 1, line.data() + line.size(), of_line);
    if (of_line >= 0 && of_line <= step) kept += line;
  }
  if (kept.empty()) fs::remove(file);
  else if (kept != contents) write_file_atomically(file.string(), kept);
}

}  // namespace

MlflowLog::MlflowLog(fs::path store, MlflowRun run) : store_(std::move(store)), run_(std::move(run)) {
  require<ArgumentError>(!run_.experiment.empty(), "mlflow: an experiment needs a name");
}

fs::path MlflowLog::experiment_folder() {
  std::error_code ignored;
  const std::string name = json_text(run_.experiment);
  for (const fs::path& folder : paths_in(store_, ignored)) {
    const fs::path meta = folder / "meta.yaml";
    if (!fs::is_regular_file(meta, ignored)) continue;
    const std::string yaml = read_text_file(meta.string());
    if (yaml_value(yaml, "name") != run_.experiment && yaml_value(yaml, "name") != name.substr(1, name.size() - 2))
      continue;
    experiment_id_ = folder.filename().string();
    return folder;
  }
  // A number of up to 18 digits, as MLflow's are.
  experiment_id_ = std::to_string(std::stoull(digits_of(run_.experiment).substr(0, 14), nullptr, 16));
  const fs::path folder = store_ / experiment_id_;
  const std::int64_t now = now_ms();
  write_text(folder / "meta.yaml",
             text("artifact_location: ", json_text(address_of(folder)), "\ncreation_time: ", now, "\nexperiment_id: '",
                  experiment_id_, "'\nlast_update_time: ", now, "\nlifecycle_stage: active\nname: ", name, '\n'));
  return folder;
}

void MlflowLog::write_meta(std::int64_t status, std::int64_t ended) {
  write_text(
      directory_ / "meta.yaml",
      text("artifact_uri: ", json_text(address_of(directory_ / "artifacts")),
           "\nend_time: ", ended > 0 ? std::to_string(ended) : "null", "\nentry_point_name: ''\nexperiment_id: '",
           experiment_id_, "'\nlifecycle_stage: active\nrun_id: '", run_id_, "'\nrun_name: ", json_text(run_name_),
           "\nrun_uuid: '", run_id_, "'\nsource_name: ''\nsource_type: 4\nsource_version: ''\nstart_time: ", started_,
           "\nstatus: ", status, "\ntags: []\nuser_id: ''\n"));
}

void MlflowLog::on(const training::Begin& begin) {
  make_folder(store_);
  const fs::path experiment = experiment_folder();
  run_id_ = digits_of(run_.name.empty() ? "" : text(run_.experiment, '\n', run_.name)).substr(0, 32);
  run_name_ = run_.name.empty() ? "run-" + run_id_.substr(0, 8) : run_.name;
  directory_ = experiment / run_id_;
  metrics_.clear();
  started_ = now_ms();
  std::error_code ignored;
  const fs::path metrics = directory_ / "metrics", meta = directory_ / "meta.yaml";
  if (begin.at.step == 0) {
    for (const char* const part : {"metrics", "params", "tags"}) fs::remove_all(directory_ / part, ignored);
  } else if (fs::is_regular_file(meta, ignored)) {
    const std::string before = yaml_value(read_text_file(meta.string()), "start_time");
    std::from_chars(before.data(), before.data() + before.size(), started_);
    std::vector<fs::path> left{metrics};
    while (!left.empty()) {
      const fs::path path = std::move(left.back());
      left.pop_back();
      if (fs::is_regular_file(fs::symlink_status(path, ignored))) take_back(path, begin.at.step);
      else if (fs::is_directory(fs::symlink_status(path, ignored)))
        for (fs::path& inner : paths_in(path, ignored)) left.push_back(std::move(inner));
    }
  }
  for (const char* const part : {"artifacts", "metrics", "params", "tags"}) make_folder(directory_ / part);
  write_meta(kRunning, 0);
  write_text(directory_ / "tags/mlflow.runName", run_name_);
  for_each_param(run_.params, "", [&](const std::string& key, const std::string& value) {
    write_text(directory_ / "params" / key_of(key), value);
  });
}

void MlflowLog::measure(const std::string& metric, double value, std::int64_t step) {
  if (directory_.empty()) on(training::Begin{});
  const std::string key = key_of(metric);
  const auto [found, is_new] = metrics_.try_emplace(key);
  if (is_new) {
    const fs::path file = directory_ / "metrics" / key;
    make_folder(file.parent_path());
    found->second.open(file, true);
  }
  const std::string number = std::isnan(value)   ? "nan"
                             : std::isinf(value) ? (value > 0 ? "inf" : "-inf")
                                                 : json_number(value);
  found->second.append(text(now_ms(), ' ', number, ' ', step, '\n'));
}

void MlflowLog::on(const training::Step& step) {
  measure("step/loss", step.loss, step.at.step);
  for (std::size_t i = 0; i < step.rates.size(); ++i)
    measure("step/" + training::rate_name(i), step.rates[i], step.at.step);
}

void MlflowLog::on(const training::Evaluation& evaluation) {
  for (const Reading& reading : evaluation.readings) {
    const std::string name = evaluation.split + '/' + reading.name;
    if (!reading.words) measure(name, reading.value, evaluation.at.step);
    else if (!directory_.empty()) write_text(directory_ / "tags" / key_of(name), *reading.words);
  }
}

void MlflowLog::on(const training::RunEnd&) {
  if (!directory_.empty()) write_meta(kFinished, now_ms());
}

}  // namespace kiln
