#include "kiln/browser/call.hpp"

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"

namespace kiln::browser {
namespace {

std::vector<Function>& offered() {
  static std::vector<Function>& all = *new std::vector<Function>;
  return all;
}

const Function* found(std::string_view name) {
  for (const auto functions : {tensor_functions(), std::span<const Function>(offered())})
    for (const Function& each : functions)
      if (each.name == name) return &each;
  return nullptr;
}

std::vector<std::string> names_of_offered() {
  std::vector<std::string> names;
  for (const Function& each : offered()) names.emplace_back(each.name);
  return names;
}

Item error_item(std::string_view kind, std::string_view message) {
  return Item::Record{{"kind", std::string(kind)}, {"message", std::string(message)}};
}

Item out_of_memory() {
  return error_item("MemoryError", "the memory of this page is used up: dispose tensors, or use smaller ones");
}

/// The error that is being handled.
Item current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error_item(name(error.kind()), error.message());
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::length_error&) {  // of a container over half of what 32 bits address
    return out_of_memory();
  } catch (const std::system_error& error) {
    // std::thread says no more than this where a module has none.
    if (error.code() != std::errc::resource_unavailable_try_again) return error_item("Error", error.what());
    return error_item("DeviceError",
                      "this takes threads, and none can start: load NAME.threads.js in a page that is isolated from "
                      "other origins (docs/browser.md), or let that module start with more (-sPTHREAD_POOL_SIZE)");
  } catch (const std::exception& error) { return error_item("Error", error.what()); } catch (...) {
    return error_item("Error", "the function threw what is no std::exception");
  }
}

void hand_over(const Item& item, KilnAnswer& answer) {
  const Block block = write_block(item);
  answer = {block.data(), block.size()};
}

}  // namespace

void offer(std::span<const Function> functions) {
  for (const Function& each : functions) {
    require<ArgumentError>(!found(each.name), "browser::offer: there is a function '", each.name,
                           "' already: give this one another name");
    offered().push_back(each);
  }
}

Item call(std::string_view name, const Item& arguments) {
  if (name == "kiln.functions") return to_item(names_of_offered());
  const Function* const function = found(name);
  if (!function) {
    std::vector<std::string_view> names;
    for (const Function& each : offered()) names.push_back(each.name);
    fail<ArgumentError>("the page's C++ offers no function '", shown(name), "'", did_you_mean(name, names));
  }
  return function->run(function->name, from_item<Item::List>(arguments, "the arguments"));
}

bool Callback::call(const Item& item) const {
  const std::vector<std::byte> bytes = write_item(item);
  return kiln_call_back(number_, bytes.data(), bytes.size()) != 0;
}

namespace detail {

void require_arguments(std::string_view name, std::size_t given, std::size_t taken) {
  require<ArgumentError>(given <= taken, name, ": takes ", taken, taken == 1 ? " argument" : " arguments", ", and got ",
                         given);
}

const Item& argument(Arguments arguments, std::size_t index) {
  static const Item none;
  return index < arguments.size() ? arguments[index] : none;
}

}  // namespace detail
}  // namespace kiln::browser

extern "C" {

int kiln_call(const char* name, const std::byte* arguments, std::size_t bytes, KilnAnswer* answer) {
  namespace browser = kiln::browser;
  *answer = {nullptr, 0};
  try {
    browser::hand_over(browser::call(name, browser::read_item({arguments, bytes})), *answer);
    return 0;
  } catch (...) {
    // Without memory even for the sentence, the answer stays empty, which JavaScript knows.
    try {
      browser::hand_over(browser::current_error(), *answer);
    } catch (...) { *answer = {nullptr, 0}; }
    return 1;
  }
}

void* kiln_allocate(std::size_t bytes) { return std::malloc(bytes > 0 ? bytes : 1); }
void kiln_free(void* address) { kiln::browser::free_block(address); }
}
