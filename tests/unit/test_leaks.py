"""The leak check itself: it must see what is left, and only that."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

CASES = {
    "thread": """
        import threading
        stop = threading.Event()
        def test_it():
            threading.Thread(target=stop.wait, name="kawari-lost", daemon=True).start()
        """,
    "process": """
        import subprocess, sys
        def test_it():
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(8)"])
        """,
    "shared memory": """
        from multiprocessing.shared_memory import SharedMemory
        def test_it():
            SharedMemory("kawari-lost", create=True, size=64).close()
        """,
}
CLEAN = """
    import subprocess, sys, threading
    from multiprocessing.shared_memory import SharedMemory
    def test_it():
        thread = threading.Thread(target=print); thread.start()
        subprocess.run([sys.executable, "-c", ""])
        block = SharedMemory(create=True, size=64); block.close(); block.unlink()
        threading.Thread(target=threading.Event().wait, name="a library's", daemon=True).start()
    """
CONFTEST = """
    from tests.leaks import nothing_left_behind
    import tests.leaks
    tests.leaks.PATIENCE_S = 0.5
    """


def outcomes(pytester: pytest.Pytester, code: str) -> pytest.RunResult:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(code)
    # A process of its own, so that what it leaves behind is its own too.
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:qt")


@pytest.fixture(autouse=True)
def importable(
    pytester: pytest.Pytester, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(request.config.rootpath))


@pytest.mark.parametrize("kind", CASES)
def test_what_is_left_behind_is_named(pytester: pytest.Pytester, kind: str) -> None:
    result = outcomes(pytester, CASES[kind])
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*this test left something behind*", f"*{kind}*"])


def test_what_ends_in_time_is_fine(pytester: pytest.Pytester) -> None:
    outcomes(pytester, CLEAN).assert_outcomes(passed=1)
