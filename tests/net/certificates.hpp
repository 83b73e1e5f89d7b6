// Keys and certificates for tests, made by the program openssl when a test asks; none are kept.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "kiln/core/text.hpp"
#include "kiln/net/options.hpp"

namespace kiln::net {

/// An authority, and the certificates that it signs, in a folder that ends with the object.
class Certificates {
 public:
  Certificates() {
    char name[] = "/tmp/kiln_certificates_XXXXXX";
    folder_ = ::mkdtemp(name);
    run(text("req -x509 ", kNewKey, file("authority.key"), " -out ", authority(), " -subj /CN=authority -days 2"));
  }
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;
  ~Certificates() { std::filesystem::remove_all(folder_); }

  std::string authority() const { return file("authority.pem"); }
  std::string file(const std::string& name) const { return folder_ + '/' + name; }

  /// A certificate for names such as "IP:127.0.0.1,DNS:localhost", and its key.
  TlsOptions signed_for(const std::string& names, int days = 2) {
    const std::string name = text("signed", ++count_);
    std::ofstream(file("names")) << "subjectAltName=" << names << '\n';
    run(text("req ", kNewKey, file(name + ".key"), " -out ", file("request"), " -subj /CN=kiln"));
    run(text("x509 -req -in ", file("request"), " -CA ", authority(), " -CAkey ", file("authority.key"),
             " -CAcreateserial -days ", days, " -extfile ", file("names"), " -out ", file(name + ".pem")));
    return {.certificate = file(name + ".pem"), .key = file(name + ".key")};
  }
  TlsOptions self_signed(const std::string& names) {
    const std::string name = text("self", ++count_);
    run(text("req -x509 ", kNewKey, file(name + ".key"), " -out ", file(name + ".pem"),
             " -subj /CN=kiln -days 2 -addext subjectAltName=", names));
    return {.certificate = file(name + ".pem"), .key = file(name + ".key")};
  }

 private:
  static constexpr const char* kNewKey = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ";
  static void run(const std::string& arguments) {
    const std::string command = "openssl " + arguments + " 2> /dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  std::string folder_;
  int count_ = 0;
};

}  // namespace kiln::net
