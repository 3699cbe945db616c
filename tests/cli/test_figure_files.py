from pathlib import Path

import pytest

from bineval.cli.figure_files import write_figures
from bineval.errors import ConfigError
from bineval.figures import SystemMean, systems
from bineval.types import Estimate


def test_figures_whose_names_differ_in_odd_signs_alone_have_files_of_their_own(tmp_path: Path) -> None:
    estimate = Estimate(value=0.5, low=None, high=None, n=1, method="no interval: one output")
    drawing = systems([SystemMean(name=name, system="a", estimate=estimate) for name in ("people", "ours")])
    write_figures({"a b": drawing, "a/b": drawing, "A-b": drawing}, tmp_path / "new" / "folder")
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == [
        "A-b-3.svg",
        "a-b-2.svg",
        "a-b.svg",
    ]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"--figures .*file/figures: cannot be written"):
        write_figures({}, tmp_path / "file" / "figures")
