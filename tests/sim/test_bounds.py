#!/usr/bin/env python3
"""test_bounds.py SIMULATE: docs/how-it-works.md has the table of bounds that the simulator computes."""
import pathlib
import subprocess
import sys
import unittest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/how-it-works.md"
SIMULATE = sys.argv.pop(1)


class Bounds(unittest.TestCase):
    def test_page_has_the_table_of_the_simulator(self):
        table = subprocess.run([SIMULATE, "--bounds"], capture_output=True, text=True, check=True).stdout
        self.assertGreater(table.count("\n"), 8)
        self.assertIn(table, PAGE.read_text(), "write the output of simulate --bounds into the page")


unittest.main()
