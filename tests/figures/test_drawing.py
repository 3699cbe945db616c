import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bineval.errors import ConfigError, MissingDependencyError
from bineval.figures import Distribution, Drawing, violins
from bineval.figures.drawing import shared_style

ODD = "a & <b> $x^2$ ]]> \"c\" '_d' -- 漢字 \x07 \u202e نظام"


def drawing(name: str = "people") -> Drawing:
    values = [i / 20 for i in range(20)]
    return violins([Distribution(name=name, dimension="$\\alpha$ _flu", values=values)])


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("suffix", [".svg", ".png", ".PNG"])
def test_the_same_data_give_the_same_bytes_in_any_process(suffix: str, tmp_path: Path) -> None:
    first, second, third = (tmp_path / f"{name}{suffix}" for name in "abc")
    made = drawing()
    made.save(first)
    made.save(second)
    script = (
        "import matplotlib\n"
        "matplotlib.rcParams.update({'font.size': 30, 'savefig.dpi': 40, 'text.usetex': True})\n"
        "from bineval.figures import Distribution, violins\n"
        "values = [i / 20 for i in range(20)]\n"
        "one = Distribution(name='people', dimension='$\\\\alpha$ _flu', values=values)\n"
        f"violins([one]).save({str(third)!r})\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True, timeout=60)
    assert first.read_bytes() == second.read_bytes() == third.read_bytes()


def test_a_png_is_a_png_and_an_svg_has_no_date(tmp_path: Path) -> None:
    drawing().save(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    drawing().save(tmp_path / "a.svg")
    written = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert written.startswith("<?xml")
    assert "dc:date" not in written


def test_any_other_suffix_and_an_unwritable_file_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"written as \.svg or \.png, not as '\.pdf'"):
        drawing().save(tmp_path / "a.pdf")
    with pytest.raises(ConfigError, match="cannot be written"):
        drawing().save(tmp_path / "no-such-folder" / "a.svg")


def test_names_are_shown_as_text_and_never_as_formulas_or_markup() -> None:
    found = texts(drawing(ODD).svg())
    assert "$\\alpha$ _flu" in found
    assert any(text.startswith("a & <b> $x^2$") and "…" in text for text in found)
    assert not any("\x07" in text or "\u202e" in text for text in found)


def test_characters_that_no_font_has_are_drawn_without_a_warning(tmp_path: Path) -> None:
    drawing("漢字 \U0001fa7a").save(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_an_element_for_a_page_brings_neither_ids_of_groups_nor_a_style_sheet() -> None:
    svg = drawing('<script>"').svg()
    root = ElementTree.fromstring(svg)
    assert svg.startswith("<svg ")
    assert root.get("role") == "img"
    assert '<script>"' in (root.get("aria-label") or "")
    assert not [element for element in root.iter("{http://www.w3.org/2000/svg}g") if element.get("id")]
    assert "<style" not in svg
    assert "<script" not in svg
    assert drawing().svg() == drawing().svg()


def test_a_figure_leaves_nothing_behind_in_matplotlib() -> None:
    script = (
        "import sys, matplotlib\n"
        "before = matplotlib.rcParams.copy()\n"
        "from bineval.figures import Distribution, violins\n"
        "violins([Distribution(name='people', dimension='d', values=[0.1])]).svg()\n"
        "assert matplotlib.rcParams.copy() == before\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True, timeout=60)


def test_matplotlib_is_imported_only_to_draw() -> None:
    script = "import sys, bineval.figures; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'bineval\[figures\]'"), shared_style():
        pass
