#!/usr/bin/env bash
# Runs the tests against a real OpenSandbox server on podman: the contract of
# sandboxes, directly and through the server's proxy, and the story with
# `host sandbox init`. `make test-opensandbox` calls it.
#
# All that it makes lies in target/opensandbox and is taken down at the end.
# Where podman cannot run, the tests on recorded exchanges run alone; with
# KEEPSAKE_REQUIRE_OPENSANDBOX=1 that is a failure.
set -euo pipefail
cd "$(dirname "$0")/../.."

CARGO=${CARGO:-cargo}
STATE=$PWD/target/opensandbox
# A socket's path has 108 bytes at the most.
SOCKETS=$(mktemp -d /tmp/keepsake-opensandbox.XXXXXX)
SERVER_PACKAGE=opensandbox-server==1.1.1
PACKAGES=(podman runc conmon netavark aardvark-dns containernetworking-plugins iptables uidmap busybox-static)
EXECD_IMAGE=localhost/keepsake-execd:latest
SANDBOX_IMAGE=localhost/keepsake-sandbox:latest
PIDS=()

say() { echo "== $*" >&2; }

# What needs no server; ends the script's work where there is none.
recorded_only() {
  echo >&2
  echo "**********************************************************************" >&2
  echo "** THE TESTS AGAINST A REAL OPENSANDBOX SERVER DO NOT RUN HERE:" >&2
  echo "** $1" >&2
  echo "** Only the tests on recorded exchanges run." >&2
  echo "**********************************************************************" >&2
  for log in "$STATE"/*.log; do
    [ -f "$log" ] && { echo "-- the end of $log" >&2; tail -n 20 "$log" >&2; }
  done
  if [ "${KEEPSAKE_REQUIRE_OPENSANDBOX:-}" = 1 ]; then
    exit 1
  fi
  "$CARGO" test --release -p keepsake-test-execd -p keepsake-sandbox
  exit 0
}

# Tests that are over leave containers to expire.
no_containers() { podman rm --all --force --time 0 >/dev/null 2>&1; }

clean_up() {
  set +e
  if command -v podman >/dev/null 2>&1 && [ -f "$STATE/storage.conf" ]; then
    no_containers
  fi
  for pid in "${PIDS[@]}"; do kill "$pid" 2>/dev/null; done
  wait 2>/dev/null
  rm -rf "$SOCKETS"
}
trap clean_up EXIT

mkdir -p "$STATE"
rm -f "$STATE"/*.log

[ "$(id -u)" = 0 ] || recorded_only "podman is set up here for root only"

missing=()
for package in "${PACKAGES[@]}"; do
  dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
if [ "${#missing[@]}" -gt 0 ]; then
  say "installing ${missing[*]}"
  command -v apt-get >/dev/null 2>&1 || recorded_only "there is no apt-get to install ${missing[*]} with"
  { apt-get update -qq && apt-get install -y -qq "${missing[@]}"; } >"$STATE/apt.log" 2>&1 \
    || recorded_only "${missing[*]} cannot be installed"
fi

if [ ! -x "$STATE/venv/bin/opensandbox-server" ]; then
  say "installing $SERVER_PACKAGE"
  { python3 -m venv "$STATE/venv" \
    && "$STATE/venv/bin/pip" install --quiet --disable-pip-version-check "$SERVER_PACKAGE"; } \
    >"$STATE/pip.log" 2>&1 || recorded_only "$SERVER_PACKAGE cannot be installed"
fi

# crun refuses some layouts of cgroups, and there is no systemd to ask.
cat >"$STATE/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=32768:32768"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
CONF
cat >"$STATE/storage.conf" <<CONF
[storage]
driver = "${KEEPSAKE_TEST_STORAGE_DRIVER:-vfs}"
graphroot = "$STATE/containers"
runroot = "$SOCKETS/run"
CONF
export CONTAINERS_CONF=$STATE/containers.conf CONTAINERS_STORAGE_CONF=$STATE/storage.conf

say "building the stand-in for execd"
TARGET=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS='-C target-feature=+crt-static' CARGO_INCREMENTAL=0 "$CARGO" build --release --quiet \
  -p keepsake-test-execd --target "$TARGET" --target-dir "$STATE/build"

say "making the images"
rm -rf "$STATE/execd-image" "$STATE/sandbox-image"
mkdir -p "$STATE/execd-image/bin" "$STATE"/sandbox-image/{bin,tmp,etc,root,usr/bin,work}
cp "$STATE/build/$TARGET/release/execd" "$STATE/execd-image/execd"
cat >"$STATE/execd-image/bootstrap.sh" <<'BOOT'
#!/bin/sh
/opt/opensandbox/execd &
exec "$@"
BOOT
chmod 755 "$STATE/execd-image/bootstrap.sh"
cp "$(command -v busybox)" "$STATE/execd-image/bin/tail"
cp "$(command -v busybox)" "$STATE/sandbox-image/bin/busybox"
for applet in $("$STATE/sandbox-image/bin/busybox" --list); do
  [ "$applet" = busybox ] || ln -sf busybox "$STATE/sandbox-image/bin/$applet"
done
chmod 1777 "$STATE/sandbox-image/tmp"
echo 'root:x:0:0:root:/root:/bin/sh' >"$STATE/sandbox-image/etc/passwd"
echo 'root:x:0:' >"$STATE/sandbox-image/etc/group"
import() { tar -C "$1" -c . | podman import - "$2" >>"$STATE/podman.log" 2>&1; }
{ import "$STATE/execd-image" "$EXECD_IMAGE" && import "$STATE/sandbox-image" "$SANDBOX_IMAGE"; } \
  || recorded_only "podman cannot make images"
podman run --rm --network none "$SANDBOX_IMAGE" true >>"$STATE/podman.log" 2>&1 \
  || recorded_only "podman cannot run a container on this machine"

say "starting the server"
podman system service --time=0 "unix://$SOCKETS/podman.sock" >>"$STATE/podman.log" 2>&1 &
PIDS+=($!)
KEY=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
PORT=$(free_port)
cat >"$STATE/server.toml" <<CONF
[server]
host = "127.0.0.1"
port = $PORT
api_key = "$KEY"
[runtime]
type = "docker"
execd_image = "$EXECD_IMAGE"
[store]
type = "sqlite"
path = "$SOCKETS/server.db"
[docker]
network_mode = "bridge"
publish_host = "127.0.0.1"
port_range_min = 40000
port_range_max = 60000
[ingress]
mode = "direct"
CONF
HOME=$SOCKETS DOCKER_HOST=unix://$SOCKETS/podman.sock NO_COLOR=1 \
  "$STATE/venv/bin/opensandbox-server" --config "$STATE/server.toml" >"$STATE/server.log" 2>&1 &
PIDS+=($!)
healthy() { python3 -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$PORT/health', timeout=2)" 2>/dev/null; }
for _ in $(seq 100); do
  healthy && break
  sleep 0.3
done
healthy || recorded_only "the server does not answer"

export KEEPSAKE_TEST_OPENSANDBOX_URL=http://127.0.0.1:$PORT
export KEEPSAKE_TEST_OPENSANDBOX_KEY=$KEY
export KEEPSAKE_TEST_OPENSANDBOX_IMAGE=$SANDBOX_IMAGE
export KEEPSAKE_TEST_OPENSANDBOX_EXECD_IMAGE=$EXECD_IMAGE
# podman takes amiss what is done to several containers at once: it tells of ones
# that are being deleted, and breaks off copies.
export RUST_TEST_THREADS=1

# The whole workspace is named, so that what `make test` built fits here too.
run_test() {
  "$CARGO" test --release --workspace --features "$1/real-opensandbox" --test "$2"
}

say "the contract of sandboxes, with their own addresses"
run_test keepsake-sandbox contract_opensandbox
say "the contract of sandboxes, through the server"
KEEPSAKE_TEST_OPENSANDBOX_PROXY=1 run_test keepsake-sandbox contract_opensandbox
no_containers
say "the story, from host sandbox init to down"
PATH=$STATE/venv/bin:$PATH run_test keepsake-host opensandbox
