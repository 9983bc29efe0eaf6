#pragma once
// libarchive turns the UTF-8 names of pax headers into the thread's locale, and in "C" loses those that aren't ASCII.

#include <locale.h>

namespace harena {

/// The calling thread speaks UTF-8 as long as it lives; other threads and the program's own locale are left alone.
class Utf8Scope {
 public:
  Utf8Scope() : own_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)), before_(::uselocale(own_)) {}
  ~Utf8Scope() {
    ::uselocale(before_);
    if (own_ != nullptr) ::freelocale(own_);
  }
  Utf8Scope(const Utf8Scope&) = delete;
  Utf8Scope& operator=(const Utf8Scope&) = delete;

 private:
  locale_t own_;
  locale_t before_;
};

}  // namespace harena
