// This file writes HTTP/1.1 as text.
#pragma once
#include <string>
#include <string_view>

#include "kiln/net/http.hpp"

namespace kiln::net {

/// Returns whether two names of headers are the same, whose capitals mean nothing.
bool is_same_name(std::string_view a, std::string_view b);

/// Returns "Name: value\r\n" for each. Throws ArgumentError for names and values that would be more than one header.
std::string header_lines(const Headers& headers);

/// Returns what comes before a response's body.
std::string head_text(const Response& response, const Headers& more, bool keeps_alive);

}  // namespace kiln::net
