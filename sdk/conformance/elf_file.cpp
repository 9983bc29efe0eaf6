#include "sdk/conformance/elf_file.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <optional>

namespace harena::conformance {
namespace {

Error no_library(std::string why) { return make_error(ErrorCode::invalid_argument, "isn't a shared library of this machine: " + std::move(why)); }

class Image {
 public:
  explicit Image(std::string bytes) : bytes_(std::move(bytes)) {}

  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  std::string text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return "";
    auto end = bytes_.find('\0', offset);
    return end == std::string::npos ? "" : bytes_.substr(offset, end - offset);
  }

 private:
  std::string bytes_;
};

std::uint64_t file_offset(const std::vector<Elf64_Phdr>& segments, std::uint64_t address) {
  for (const auto& one : segments) {
    if (one.p_type == PT_LOAD && address >= one.p_vaddr && address - one.p_vaddr < one.p_filesz) return address - one.p_vaddr + one.p_offset;
  }
  return UINT64_MAX;
}

void read_dynamic(const Image& image, const std::vector<Elf64_Phdr>& segments, const Elf64_Phdr& dynamic, ElfFacts& facts) {
  std::vector<Elf64_Dyn> entries;
  for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.p_filesz; at += sizeof(Elf64_Dyn)) {
    auto entry = image.at<Elf64_Dyn>(dynamic.p_offset + at);
    if (!entry || entry->d_tag == DT_NULL) break;
    entries.push_back(*entry);
  }
  std::uint64_t strings = UINT64_MAX;
  for (const auto& e : entries) {
    if (e.d_tag == DT_STRTAB) strings = file_offset(segments, e.d_un.d_ptr);
  }
  auto text = [&](std::uint64_t offset) { return strings == UINT64_MAX ? "" : image.text(strings + offset); };
  for (const auto& e : entries) {
    if (e.d_tag == DT_NEEDED) facts.needed.push_back(text(e.d_un.d_val));
    if (e.d_tag == DT_RUNPATH || e.d_tag == DT_RPATH) facts.run_path = text(e.d_un.d_val);
    if (e.d_tag == DT_TEXTREL || (e.d_tag == DT_FLAGS && (e.d_un.d_val & DF_TEXTREL) != 0)) facts.text_relocations = true;
    if (e.d_tag == DT_BIND_NOW || (e.d_tag == DT_FLAGS && (e.d_un.d_val & DF_BIND_NOW) != 0)) facts.bind_now = true;
    if (e.d_tag == DT_FLAGS_1 && (e.d_un.d_val & DF_1_NOW) != 0) facts.bind_now = true;
  }
}

}  // namespace

Result<ElfFacts> read_elf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return errno_error(errno, "opening " + path.string());
  Image image(std::string((std::istreambuf_iterator<char>(file)), {}));
  auto header = image.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return no_library("no ELF file");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_DYN) return no_library("no 64-bit shared object");
  std::vector<Elf64_Phdr> segments;
  for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
    auto segment = image.at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return no_library("its segments lie beyond its end");
    segments.push_back(*segment);
  }
  ElfFacts facts;
  facts.executable_stack = true;
  for (const auto& one : segments) {
    if (one.p_type == PT_GNU_RELRO) facts.relro = true;
    if (one.p_type == PT_GNU_STACK) facts.executable_stack = (one.p_flags & PF_X) != 0;
    if (one.p_type == PT_DYNAMIC) read_dynamic(image, segments, one, facts);
  }
  return facts;
}

}  // namespace harena::conformance
