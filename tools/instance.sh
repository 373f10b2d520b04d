# shellcheck shell=bash
# What tools/up and tools/down have in common: where an instance stands and how
# its processes are found. Sourced with STATE set.
#
#   $STATE/cellpost.conf   its configuration, written once, then yours
#         /instance        what `up` chose: address, port, run directory
#         /started.conf    the configuration as it was then; `down` goes by it
#         /lib             registry and tasks
#         /run             sockets (a link to a short path where needed)
#         /log /pid /nginx /www /bin

PATH=$PATH:/usr/sbin:/sbin

# <run>/kernels/<36 characters>/ipc-5 must fit into a socket's address, which
# takes 107 bytes (unix(7)).
run_path_limit=56

say() { printf '%s\n' "$*"; }
die() {
  printf 'cellpost: %s\n' "$*" >&2
  exit 1
}

# Sets STATE (absolute), CONF, STARTED_CONF, LOG, PIDS and RUN.
# shellcheck disable=SC2034
open_instance() {
  STATE=$(realpath -m -- "$STATE")
  case $STATE in
    / | *[!A-Za-z0-9._/@+,:=\ -]*)
      die "STATE=$STATE: a directory, please, whose path has only letters, digits, spaces and . _ / @ + , : = -" ;;
  esac
  CONF=$STATE/cellpost.conf STARTED_CONF=$STATE/started.conf LOG=$STATE/log PIDS=$STATE/pid
  RUN=$STATE/run
  if [ "${#RUN}" -gt "$run_path_limit" ]; then
    local base=/run
    [ "$(id -u)" -eq 0 ] || base=${XDG_RUNTIME_DIR:-/tmp}
    RUN=$base/cellpost-$(printf '%s' "$STATE" | sha256sum | cut -c 1-12)
    [ "${#RUN}" -le "$run_path_limit" ] || die "$RUN is too long for sockets; set XDG_RUNTIME_DIR to a shorter path"
  fi
}

# One value that `up` noted: noted port
noted() { sed -n "s/^$1=//p" "$STATE/instance" 2>/dev/null || true; }

# The process of a pid file, if it is this instance's: pid_of app
pid_of() {
  local pid
  pid=$(cat "$PIDS/$1.pid" 2>/dev/null) || return 1
  [ -n "$pid" ] && tr '\0' ' ' 2>/dev/null < "/proc/$pid/cmdline" | grep -qF -- "$STATE/" || return 1
  printf '%s' "$pid"
}

# Waits until a command succeeds: wait_until SECONDS COMMAND...
wait_until() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 0.05
  done
}

# A zombie, which waits for a lazy parent, is gone, too (proc(5): state Z), but
# not while threads of it still end: they hold its sockets.
is_gone() { ! grep -qs $'^State:\t[^ZX]' "/proc/$1/status" && [ -z "$(other_thread "$1")" ]; }
other_thread() { find "/proc/$1/task" -mindepth 1 -maxdepth 1 ! -name "$1" -print -quit 2>/dev/null; }

# Ends one process: TERM, a second TERM, KILL: stop_process NAME SECONDS
stop_process() {
  local pid
  pid=$(pid_of "$1") || { rm -f "$PIDS/$1.pid"; return 0; }
  kill -TERM "$pid" 2>/dev/null || true
  if ! wait_until "$2" is_gone "$pid"; then
    kill -TERM "$pid" 2>/dev/null || true
    if ! wait_until 5 is_gone "$pid"; then
      say "cellpost: $1 ($pid) does not end; it is killed" >&2
      kill -KILL "$pid" 2>/dev/null || true
      wait_until 5 is_gone "$pid" || true
    fi
  fi
  rm -f "$PIDS/$1.pid"
}

# Ends the web server, which sends what it is sending first, to slow clients for
# so many seconds.
stop_server() {
  local pid
  pid=$(pid_of nginx) || true
  if [ -n "$pid" ]; then
    kill -QUIT "$pid" 2>/dev/null || true
    wait_until "$1" is_gone "$pid" || true
  fi
  stop_process nginx 5
}

# Logs tell code and addresses: only their owner reads them, and the group that
# Debian has for that.
shut_logs() {
  local file group=
  [ "$(id -u)" -ne 0 ] || group=$(getent group adm | cut -d : -f 1)
  mkdir -p "$LOG"
  for file in "$LOG" "$LOG"/{app,keeper,nginx-access,nginx-error}.log; do
    [ -e "$file" ] || (umask 077; : > "$file")
    [ -z "$group" ] || chgrp "$group" "$file"
  done
  chmod 640 "$LOG"/*.log
  chmod 751 "$LOG"
}

show_logs() {
  local file
  for file in "$LOG"/*.log; do
    [ -s "$file" ] || continue
    printf '==> %s\n' "$file" >&2
    tail -n 12 -- "$file" >&2
  done
}
