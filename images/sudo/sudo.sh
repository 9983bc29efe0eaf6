#!/bin/sh
# In place of sudo: no process in a sandbox can gain privileges (no_new_privs), so sudo itself could only fail, in words that help nobody.
# Root's scripts that call it work; to everybody else it says what is right.
if [ "$(id -u)" != 0 ]; then
  echo "sudo: no process in this sandbox can become root; run the command as the user root instead (user=\"root\" in E2B's commands.run)" >&2
  exit 1
fi
while :; do
  case ${1-} in
    -E | -H | -n | -S | --preserve-env | --preserve-env=* | --set-home | --non-interactive | --stdin) shift ;;
    -u | --user)
      [ "${2-}" = root ] || { echo "sudo: only -u root is there; run the command as the user '${2-}' instead" >&2; exit 1; }
      shift 2 ;;
    -uroot | --user=root) shift ;;
    --) shift; break ;;
    -v | --validate | -k) exit 0 ;;
    -*) echo "sudo: the option '$1' isn't there; run the command as the user root instead" >&2; exit 1 ;;
    [A-Za-z_]*=*) export "$1"; shift ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || { echo "usage: sudo COMMAND (as root: it is run)" >&2; exit 1; }
exec "$@"
