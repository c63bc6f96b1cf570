# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For tests with a server and a client: source it after lib.sh.
#
# In a single guest both run in it.  In two guests, which run the same test at the same time, the
# server runs in guest 1 and the client in guest 2.

# Address of the guest in which the server runs.
SERVER=192.168.77.1

server_log=/tmp/server.log
client_log=/tmp/client.log
server_pid=

alone() {
	[ "$GUEST" = 1 ] && [ "$PEER" = $SERVER ]
}

# serve COMMAND...: starts the server; its output is in $server_log.
serve() {
	rm -f $server_log $client_log
	[ "$GUEST" = 1 ] || return 0
	"$@" >$server_log 2>&1 &
	server_pid=$!
}

# ask READY COMMAND...: runs the client as soon as READY, a command where the server is, succeeds;
# then waits for the end of the server.  The client's output is in $client_log.
ask() {
	local ready=$1
	shift
	[ -z "$server_pid" ] || wait_for 20 "$ready"
	alone || meet
	if alone || [ -z "$server_pid" ]; then
		"$@" >$client_log 2>&1 || complain "exit status $? of the client, $*"
	fi
	if [ -n "$server_pid" ]; then
		wait "$server_pid" || complain "exit status $? of the server of $*"
		server_pid=
	fi
}

# meet: returns in both guests when both have called it.
meet() {
	if [ "$GUEST" = 1 ]; then
		busybox nc -l -p 7777 </dev/null
	else
		wait_for 30 met
	fi
}

met() {
	(exec 3<>/dev/tcp/$SERVER/7777) 2>/dev/null
}

# complain WHAT: shows what both ends said, and fails.
complain() {
	tail -n 30 $server_log $client_log 2>/dev/null
	fail "$1"
}

# Somebody waits at the TCP port of ping-pong and perftest.
tcp_ready() {
	[ -n "$(ss -Hltn '( sport = :18515 )')" ]
}

# Somebody waits for connections of the RDMA connection manager.
cm_ready() {
	rdma resource show cm_id | grep -q "state LISTEN"
}
