# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Shared by the guest's tests: source it first.

set -euo pipefail

# The adapter, and the driver's directory in sysfs.
ADAPTER=0000:00:10.1
PCI_DRIVER=/sys/bus/pci/drivers/vmw_pvrdma

fail() {
	echo "FAILED: $*"
	exit 1
}

skip() {
	echo "$*"
	exit 4
}

# wait_for SECONDS CMD...: polls until CMD succeeds.
wait_for() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $deadline ] || fail "still not true after the time allowed: $*"
		sleep 0.1
	done
}

# same WHAT EXPECTED FOUND
same() {
	[ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'"
}

# Name of the adapter's RDMA device; empty when there is none.
rdma_device() {
	ls "/sys/bus/pci/devices/$ADAPTER/infiniband" 2>/dev/null
}

# Contents of an attribute of the RDMA device.
attribute() {
	cat "/sys/class/infiniband/$(rdma_device)/$1"
}

port_is_active() {
	[ "$(attribute ports/1/state 2>/dev/null)" = "4: ACTIVE" ]
}

# The address 192.168.77.GUEST has become a GID.
has_ip_gid() {
	grep -qs "0000:ffff:c0a8:4d" "/sys/class/infiniband/$(rdma_device)/ports/1/gids/"*
}

load_driver() {
	modprobe "$DRIVER"
	wait_for 10 port_is_active
	wait_for 10 has_ip_gid
}

unload_driver() {
	modprobe -r "$DRIVER"
	[ -z "$(rdma_device)" ] || fail "the RDMA device is still there"
}

# Index of the GID that belongs to the guest's IPv4 address.
ip_gid_index() {
	local file
	file=$(grep -ls "0000:ffff:c0a8:4d" "/sys/class/infiniband/$(rdma_device)/ports/1/gids/"* | head -n 1)
	basename "$file"
}

# loopback PROGRAM OPTION...: runs both ends of an rdma-core or perftest program in this guest.
# Their output is in $server_log and $client_log.
loopback() {
	server_log=$(mktemp) client_log=$(mktemp)
	"$@" >"$server_log" 2>&1 &
	local server=$!
	wait_for 10 listening
	"$@" localhost >"$client_log" 2>&1 || {
		cat "$server_log" "$client_log"
		fail "client of $1"
	}
	wait $server || {
		cat "$server_log" "$client_log"
		fail "server of $1"
	}
}

# Something waits for a TCP connection at the port that ping-pong and perftest use.
listening() {
	[ -n "$(ss -Hltn '( sport = :18515 )')" ]
}
