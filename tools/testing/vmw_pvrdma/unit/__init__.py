# SPDX-License-Identifier: GPL-2.0
"""Unit tests of the harness and of the overlay."""
