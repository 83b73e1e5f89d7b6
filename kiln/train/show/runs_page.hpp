// Runs beside each other in a browser, while they go on or afterwards: the page of WebDashboard over files.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "kiln/train/show/web.hpp"

namespace kiln {

/// Serves the page until it is destroyed. `describe` is called at each visit, from other threads, also from several at
/// once, and returns a JSON list of runs:
///   {"name":"a","state":"all 3 epochs are done","parameters":{"rate":"0.1"},
///    "curves":[["loss","valid",[[1,0.5],[2,0.25]]]],
///    "shown":[["histogram","weights/bias",2,{"edges":[0,1],"counts":[3]}]]}
/// `shown` has what json_of() writes (kiln/train/figure/figure.hpp), as "histogram", "matrix" or "picture". The page
/// shows the sentence of an error that it throws. Throws as WebDashboard does.
class RunsPage {
 public:
  RunsPage(std::function<std::string()> describe, const WebConfig& config);
  ~RunsPage();
  RunsPage(RunsPage&&) noexcept;

  /// The page's address, which contains a secret, as WebDashboard's does.
  std::string address() const;

 private:
  struct Served;
  std::unique_ptr<Served> served_;
};

}  // namespace kiln
