import os
from pathlib import Path

import pytest

from bineval.errors import ConfigError
from bineval.io.files import replacing


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    with replacing(tmp_path / "new") as binary:
        binary.write(b"x")
    (tmp_path / "usual").write_bytes(b"x")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "private"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with replacing(path) as binary:
        binary.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    with replacing(tmp_path / "link") as binary:
        binary.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_a_device_is_written_and_not_replaced() -> None:
    with replacing(Path(os.devnull)) as binary:
        binary.write(b"x")
    assert not Path(os.devnull).is_file()


def test_a_folder_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Is a directory"), replacing(tmp_path):
        pass
