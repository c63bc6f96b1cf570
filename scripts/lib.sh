# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Shared by the host-side scripts: where things are, and how to give up.

set -euo pipefail

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${PVRDMA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vmw_pvrdma_rust}

# die MESSAGE: one line and exit status 2, for anything the user has to put right.
die() {
	echo "error: $*" >&2
	exit 2
}

# need_space MIB WHAT: stop early when the cache's file system is too full.
need_space() {
	local free
	mkdir -p "$CACHE"
	free=$(df --output=avail -m "$CACHE" | tail -n 1)
	[ "$free" -ge "$1" ] ||
		die "$2 needs $1 MiB of free disk space in $CACHE, $((free)) MiB are left (set PVRDMA_CACHE to another place)"
}
