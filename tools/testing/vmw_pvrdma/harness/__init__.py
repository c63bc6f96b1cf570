# SPDX-License-Identifier: GPL-2.0
"""What the test suites, `make run` and `make shell` share."""
