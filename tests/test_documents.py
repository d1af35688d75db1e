"""The Python in the documents runs, block after block, and the files they point to exist.

Fragments that do not stand alone are marked ``py`` instead of ``python``.
"""

import re
from pathlib import Path

import pytest

import treadle.ndarray as nd

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("packages/*/README.md")])

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


@each_document
def test_code_runs(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if document.is_relative_to(ROOT / "packages"):
        pytest.importorskip(
            {"cuda_backend": "treadle.cuda"}.get(document.parent.name, f"treadle.{document.parent.name}")
        )
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in re.findall(r"^```python\n(.*?)^```", document.read_text(), re.MULTILINE | re.DOTALL):
        try:
            exec(compile(block, str(document), "exec"), names)
        except nd.BackendError as error:
            if "no GPU" not in str(error):
                raise
            pytest.skip(str(error))
        except ImportError as error:
            if "treadle-autograd[onnx]" not in str(error):
                raise
            pytest.skip(str(error))


@each_document
def test_nothing_is_left_to_fill_in(document: Path) -> None:
    """A comment in HTML is invisible, and mostly stands for what is missing."""
    assert "<!--" not in document.read_text()


@each_document
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
        assert (document.parent / target).exists(), f"{document.relative_to(ROOT)} points to {target}"
