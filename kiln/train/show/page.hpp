// The page of trainings: its files, which a build embeds, and how a server answers for them.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "kiln/net/http.hpp"

namespace kiln::page {

// The files of kiln/train/show/page, and those of dygraphs, which draws the curves; empty in a build without it.
std::string_view html();
std::string_view script();
std::string_view style();
std::string_view library();
std::string_view library_style();
std::string_view library_licence();

/// The answer to a request for one of these files; none for other paths, of which "/" is the page.
std::optional<net::Response> answer(std::string_view path);
/// The page loads nothing from elsewhere, runs no script but these files, and is shown in no other page.
net::Headers headers();

}  // namespace kiln::page
