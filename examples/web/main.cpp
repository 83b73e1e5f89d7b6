// Serves the pages of this folder to a browser on this machine:
//
//   ./dev run web [--port 8000] [--data DIR] [--models DIR]
//
// The modules of WebAssembly that they load are built by `./dev build wasm`; this program only hands out files.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "examples/web/files.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/core/text.hpp"
#include "kiln/net/server.hpp"
#include "kiln/tensor/text/print.hpp"

namespace {

using namespace kiln;

struct Run {
  std::string address = "127.0.0.1";
  int port = 8000;                                          // 0: any that is free
  std::string source = KILN_SOURCE_DIR;                     // the tree with examples/web and packaging/npm
  std::string modules = KILN_SOURCE_DIR "/build/wasm/web";  // what Emscripten wrote
  std::optional<std::string> data;                          // a folder with MNIST's four files; without: KILN_DATA
  std::optional<std::string> models;                        // a folder with networks and lists of labels for the pages
};

std::atomic<bool> stopped = false;

std::vector<web::Place> places_of(const Run& run) {
  const std::filesystem::path source = run.source;
  std::vector<web::Place> places{{"/", source / "examples/web"},
                                 {"/kiln/", source / "packaging/npm"},
                                 {"/kiln/dist/", run.modules},
                                 {"/modules/", run.modules}};
  const char* const data = std::getenv("KILN_DATA");
  if (run.data || data) places.push_back({"/data/mnist/", run.data ? *run.data : data});
  if (run.models) places.push_back({"/models/", *run.models});
  return places;
}

void serve(const Run& run) {
  const auto places = places_of(run);
  if (!std::filesystem::exists(run.modules))
    print("there is no {} yet: `./dev build wasm` makes what the pages load\n", run.modules);
  const net::Server server(
      {.address = {run.address, run.port},
       // Threads need memory that is shared, which a browser gives only to pages that are isolated from others.
       .headers = {{"Cross-Origin-Opener-Policy", "same-origin"},
                   {"Cross-Origin-Embedder-Policy", "require-corp"},
                   {"Cross-Origin-Resource-Policy", "same-origin"},
                   {"X-Content-Type-Options", "nosniff"},
                   {"Cache-Control", "no-cache"}}},
      net::Routes().otherwise([&](const net::Request& request) { return web::answer(request, places); }));
  print("http://{}:{}/ has the pages; Ctrl-C ends it\n", run.address, server.port());
  std::fflush(stdout);
  while (!stopped) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

const Help kHelp{
    R"(Serves the pages of this folder to a browser on this machine:

  ./dev run web [--port 8000] [--data DIR] [--models DIR]

The modules of WebAssembly that they load are built by `./dev build wasm`; this program only hands out files.)",
    {{"address", "the address that it listens at"},
     {"port", "the port; 0: any that is free"},
     {"source", "the tree with examples/web and packaging/npm"},
     {"modules", "the folder with the modules that Emscripten wrote"},
     {"data", "a folder with MNIST's four files; empty: KILN_DATA"},
     {"models", "a folder with networks and lists of labels for the pages"}}};

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, [](int) { stopped = true; });
  std::signal(SIGTERM, [](int) { stopped = true; });
  return run_main(argc, argv, serve, kHelp);
}
