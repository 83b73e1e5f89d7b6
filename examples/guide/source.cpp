#include "examples/guide/source.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "kiln/data/compose/kept.hpp"
#include "kiln/data/digits.hpp"
#include "kiln/data/mnist.hpp"

namespace guide {
namespace {

using namespace kiln;

constexpr std::int64_t kTrainDigits = 20'000, kTestDigits = 4'000;

void show_download(std::string_view file, std::int64_t done, std::int64_t total) {
  if (isatty(STDERR_FILENO))
    std::fprintf(stderr, "\r%.*s: %lld of %lld KiB", int(file.size()), file.data(), static_cast<long long>(done >> 10),
                 static_cast<long long>(total >> 10));
}

}  // namespace

Source open_source(const std::string& data) {
  const char* directory = std::getenv("KILN_DATA");
  if (data == "digits" || (data.empty() && (!directory || !*directory)))
    return {cached(Digits({.count = kTrainDigits, .seed = 1})), cached(Digits({.count = kTestDigits, .seed = 2})),
            "digits", "Digits, drawn by Kiln (--data mnist or --data DIR for MNIST)"};
  const bool named = !data.empty() && data != "mnist";
  const auto found = find_mnist(named ? std::optional<std::filesystem::path>(data) : std::nullopt, show_download);
  return {share(Mnist::load(found, Split::Train)), share(Mnist::load(found, Split::Test)),
          std::filesystem::absolute(found).string(), "MNIST in " + found.string()};
}

}  // namespace guide
