#include "guest/power.hpp"

#include <sys/mount.h>
#include <sys/reboot.h>
#include <unistd.h>

#include "guest/channel_port.hpp"
#include "guest/writable_disk.hpp"

namespace harena::guest {

void power_off() {
  ::sync();
  // The sandbox is gone, so this is its last user; a mount that somebody still holds is synced at least.
  if (::umount2(kDiskFolder, 0) != 0) ::umount2(kDiskFolder, MNT_DETACH);
  ::sync();
  // Firecracker has no power to switch off and a kernel would stand still: it ends at a reset.
  if (const auto port = own_vsock_port(); port.ok() && port->has_value()) ::reboot(RB_AUTOBOOT);
  ::reboot(RB_POWER_OFF);
  ::reboot(RB_AUTOBOOT);
  while (true) ::pause();
}

}  // namespace harena::guest
