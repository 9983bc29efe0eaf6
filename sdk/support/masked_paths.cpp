#include "sdk/support/masked_paths.hpp"

namespace harena {

const std::vector<const char*> kMaskedFiles = {
    "proc/kcore",        "proc/kmsg",       "proc/kpagecgroup", "proc/kpagecount", "proc/kpageflags",
    "proc/sysrq-trigger", "proc/timer_list", "proc/latency_stats", "proc/sched_debug", "proc/keys",
    "proc/key-users",    "proc/kallsyms",   "proc/vmallocinfo", "proc/slabinfo",   "proc/iomem",
    "proc/ioports",      "proc/interrupts", "proc/modules",     "proc/cmdline",    "proc/bootconfig",
    "proc/pagetypeinfo", "proc/kpageidle",  "proc/vmcore",      "proc/allocinfo",  "proc/kpage_owner",
    "proc/config.gz",    "proc/mdstat",     "proc/swaps",       "proc/partitions", "proc/diskstats"};
const std::vector<const char*> kMaskedFolders = {"proc/acpi", "proc/asound", "proc/scsi", "proc/driver", "proc/fs",
                                                 "sys/firmware", "sys/devices/virtual/powercap", "sys/kernel/debug",
                                                 "sys/kernel/tracing", "sys/kernel/security", "sys/kernel/slab", "sys/kernel/btf", "sys/fs", "sys/module",
                                                 "sys/block", "sys/dev/block", "sys/class/block",
                                                 // loop devices name the files behind them
                                                 "sys/devices/virtual/block"};
const std::vector<const char*> kReadOnlyFolders = {"proc/sys", "proc/bus", "proc/irq", "proc/sysvipc", "proc/tty"};

}  // namespace harena
