#!/usr/bin/env bash
# Starting, stopping and removing harenad, with systemd or without. Sourced by quickstart.sh.

state_dir=/var/lib/harena
run_dir=/run/harena
pid_file=$run_dir/harenad.pid
log_file=$state_dir/harenad.log
config_file=/etc/harena/harena.json
config_mark='// Made by deploy/quickstart.sh, whose --uninstall removes it; without this line it is yours and stays.'

has_systemd() { [[ -d /run/systemd/system ]]; }

# running_pid: the pid of the harenad that this script started, if it still is one.
running_pid() {
  local pid
  pid=$(cat "$pid_file" 2>/dev/null) || return 1
  [[ $(readlink "/proc/$pid/exe" 2>/dev/null) == */bin/harenad* ]] && echo "$pid"
}

is_ready() { curl -fsS -o /dev/null --max-time 2 http://127.0.0.1:9467/readyz 2>/dev/null; }

wait_ready() {
  for _ in $(seq 150); do
    # Ours first: another daemon on these ports would answer too.
    if ! has_systemd && ! running_pid >/dev/null; then break; fi
    is_ready && return 0
    sleep 0.2
  done
  echo "error: harenad didn't become ready; its last words:" >&2
  if has_systemd; then journalctl -u harenad -n 20 --no-pager >&2; else tail -n 20 "$log_file" >&2; fi
  return 1
}

start_service() {
  local prefix=$1
  if has_systemd; then
    sed "s#/usr/local#$prefix#g" deploy/systemd/harenad.service > /etc/systemd/system/harenad.service
    systemctl daemon-reload
    systemctl enable --quiet harenad
    systemctl restart harenad
  else
    stop_daemon
    mkdir -p -m 0700 "$state_dir" "$run_dir"
    setsid "$prefix/bin/harenad" </dev/null >>"$log_file" 2>&1 &
    echo $! > "$pid_file"
  fi
  wait_ready
}

# write_config PREFIX: E2B's protocol and MCP on loopback, as far as their plugins are installed; what is there already stays.
write_config() {
  local frontends=()
  [[ ! -e $config_file ]] || { echo "$config_file is there and stays as it is; docs/e2b.md and docs/mcp.md say what enables them"; return; }
  [[ ! -d $1/lib/harena/plugins/e2b ]] || frontends+=("$(e2b_config)")
  [[ ! -d $1/lib/harena/plugins/mcp ]] || frontends+=('    "mcp": {}')
  [[ ${#frontends[@]} -gt 0 ]] || return 0
  mkdir -p "${config_file%/*}"
  printf '%s\n{\n  "plugins": {\n%s\n  }\n}\n' "$config_mark" "$(printf ',\n%s' "${frontends[@]}" | tail -n +2)" > "$config_file"
}

# The template code-interpreter-v1 works once `harena image build code-interpreter` was run; from then on one sandbox of it is ready.
e2b_config() {
  cat <<END
    "e2b": {"config": {
      "warm_token_file": "$state_dir/admin.token",
      "templates": {
        "base": {"image": "root/base:v1"},
        "code-interpreter-v1": {"image": "root/code-interpreter:v1", "cpu": 2, "memory_mb": 1024, "warm": 1,
          "start_command": "harena-interpreter", "ready_command": "curl -sf http://127.0.0.1:49999/health"}}}}
END
}

# add_plugin JSON: into the configuration that write_config made, or makes.
add_plugin() {
  mkdir -p "${config_file%/*}"
  [[ -e $config_file ]] || printf '%s\n{}\n' "$config_mark" > "$config_file"
  /usr/bin/python3 - "$config_file" "$1" <<'END'
import json, os, sys
path, plugin = sys.argv[1], json.loads(sys.argv[2])
mark, text = open(path).read().split("\n", 1)
config = json.loads(text)
config.setdefault("plugins", {}).update(plugin)
with open(path + ".new", "w") as file:
    file.write(mark + "\n" + json.dumps(config, indent=2) + "\n")
os.rename(path + ".new", path)
END
}

# remove_config: only what write_config made.
remove_config() {
  [[ $(head -n 1 "$config_file" 2>/dev/null) != "$config_mark" ]] || rm -f "$config_file"
  rmdir --ignore-fail-on-non-empty "${config_file%/*}" 2>/dev/null || true
}

stop_daemon() {
  local pid
  pid=$(running_pid) || return 0
  kill -TERM "$pid"
  for _ in $(seq 300); do [[ -d /proc/$pid ]] || return 0; sleep 0.1; done
  echo "error: harenad (pid $pid) did not end within 30 s of SIGTERM" >&2
  return 1
}

# show_backend PREFIX NAME: what runs its machines; an error that says what is missing, if it isn't usable.
show_backend() {
  "$1/bin/harena" backends --json | /usr/bin/python3 -c '
import json, sys
name = sys.argv[1]
found = [b for b in json.load(sys.stdin) if b["name"] == name]
if not found or not found[0]["usable"]:
    sys.exit(f"error: the backend {name} is not usable: " + "; ".join(found[0].get("why_not", []) if found else ["the plugin is not there"]))
print("usable, accelerator:", found[0].get("facts", {}).get("accelerator", "?"))' "$2"
}

stop_hint() {
  if has_systemd; then echo "systemctl stop harenad"; else echo "kill \$(cat $pid_file)"; fi
}

# remove_files PREFIX: all that `cmake --install` put there, and folders that are empty then
# (tests/integration/test_uninstall.py compares).
remove_files() {
  local prefix=$1
  rm -f "$prefix/bin/harenad" "$prefix/bin/harena" "$prefix/bin/harena-plugin-check"
  rm -rf "$prefix/libexec/harena" "$prefix/lib/harena" "$prefix/lib/cmake/HarenaPlugin" "$prefix/share/harena" \
    "$prefix/share/doc/harena"
  rmdir --ignore-fail-on-non-empty "$prefix/lib/cmake" "$prefix/share/doc" "$prefix/libexec" 2>/dev/null || true
}

# remove_profile: the default instance's AppArmor profile, which the kernel would keep until the next boot.
remove_profile() {
  local folder=/sys/kernel/security/apparmor
  if grep -qs '^harena-default (' "$folder/profiles"; then printf harena-default > "$folder/.remove"; fi
}

# remove_cgroups [ROOT]: the default instance's, and the folder of all instances if it was the last. An instance of another daemon keeps its
# groups, empty ones too: commands are born in them.
remove_cgroups() {
  local parent
  for parent in harena harena-vm harena-qemu; do  # of containers, microVMs, full machines
    find "${1:-/sys/fs/cgroup}" -depth -type d \( -path "*/$parent/default" -o -path "*/$parent/default/*" -o -path "*/$parent" \) \
      -exec rmdir {} + 2>/dev/null || true
  done
}

# remove_state: all of harenad's; disk images that somebody put into the folder of deploy/qemu.sh stay.
remove_state() {
  rm -rf "$run_dir"
  if [[ -n $(ls -A "$state_dir/disks" 2>/dev/null) ]]; then
    find "$state_dir" -mindepth 1 -maxdepth 1 ! -name disks -exec rm -rf {} +
    echo "$state_dir/disks has disk images of yours, and stays"
  else
    rm -rf "$state_dir"
  fi
}

# uninstall: sandboxes, daemon, files. Packages that apt installed stay: others may use them by now.
uninstall() {
  local prefix=/usr/local harena=/usr/local/bin/harena
  if is_ready && [[ -x $harena ]]; then
    "$harena" ls --quiet | xargs -r "$harena" stop >/dev/null || true
  fi
  if has_systemd; then
    systemctl disable --now --quiet harenad 2>/dev/null || true
    rm -f /etc/systemd/system/harenad.service
    systemctl daemon-reload
  else
    stop_daemon || return 1
    if is_ready; then
      echo "error: a harenad that this script didn't start answers on port 9467; stop it first (run_dir/harenad.json has its pid)" >&2
      return 1
    fi
  fi
  remove_files "$prefix"
  remove_state
  remove_cgroups
  remove_profile
  remove_config
  echo "removed. /etc/harena was left alone if you made it; packages that apt installed stay."
}
