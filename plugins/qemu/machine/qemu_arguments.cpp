#include "plugins/qemu/machine/qemu_arguments.hpp"

namespace harena::qemu {
namespace {

using Arguments = std::vector<std::string>;

constexpr const char* kVariablesNode = "vars";
constexpr int kTranslationMiB = 64;
std::string node_name(std::size_t disk) { return "disk" + std::to_string(disk); }

/// Boot order: the ISO first, as an installer wants it, then the disks.
constexpr int kFirstDiskBootIndex = 2;

class Builder {
 public:
  Builder(const MachineConfig& config, const QemuDescriptors& fds) : config_(config), fds_(fds) {}
  Arguments build();

 private:
  void add(std::initializer_list<std::string> more) { to_.insert(to_.end(), more); }
  void machine();
  void channels();
  void firmware();
  void kernel();
  void display();
  void disk(std::size_t number);
  void read_only_file(const std::string& node, int fd);
  json file(const std::string& node, int fd, bool writable);
  void node(json document) { add({"-blockdev", document.dump()}); }

  const MachineConfig& config_;
  const QemuDescriptors& fds_;
  Arguments to_;
  int sets_ = 0;
};

void Builder::machine() {
  const bool kvm = config_.kvm;
  add({"-M", std::string("q35,smm=off,vmport=off") + (config_.firmware_code.empty() ? "" : ",pflash0=code,pflash1=vars")});
  add({"-accel", kvm ? "kvm" : "tcg,thread=multi,tb-size=" + std::to_string(kTranslationMiB), "-cpu", config_.cpu_model});
  add({"-smp", "cpus=" + std::to_string(config_.cpus) + ",maxcpus=" + std::to_string(config_.max_cpus)});
  const bool grows = config_.max_memory_bytes > config_.memory_bytes;
  const std::string room = ",slots=" + std::to_string(kMemorySlots) + ",maxmem=" + std::to_string(config_.max_memory_bytes >> 20) + "M";
  add({"-m", "size=" + std::to_string(config_.memory_bytes >> 20) + "M" + (grows ? room : "")});
  add({"-nodefaults", "-no-user-config", "-no-reboot", "-name", "harena", "-nic", "none"});
  add({"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"});
}

void Builder::channels() {
  add({"-chardev", "socket,id=qmp,fd=" + std::to_string(fds_.qmp), "-mon", "chardev=qmp,mode=control"});
  add({"-chardev", "socket,id=console,fd=" + std::to_string(fds_.console), "-serial", "chardev:console"});
}

json Builder::file(const std::string& node, int fd, bool writable) {
  add({"-add-fd", "fd=" + std::to_string(fd) + ",set=" + std::to_string(++sets_)});
  return {{"driver", "file"}, {"filename", "/dev/fdset/" + std::to_string(sets_)}, {"node-name", node}, {"locking", "off"},
          {"discard", "unmap"}, {"read-only", !writable}};
}

void Builder::firmware() {
  if (config_.firmware_code.empty()) return;
  read_only_file("code", fds_.firmware_code);
  node(file("vars-file", fds_.firmware_vars, true));
  node({{"driver", "qcow2"}, {"file", "vars-file"}, {"node-name", kVariablesNode}, {"backing", nullptr}, {"read-only", false}});
}

void Builder::kernel() {
  if (config_.kernel.empty()) return;
  add({"-kernel", kJailKernel, "-append", config_.command_line});
  if (!config_.initramfs.empty()) add({"-initrd", kJailInitramfs});
}

void Builder::display() {
  if (!config_.display) return add({"-display", "none", "-vga", "none"});
  // Without a listener: clients come as descriptors (QMP's add_client).
  add({"-vnc", "none", "-device", "virtio-vga", "-device", "qemu-xhci,id=usb", "-device", "usb-tablet,bus=usb.0"});
}

void Builder::disk(std::size_t number) {
  const DiskConfig& disk = config_.disks[number];
  const std::string name = node_name(number);
  // The graph is spelled out: nothing that a file says about a parent of its own is followed.
  if (!disk.image.empty()) {
    node(file(name + "-base-file", fds_.bases[number], false));
    json base = {{"driver", disk.qcow2 ? "qcow2" : "raw"}, {"file", name + "-base-file"}, {"node-name", name + "-base"},
        {"read-only", true}};
    if (disk.qcow2) base["backing"] = nullptr;
    node(base);
  }
  node(file(name + "-file", fds_.tops[number], true));
  json top = {{"driver", disk.raw ? "raw" : "qcow2"}, {"file", name + "-file"}, {"node-name", name}, {"discard", "unmap"}};
  if (!disk.raw) top["backing"] = disk.image.empty() ? json(nullptr) : json(name + "-base");
  node(top);
  const std::string order = std::to_string(kFirstDiskBootIndex + static_cast<int>(number));
  add({"-device", "virtio-blk-pci,drive=" + name + ",serial=" + name + ",bootindex=" + order});
}

void Builder::read_only_file(const std::string& name, int fd) {
  node(file(name + "-file", fd, false));
  node({{"driver", "raw"}, {"file", name + "-file"}, {"node-name", name}, {"read-only", true}});
}

Arguments Builder::build() {
  machine();
  channels();
  firmware();
  kernel();
  display();
  for (std::size_t i = 0; i < config_.disks.size(); ++i) disk(i);
  if (fds_.iso >= 0) {
    read_only_file("iso", fds_.iso);
    add({"-device", "ide-cd,drive=iso,bootindex=1"});
  }
  if (fds_.seed >= 0) {
    read_only_file("seed", fds_.seed);
    add({"-device", "virtio-blk-pci,drive=seed,serial=cidata"});
  }
  add({"-device", "virtio-rng-pci"});
  for (const auto& one : config_.plugged) {
    if (!one.object.empty()) add({"-object", one.object});
    add({"-device", one.device});
  }
  // Another one each time that QEMU starts: a guest that goes on from a snapshot hears of it and renews its randomness.
  add({"-device", "vmgenid,guid=auto"});
  if (!config_.restore_tag.empty()) add({"-S"});
  return std::move(to_);
}

}  // namespace

std::vector<std::string> writable_nodes(const MachineConfig& config) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < config.disks.size(); ++i) names.push_back(node_name(i));
  if (config.uefi) names.emplace_back(kVariablesNode);
  return names;
}

std::vector<std::string> qemu_arguments(const MachineConfig& config, const QemuDescriptors& descriptors) {
  return Builder(config, descriptors).build();
}

}  // namespace harena::qemu
