"""A file is the old one or the new one, complete, and nothing else is left."""

import errno
import multiprocessing
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sklearn_crcrf import HMM
from sklearn_crcrf.utils import replacing as module
from sklearn_crcrf.utils.replacing import check_replaceable, replacing

posix = pytest.mark.skipif(os.name != "posix", reason="needs modes and links of POSIX")


@pytest.fixture(params=["unnamed", "named"], autouse=True)
def with_and_without_unnamed_files(request, monkeypatch):
    if request.param == "named":
        monkeypatch.setattr(module, "_open_unnamed", lambda place: None)
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("this system has no files without names")
    return request.param


def write(path, data):
    with replacing(path) as file:
        file.write(data)


def names(folder):
    return sorted(os.listdir(folder))


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_new_and_replaced(tmp_path):
    for data in (b"", b"old", b"new" * 10**6):
        write(tmp_path / "m", data)
        assert (tmp_path / "m").read_bytes() == data
        assert names(tmp_path) == ["m"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, OSError(28, "full")])
@pytest.mark.parametrize("there", [False, True])
def test_any_error_leaves_all_as_it_was(error, there, tmp_path):
    if there:
        write(tmp_path / "m", b"old")
    before = names(tmp_path)
    with (
        pytest.raises(error if isinstance(error, type) else OSError),
        replacing(tmp_path / "m") as f,
    ):
        f.write(b"new")
        f.flush()
        raise error
    assert names(tmp_path) == before
    assert not there or (tmp_path / "m").read_bytes() == b"old"


@pytest.mark.parametrize("step", ["fsync", "replace", "link", "fchmod"])
def test_a_failure_at_any_step(step, tmp_path, monkeypatch):
    write(tmp_path / "m", b"old")

    def fail(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, step, fail)
    try:
        write(tmp_path / "m", b"new")
    except KeyboardInterrupt:
        assert (tmp_path / "m").read_bytes() == b"old"
    else:  # a file that has a name from the beginning is not given one
        assert step == "link" and (tmp_path / "m").read_bytes() == b"new"
    assert names(tmp_path) == ["m"]


@posix
@pytest.mark.parametrize("there", [0o600, 0o644, 0o640, 0o400])
def test_the_mode_of_what_is_replaced_is_kept(there, tmp_path):
    write(tmp_path / "m", b"old")
    (tmp_path / "m").chmod(there)
    write(tmp_path / "m", b"new")
    assert mode(tmp_path / "m") == there


@posix
def test_new_files_have_the_mode_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "m", b"new")
    finally:
        os.umask(before)
    assert mode(tmp_path / "m") == 0o640


@posix
@pytest.mark.parametrize("there", [False, True])
def test_links_are_followed(there, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    if there:
        write(folder / "m", b"old")
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("folder/m")
    write(tmp_path / "one", b"new")
    assert (folder / "m").read_bytes() == b"new"
    assert os.readlink(tmp_path / "one") == "two" and os.readlink(tmp_path / "two") == "folder/m"
    assert names(folder) == ["m"] and names(tmp_path) == ["folder", "one", "two"]


@posix
def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "folder", "link"):
        for function in (check_replaceable, lambda path: write(path, b"new")):
            with pytest.raises(ValueError, match=f"{name} is not a regular file"):
                function(tmp_path / name)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert names(tmp_path) == ["folder", "link", "pipe"]


def test_folders_that_are_not_there(tmp_path):
    for function in (check_replaceable, lambda path: write(path, b"new")):
        with pytest.raises(FileNotFoundError):
            function(tmp_path / "none" / "m")


@posix
def test_a_loop_of_links(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError) as caught:
        write(tmp_path / "a", b"new")
    assert caught.value.errno == errno.ELOOP


def test_checking_leaves_nothing(tmp_path):
    check_replaceable(tmp_path / "m")
    assert names(tmp_path) == []


def test_names_of_any_length(tmp_path):
    for name in ("m" * 255, "ü" * 127, "[*].(m)"):
        write(tmp_path / name, b"old")
        write(tmp_path / name, b"new")
        assert names(tmp_path) == [name]
        (tmp_path / name).unlink()


def test_threads_that_write_to_one_path(tmp_path):
    contents = [bytes([k]) * 100_000 for k in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda data: write(tmp_path / "m", data), contents * 10))
    assert (tmp_path / "m").read_bytes() in contents
    assert names(tmp_path) == ["m"]


@posix
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
def test_a_process_that_is_killed(with_and_without_unnamed_files, tmp_path):
    write(tmp_path / "m", b"old")

    def be_killed():
        with replacing(tmp_path / "m") as file:
            file.write(b"new")
            file.flush()
            os.kill(os.getpid(), 9)

    process = multiprocessing.get_context("fork").Process(target=be_killed)
    process.start()
    process.join()
    assert process.exitcode == -9
    assert (tmp_path / "m").read_bytes() == b"old"
    others = [name for name in names(tmp_path) if name != "m"]
    assert len(others) == (with_and_without_unnamed_files == "named")


def test_threads_that_save_one_model(tmp_path):
    from sklearn_crcrf.model_files import load_model, save_model

    models = [HMM().fit([["the", "dog"]], [labels]) for labels in (["D", "N"], ["A", "B"])]
    errors = []

    def save(model):
        try:
            for _ in range(5):
                save_model(model, tmp_path / "m")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=save, args=(model,)) for model in models * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert load_model(tmp_path / "m").estimator.classes_.tolist() in (["D", "N"], ["A", "B"])
    assert names(tmp_path) == ["m"]
