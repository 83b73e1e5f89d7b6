// Kiln's own devices are profiled if the environment has KILN_PROFILE, and verified if it has KILN_VERIFY.
#include <cstdio>
#include <string_view>

#include "kiln/backend/inspect/profiled.hpp"
#include "kiln/backend/inspect/verifying.hpp"
#include "kiln/core/setting/setting.hpp"

/// CMakeLists.txt makes every program link this symbol, and with it this file.
extern "C" const char kiln_inspect_devices[];
const char kiln_inspect_devices[] = "profile, verify";

namespace kiln {
namespace {

/// The value of a setting; empty where it is "0" or not set.
std::string_view choice(const char* name) {
  const char* const text = setting(name);
  return text && std::string_view(text) != "0" ? text : "";
}

/// One log for all devices, reported when the program ends.
class AtExit {
 public:
  ~AtExit() {
    const ProfileContents contents = log->contents();
    std::fputs(profile_table(contents, 40).c_str(), stderr);
    const std::string_view file = choice("KILN_PROFILE");
    if (file == "1") return;
    try {
      profile_trace(contents, std::string(file));
    } catch (const Error& error) { std::fprintf(stderr, "%s\n", error.what()); }
  }
  const std::shared_ptr<ProfileLog> log = std::make_shared<ProfileLog>(ProfileOptions{});
};

Ref<Backend> profile(Ref<Backend> inner) {
  if (choice("KILN_PROFILE").empty()) return inner;
  static const AtExit report;
  report.log->set_device(inner->name());
  return make_ref<Profiled>(std::move(inner), report.log);
}

VerifyOptions verify_options(const Backend& backend) {
  const std::string_view wish = choice("KILN_VERIFY");
  require<DeviceError>(wish != backend.name(), "KILN_VERIFY: ", wish, " cannot be its own reference");
  return wish == "1" ? VerifyOptions{} : VerifyOptions{.reference = Device::parse(wish)};
}

Ref<Backend> verify(Ref<Backend> inner) {
  if (choice("KILN_VERIFY").empty()) return inner;
  const VerifyOptions options = verify_options(*inner);
  return make_ref<VerifiedKernels>(std::move(inner), Comparison{.options = options});
}

Ref<Backend> verify_plans(Ref<Backend> whole) {
  if (choice("KILN_VERIFY").empty()) return whole;
  if (dynamic_cast<const VerifiedKernels*>(whole.get())) return whole;  // there is no fusion around it
  Ref<Backend> core;
  whole->with_core([&](Ref<Backend> inner) { return core = std::move(inner); });
  return make_ref<VerifiedPlans>(std::move(whole), std::move(core), Comparison{});
}

// Runs before constructors of static objects, some of which may be devices.
[[gnu::constructor(200)]] void decorate() {
  decorate_devices(Decoration::Profile, &profile);
  decorate_devices(Decoration::Verify, &verify);
  decorate_devices(Decoration::VerifyPlans, &verify_plans);
}

}  // namespace
}  // namespace kiln
