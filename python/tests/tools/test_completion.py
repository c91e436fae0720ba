"""What shells complete and what the manual says: all that the parsers take, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fresh
from gofast._command import completion, main, man, run

FOUND = [*completion.commands(main.parser())]


def completed(*words: str) -> list[str]:
    """What bash offers for the last word."""
    script = completion.shell(completion._BASH, FOUND)
    line = " ".join(f"'{word}'" for word in ("gofast", *words))
    asked = f"COMP_WORDS=({line}); COMP_CWORD={len(words)}; _gofast; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-uc", f"{script}\n{asked}"], capture_output=True, text=True, check=True)
    assert not done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ([""], main.NAMES),
        (["co"], ["convert", "completion"]),
        (["--v"], ["--version"]),
        (["cache", ""], ["list", "info", "verify", "clear"]),
        (["cache", "clear", "--y"], ["--yes"]),
        (["completion", ""], ["bash", "fish", "zsh"]),
        (["convert", "--header", ""], ["auto", "yes", "no"]),
        (["convert", "--header", "=", "y"], ["yes"]),  # as bash splits --header=y
        (["convert", "--header", "="], ["auto", "yes", "no"]),
        (["convert", "a.csv", "--label-type", "t"], ["text"]),
        (["convert", "--threads", ""], []),  # a value that nobody knows: files
        (["verify", ""], []),
        (["run", "--cache", ""], ["memory"]),
        (["run", "--cache-"], ["--cache-limit"]),
    ],
)
def test_bash_completes(words: list[str], offered: list[str]) -> None:
    assert completed(*words) == offered


def test_every_option_of_every_command_is_completed_and_in_the_manual() -> None:
    page = "\n".join(man.page(main.parser()))
    fish = completion.fish(FOUND)
    assert [one.path for one in FOUND if one.path and " " not in one.path] == main.NAMES
    for one in FOUND:
        offered = completed(*one.path.split(), "-")
        assert offered == [*one.options] and "--help" in offered
        for name in offered:
            assert name.replace("-", "\\-") in page
            assert (
                f"'__gofast_at {one.path}' -{'l' * name.startswith('--') or 's'} {name.lstrip('-')}" in fish
            )
        for word in one.words:
            assert f"'__gofast_at {one.path}' -f -a {word}" in fish
        assert f".SS gofast {one.path}" in page or not one.path


def test_the_manual_is_a_page(tmp_path: Path) -> None:
    if shutil.which("groff") is None:
        pytest.skip("no groff here")
    page = "\n".join(man.page(main.parser())) + "\n"
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True, check=True
    )
    assert not done.stderr and "gofast verify photos/ --json | jq -r '.damaged[].path'" in done.stdout


def test_run_and_python_m_gofast_say_the_same_of_options(capsys: pytest.CaptureFixture[str]) -> None:
    helps = []
    for words, parse in (
        (["run", "--help"], main.main),
        (["--help"], run.alone("python -m gofast").parse_args),
    ):
        with pytest.raises(SystemExit):
            parse(words)
        helps.append(capsys.readouterr().out)
    for said in helps:
        assert all(f"{name} {value}" in said for name, value in run.OPTIONS.items())
        assert "-m MODULE" in said and "--version" in said


@pytest.mark.parametrize(
    ("words", "given", "rest"),
    [
        (
            ["--cache-limit", "1GB", "--cache", "memory", "t.py", "--cache", "x"],
            "memory 1GB",
            "t.py --cache x",
        ),
        (["--cache=kept", "-m", "package"], "kept", "-m package"),
        (["t.py"], "", "t.py"),
        (["-c", "pass"], "", "-c pass"),
    ],
)
def test_options_stand_before_the_script(words: list[str], given: str, rest: str) -> None:
    said, left = run.options(words)
    assert [said[name] for name in run.OPTIONS if name in said] == given.split() and left == rest.split()


@pytest.mark.parametrize("words", [["--cache"], ["--chache", "memory", "t.py"], [], ["-m"]])
def test_wrong_words_before_the_script(words: list[str]) -> None:
    done = fresh.run(["-m", "gofast", *words])
    assert done.returncode == 2 and "--cache memory|FOLDER" in done.stderr and not done.stdout


def test_python_m_gofast_says_its_version() -> None:
    done = subprocess.run([sys.executable, "-m", "gofast", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("gofast ")
