#include "plugins/microvm/machine/qemu_arguments.hpp"

#include <nlohmann/json.hpp>

namespace harena::microvm {
namespace {

using nlohmann::json;
using Arguments = std::vector<std::string>;

void add(Arguments& to, std::initializer_list<std::string> more) { to.insert(to.end(), more); }

void add_machine(Arguments& to, const VmmSpec& spec) {
  // isa-serial: the console. The rest of a PC (PIT, PIC, RTC) is what a stock kernel needs under TCG; KVM has its own clock.
  add(to, {"-M", "microvm,rtc=on,pit=on,pic=on,isa-serial=on,memory-backend=ram"});
  const bool kvm = spec.accelerator == Accelerator::kvm;
  add(to, {"-accel", kvm ? "kvm" : "tcg,thread=multi,tb-size=" + std::to_string(kTranslationMiB)});
  add(to, {"-cpu", spec.cpu_model, "-smp", std::to_string(spec.cpus), "-m", std::to_string(spec.ram_bytes >> 20)});
  const char* share = spec.ram == RamMapping::shared ? "on" : "off";
  add(to, {"-object", std::string("memory-backend-file,id=ram,share=") + share + ",mem-path=" + kJailRam + ",size=" +
                          std::to_string(spec.ram_bytes)});
  add(to, {"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-name", "harena"});
  // Without it a state can't be read by another process (the source sends a section that the reader takes for its own).
  add(to, {"-global", "migration.send-configuration=off"});
  if (!spec.firmware_dir.empty()) add(to, {"-L", spec.firmware_dir});
}

/// QEMU's own filter of system calls: no new processes, no other users, no priorities, nothing obsolete.
void add_sandbox(Arguments& to) { add(to, {"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"}); }

void add_kernel(Arguments& to, const VmmSpec& spec) {
  if (spec.incoming) return add(to, {"-incoming", "defer"});  // it is in the RAM already
  add(to, {"-kernel", kJailKernel, "-initrd", kJailInitramfs, "-append", spec.command_line});
}

void add_channels(Arguments& to, const QemuDescriptors& fds) {
  add(to, {"-chardev", "socket,id=qmp,fd=" + std::to_string(fds.qmp), "-mon", "chardev=qmp,mode=control"});
  add(to, {"-chardev", "socket,id=console,fd=" + std::to_string(fds.console), "-serial", "chardev:console"});
  add(to, {"-chardev", "socket,id=session,fd=" + std::to_string(fds.channel), "-device", "virtio-serial-device,max_ports=2",
           "-device", "virtserialport,chardev=session,name=harena.session.0,nr=1"});
}

/// locking=off: the machine that is to go on opens files which the one that stands still has open too. no-flush: what must live longer
/// than this host's kernel is nothing of a sandbox's disk; the page cache outlives the VMM.
json file_node(int set, const std::string& name, bool writable) {
  return {{"driver", "file"},
          {"filename", "/dev/fdset/" + std::to_string(set)},
          {"node-name", name},
          {"locking", "off"},
          {"discard", "unmap"},
          {"read-only", !writable},
          {"cache", {{"no-flush", true}, {"direct", false}}}};
}

/// A disk of this host that is full is told to the guest, as an I/O error of what was written. QEMU's own default stops the machine until
/// somebody orders it to go on: whoever waits for a command would see it hang.
constexpr const char* kOnErrors = ",werror=report,rerror=report";

void add_disk(Arguments& to, const DiskSpec& disk, std::size_t number, const std::vector<int>& fds, int& set) {
  for (std::size_t i = 0; i < disk.files.size(); ++i) {
    const bool writable = disk.writable && i + 1 == disk.files.size();
    const std::string node = disk_node(number, i);
    add(to, {"-add-fd", "fd=" + std::to_string(fds[i]) + ",set=" + std::to_string(++set)});
    add(to, {"-blockdev", file_node(set, node + "-file", writable).dump()});
    json format = {{"driver", disk.files[i].overlay ? "qcow2" : "raw"}, {"file", node + "-file"}, {"node-name", node},
                   {"discard", "unmap"},  {"read-only", !writable}, {"cache", {{"no-flush", true}, {"direct", false}}}};
    if (i > 0) format["backing"] = disk_node(number, i - 1);
    add(to, {"-blockdev", format.dump()});
  }
  add(to, {"-device", "virtio-blk-device,id=disk" + std::to_string(number) + ",drive=" + disk_node(number, disk.files.size() - 1) +
                          ",serial=" + disk.serial + kOnErrors});
}

/// Memory that the guest has freed goes back to the host by itself; nobody inflates it. In a private mapping of a frozen file only
/// under the guard (ram_guard.cpp).
void add_balloon(Arguments& to) { add(to, {"-device", "virtio-balloon-device,id=balloon,free-page-reporting=on"}); }

}  // namespace

std::string disk_node(std::size_t disk, std::size_t file) { return "d" + std::to_string(disk) + "f" + std::to_string(file); }

json throttle_arguments(std::size_t disk, const DiskLimits& limits) {
  return {{"id", "disk" + std::to_string(disk)}, {"group", "disks"},
          {"bps", limits.bps}, {"bps_rd", limits.read_bps}, {"bps_wr", limits.write_bps},
          {"iops", limits.iops}, {"iops_rd", limits.read_iops}, {"iops_wr", limits.write_iops}};
}

std::vector<std::string> qemu_arguments(const VmmSpec& spec, const QemuDescriptors& descriptors) {
  Arguments to;
  add_machine(to, spec);
  add_sandbox(to);
  add_channels(to, descriptors);
  int set = 0;
  for (std::size_t i = 0; i < spec.disks.size(); ++i) add_disk(to, spec.disks[i], i, descriptors.disks[i], set);
  add_balloon(to);
  add_kernel(to, spec);
  return to;
}

}  // namespace harena::microvm
