# SPDX-License-Identifier: GPL-2.0
"""The overlay: applied twice it is applied once, and it can be taken out."""

import tempfile
import unittest
from pathlib import Path

import overlay

_LIST = """
copy = ["drivers"]

[[insert]]
file = "drivers/Makefile"
after = "obj-y += one/"
text = "obj-y += two/\\n"

[[insert]]
file = "lib.rs"
before = "mod b;"
from = "Lines"
"""


class OverlayTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.repo, self.tree = Path(directory.name) / "repo", Path(directory.name) / "tree"
        self.write(self.repo / "scripts/overlay.toml", _LIST)
        self.write(self.repo / "drivers/two/two.rs", "// two\n")
        self.write(self.repo / "Lines", "mod a;\n")
        self.write(self.tree / "drivers/Makefile", "obj-y += one/\nobj-y += three/\n")
        self.write(self.tree / "lib.rs", "mod b;\n")
        self.plain = self.contents()

    def write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def contents(self) -> dict[str, str]:
        paths = (path for path in self.tree.rglob("*") if path.is_file())
        return {str(path.relative_to(self.tree)): path.read_text() for path in paths}

    def test_copies_and_inserts(self):
        self.assertEqual(overlay.apply(self.tree, self.repo), 3)
        contents = self.contents()
        self.assertEqual(contents["drivers/two/two.rs"], "// two\n")
        self.assertEqual(contents["drivers/Makefile"], "obj-y += one/\nobj-y += two/\nobj-y += three/\n")
        self.assertEqual(contents["lib.rs"], "mod a;\nmod b;\n")

    def test_second_time_changes_nothing(self):
        overlay.apply(self.tree, self.repo)
        before = self.contents()
        self.assertEqual(overlay.apply(self.tree, self.repo), 0)
        self.assertEqual(self.contents(), before)

    def test_change_replaces_the_old_insertion(self):
        overlay.apply(self.tree, self.repo)
        self.write(self.repo / "Lines", "mod a2;\n")
        self.assertEqual(overlay.apply(self.tree, self.repo), 1)
        self.assertEqual(self.contents()["lib.rs"], "mod a2;\nmod b;\n")

    def test_removed_file_vanishes(self):
        overlay.apply(self.tree, self.repo)
        (self.repo / "drivers/two/two.rs").unlink()
        overlay.apply(self.tree, self.repo)
        self.assertFalse((self.tree / "drivers/two").exists())

    def test_remove_restores_the_tree(self):
        overlay.apply(self.tree, self.repo)
        overlay.remove(self.tree, self.repo)
        self.assertEqual(self.contents(), self.plain)

    def test_missing_anchor_names_file_and_line(self):
        self.write(self.tree / "lib.rs", "mod c;\n")
        with self.assertRaisesRegex(overlay.OverlayError, r"lib\.rs.*'mod b;'.*found 0"):
            overlay.apply(self.tree, self.repo)
        self.assertFalse((self.tree / "drivers/two").exists())

    def test_file_of_the_kernel_is_not_overwritten(self):
        self.write(self.tree / "drivers/two/two.rs", "// the kernel's\n")
        with self.assertRaisesRegex(overlay.OverlayError, r"drivers/two/two\.rs"):
            overlay.apply(self.tree, self.repo)
