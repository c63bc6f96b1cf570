# SPDX-License-Identifier: GPL-2.0
"""The test suites.  A suite is a module here with a function `run(report, options)`."""
