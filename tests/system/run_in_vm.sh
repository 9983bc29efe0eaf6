#!/bin/bash
# Runs one command in a fresh test VM with the current build: tests/system/run_in_vm.sh [--limit S] [--bare] [--disk FILE] 'COMMAND'
# Its output and exit status are the command's; 77 with a sentence where there can be no VM. --help says the rest.
exec /usr/bin/python3 -B "$(dirname "$0")/machine.py" "$@"
