"""What stands around a release: the notices, the bill of materials, the version, the flags of the build."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tarfile
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest
from pybind.release import __main__ as release
from pybind.release import linked, notices, sbom, version

import gofast

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def modules() -> list[linked.Module]:
    return linked.modules()


def test_notices_name_what_is_linked_in(modules: list[linked.Module]) -> None:
    assert notices.FILE.read_text() == notices.notices(modules), "run `make notices`"


def test_a_new_module_makes_the_notices_stale(modules: list[linked.Module]) -> None:
    another = linked.Module("example.org/new", "v1.0.0", {ROOT / "LICENSE"})
    assert "example.org/new v1.0.0" in notices.notices([*modules, another]) != notices.FILE.read_text()


def test_tools_and_benchmarks_are_not_linked_in(modules: list[linked.Module]) -> None:
    """The extension has what decodes Parquet; plots, statistics and linters of go.mod are not in it."""
    names = {module.path for module in modules}
    assert "github.com/parquet-go/parquet-go" in names
    assert not [name for name in names if re.search("gonum|honnef|spf13|x/tools", name)]


def test_the_bill_names_each_module_with_its_licence(modules: list[linked.Module]) -> None:
    bill = json.loads(json.dumps(sbom.bill(modules)))
    parts = {part["bom-ref"]: part for part in bill["components"]}
    assert len(parts) == len(bill["components"]) and set(bill["dependencies"][0]["dependsOn"]) == parts.keys()
    assert bill["metadata"]["component"]["version"] == gofast.__version__
    for module in modules:
        path = "std" if module.version.startswith("go") else module.path
        (part,) = (part for part in parts.values() if part["name"] == path)
        assert part["licenses"], path
    assert {"pkg:pypi/torch", "pkg:pypi/numpy", "pkg:pypi/pillow"} <= parts.keys()


def test_an_unknown_licence_ends_the_bill(tmp_path: Path) -> None:
    (tmp_path / "LICENSE").write_text("You may look, but not touch.")
    with pytest.raises(SystemExit, match=r"example.org/odd: what licence is this\?"):
        sbom.licences(linked.Module("example.org/odd", "v1.0.0", {tmp_path / "LICENSE"}))


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Message:
    """What an index is told, which is the same in a wheel and in an sdist."""
    folder = tmp_path_factory.mktemp("metadata")
    command = [sys.executable, "setup.py", "-q", "dist_info", "--output-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (made,) = folder.glob("*.dist-info/METADATA")
    return message_from_string(made.read_text(encoding="utf-8"))


def test_an_index_shows_readme_with_links_that_lead_somewhere(metadata: Message) -> None:
    assert metadata["Description-Content-Type"] == "text/markdown"
    text, own = str(metadata.get_payload()), (ROOT / "README.md").read_text(encoding="utf-8")
    place = rf"gofast-org/gofast/(?:blob/)?v{re.escape(gofast.__version__)}/"
    links = r"\]\(([^)]*)\)"
    assert len(re.findall(links, own)) == len(re.findall(links, text)) > 10
    for link in re.findall(links, text):
        assert link.startswith(("https://", "#")), link
        if found := re.search(place + "(.*)", link):
            assert (ROOT / found[1].partition("#")[0]).exists(), link
    pictures = re.findall(r"!\[[^]]*\]\(([^)]*)\)", text)
    hosts = ("https://raw.githubusercontent.com/", "https://github.com/gofast-org/gofast/actions/")
    assert pictures and all(link.startswith(hosts) for link in pictures)
    # Nothing else differs.
    assert re.sub(rf"https://(?:raw\.githubusercontent|github)\.com/{place}", "", text).strip() == own.strip()


def test_an_index_links_to_the_project(metadata: Message) -> None:
    urls = dict(url.split(", ") for url in metadata.get_all("Project-URL", []))
    assert urls.keys() == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert all(url.startswith("https://") for url in urls.values())
    assert f"site_url: {urls['Documentation']}\n" in (ROOT / "mkdocs.yml").read_text()


def test_one_version() -> None:
    assert version.version() == gofast.__version__


def test_a_tag_needs_the_version_and_a_section(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "gofast").mkdir()
    (tmp_path / "gofast" / "doc.go").write_text('const Version = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n")
    monkeypatch.setattr(version, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match=r"doc\.go says 1\.2\.3"):
        version.notes("v1.2.4")
    with pytest.raises(SystemExit, match="no section"):
        version.notes("v1.2.3")
    sections = "## 1.2.3 - 2026-12-01\n\n- new\n\n## 1.2.2 - 2026-11-01\n\n- old\n"
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## Unreleased\n\n{sections}")
    assert version.notes("v1.2.3") == "- new"


def test_the_sources_can_be_released() -> None:
    assert version.notes(f"v{version.version()}")
    cited = (ROOT / "CITATION.cff").read_text()
    date = re.search(r"^date-released: (.*)$", cited, re.MULTILINE)
    assert date and f"\n## {version.version()} - {date[1]}\n" in (ROOT / "CHANGELOG.md").read_text()
    assert f"\nversion: {version.version()}\n" in cited


def test_an_sdist_tells_nothing_of_who_made_it_and_when(tmp_path: Path) -> None:
    made = []
    for name, names, time, owner in (("a", ["x/1", "x/2"], 1.5, 0), ("b", ["x/2", "x/1"], 2e9, 1000)):
        path = tmp_path / name / "gofast.tar.gz"
        path.parent.mkdir()
        with tarfile.open(path, "w:gz") as archive:
            for each in names:
                member = tarfile.TarInfo(each)
                member.size, member.mtime, member.uid, member.uname = len(each), time, owner, name
                member.mode = 0o600 + owner % 7
                archive.addfile(member, io.BytesIO(each.encode()))
        release.settle(path, 1_000_000_000)
        made.append(path.read_bytes())
    assert made[0] == made[1]
    with tarfile.open(path) as archive:
        assert archive.getnames() == ["x/1", "x/2"]
        assert archive.extractfile("x/2").read() == b"x/2"  # type: ignore[union-attr]


def test_the_notices_are_of_the_packages_that_are_built() -> None:
    builder = (ROOT / "pybind" / "build_native.py").read_text()
    assert f'"-tags={linked.TAGS}"' in builder


def test_the_library_needs_no_new_glibc() -> None:
    """torch's wheels need 2.28; auditwheel checks the same when a release is made."""
    library = ROOT / "python" / "gofast" / "_native.abi3.so"
    done = subprocess.run(["objdump", "-T", str(library)], check=True, capture_output=True, text=True)
    needed = {tuple(map(int, found)) for found in re.findall(r"\(GLIBC_(\d+)\.(\d+)[.\d]*\)", done.stdout)}
    assert needed and max(needed) <= (2, 28), f"add what is newer to pybind/old_glibc.h: {max(needed)}"


def test_workflows_call_make_and_nothing_else() -> None:
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        text = path.read_text()
        targets = re.findall(r"^\s*- run: (.*)$", text, re.MULTILINE)
        assert all(re.fullmatch(r"make [a-z0-9-]+( [A-Z_]+=\S.*)?", target) for target in targets), path.name
        assert re.search(r"^permissions:\n  contents: read$", text, re.MULTILINE), path.name
        uses = re.findall(r"uses: (.*)", text)  # by commit: a tag may be moved
        assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use) for use in uses), path.name


def test_release_says_what_it_cannot_build() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from pybind.release.__main__ import cross; cross('sparc')"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1 and "gofast is not built for sparc" in done.stderr
