#!/usr/bin/env bash
# The Debian and Ubuntu packages that Harena needs, in one place: sourced by quickstart.sh and tests/run.sh.
# Each list says what for; a package whose name differs between releases is chosen here.

# boost_package: Asio's and Beast's coroutines need Boost 1.81 or later. Debian 12 has it beside its default 1.74;
# Debian 13 and Ubuntu 24.04 have a later default.
boost_package() {
  local default
  default=$(apt-cache depends libboost-dev 2>/dev/null | sed -n 's/.*Depends: libboost\([0-9.]*\)-dev.*/\1/p' | head -n 1)
  if [[ -n $default ]] && dpkg --compare-versions "$default" ge 1.81; then echo "libboost$default-dev"
  else echo libboost1.81-dev; fi
}

build_packages() {
  echo g++ cmake ninja-build ccache pkg-config "$(boost_package)" libpoco-dev libssl-dev libsqlite3-dev libseccomp-dev \
    libarchive-dev nlohmann-json3-dev libspdlog-dev libcli11-dev libprotobuf-dev protobuf-compiler zlib1g-dev
}

# What a machine that runs sandboxes needs: e2fsprogs makes the disks of limited size, lxcfs (which systemd starts by itself) the views of
# /proc that show a sandbox its limits. jq is not among them: scripts use python3.
run_packages() {
  # apparmor: apparmor_parser, for the profile of sandboxes where the kernel has AppArmor.
  # busybox-static: the trusted tools of sandboxes (deploy/trusted_tools.sh); before the build, which makes their folder.
  echo erofs-utils e2fsprogs lxcfs busybox-static apparmor ca-certificates python3 python3-httpx iproute2 curl
}

# What runs virtual machines, for the backend microvm (deploy/microvm.sh); zstd: modules of some kernels are packed with it.
microvm_packages() { echo qemu-system-x86 e2fsprogs zstd; }
# What full machines need (docs/qemu.md).
qemu_packages() { echo qemu-system-x86 qemu-utils genisoimage ovmf; }

# What makes images: from registries (skopeo) and from the distribution's archive.
# mount: a workspace is compiled over its base.
image_packages() { echo skopeo mmdebstrap mount; }

# What the tests need beyond that.
test_packages() {
  # For E2B's JavaScript SDK. A machine may have Node.js from elsewhere, which Debian's npm would conflict with.
  command -v npm >/dev/null || echo nodejs npm
  # qemu-system-x86: the test VM of tests/system. python3-ipykernel, -jupyter-client, -uvicorn: the code interpreter's service, tested
  # without a sandbox (tests/interpreter). sqlite3: goes into a microVM whose forks go on with a transaction. grub, dosfstools, mtools: a disk
  # that boots by itself (tests/integration/boot_disk.py).
  echo libgtest-dev libgmock-dev busybox-static docker-registry python3-protobuf python3-pytest python3-venv python3-pip procps git qemu-system-x86 \
    sqlite3 python3-ipykernel python3-jupyter-client python3-uvicorn grub-common grub-pc-bin grub-efi-amd64-bin dosfstools mtools
}

as_root_or_explain() {
  [[ $(id -u) == 0 ]] && return 0
  echo "error: this needs root: namespaces, mounts and cgroups of sandboxes can't be made otherwise. Run it with sudo." >&2
  return 1
}

# install_packages NAME...: only those that are missing, so that a second run asks nothing of the network.
install_packages() {
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q '^install ok installed' || missing+=("$name")
  done
  [[ ${#missing[@]} == 0 ]] && return 0
  echo "installing: ${missing[*]}"
  [[ -n $(find /var/lib/apt/lists -maxdepth 1 -name '*Packages*' -mmin -1440 -print -quit 2>/dev/null) ]] || apt-get -qq update
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null || {
    echo "error: apt-get could not install: ${missing[*]}; run 'apt-get update' and look at what it says" >&2
    return 1
  }
}
