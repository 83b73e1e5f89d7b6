// Folders of files that a server hands out below addresses.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "kiln/net/http.hpp"

namespace web {

/// Files of `folder` are at `prefix`: "/kiln/" + "index.js".
struct Place {
  std::string prefix;  // begins and ends with '/'
  std::filesystem::path folder;
};

/// The file that a request asks for: that of the longest prefix; index.html for a folder. 404, with a sentence, where there is
/// none; files outside of the folders are none, whatever the path says.
kiln::net::Response answer(const kiln::net::Request& request, const std::vector<Place>& places);

/// "text/html; charset=utf-8"
std::string type_of(const std::filesystem::path& file);

}  // namespace web
