# SPDX-License-Identifier: GPL-2.0
"""Reports of the kernel about itself are found, ordinary lines are not."""

import unittest

from harness import kernel_log

_BOOT = "[    0.000000] Linux version 7.3.4\n[    0.1] BIOS-e820: reserved\n[    1.0] vmw_pvrdma: paired\n"


class KernelLogTest(unittest.TestCase):
    def test_quiet_log(self):
        self.assertEqual(kernel_log.trouble(_BOOT), "")

    def test_reports(self):
        for line in (
            "WARNING: CPU: 0 PID: 1 at drivers/x.c:1 f+0x1/0x2",
            "WARNING: possible circular locking dependency detected",
            "BUG: kernel NULL pointer dereference, address: 0000000000000000",
            "Oops: Oops: 0000 [#1] SMP",
            "Kernel panic - not syncing: Fatal exception",
            "INFO: task modprobe:99 blocked for more than 60 seconds.",
            "watchdog: BUG: soft lockup - CPU#0 stuck for 22s!",
            "unregister_netdevice: waiting for eth0 to become free. Usage count = 2",
            "rust_kernel: panicked at drivers/x.rs:1:1:",
            "DMA-API: vmw_pvrdma: device driver has pending DMA allocations",
        ):
            self.assertIn(line, kernel_log.trouble(f"{_BOOT}[    2.0] {line}\n"))
