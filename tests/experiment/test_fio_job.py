"""Job files of fio: those that it ships are translated or refused with words, and what comes out is an experiment."""

import contextlib
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.cli.from_fio import from_fio
from assay.errors import InputErrors, UsageError
from assay.experiment import read
from assay.experiment.fio_job import translated
from stage.rows import each

SHIPPED = sorted(Path("/usr/share/doc/fio/examples").glob("*.fio"))
WITHOUT_FILES = re.compile(r"no counterpart|include is not followed")


TIMES = ((4, "runtime = ${TIME}"), (5, "thinktime = soon"))


def workloads(text, name="job.fio"):
    return tomllib.loads(translated(text, name).text)["workloads"]


def of(*options, rw="randread"):
    (job,) = workloads("\n".join(("[a]", f"rw={rw}", "size=64m", *options))).values()
    return {knob: value for knob, value in job.items() if knob not in ("kind", "operations", "size", "order", "cache")}


USUAL = {"record_size": "4 KiB", "ioengine": "psync"}


@each(
    "options wanted",
    (("bs=64k", "direct=1"), {"record_size": "64 KiB", "direct": True}),
    (("buffered=0",), {"direct": True}),
    (("ioengine=libaio", "iodepth=32"), {"ioengine": "io_uring", "depth": 32}),
    (("ioengine=io_uring", "iodepth=8", "iodepth_batch_complete_min=4"), {"ioengine": "io_uring", "depth": 8, "batch": 4}),
    (("numjobs=4",), {"workers": 4}),
    (("numjobs=4", "thread"), {"workers": 4}),
    (("numjobs=4", "filename=/d/f"), {"workers": 4, "sharing": "one-file"}),
    (("runtime=60", "time_based"), {"duration": "60 s"}),
    (("runtime=5m", "time_based=1"), {"duration": "300 s"}),
    (("number_ios=500",), {"ops": 500}),
    (("io_size=1m",), {"ops": 256}),
    (
        ("rate_iops=100", "numjobs=2", "rate_process=poisson"),
        {"workers": 2, "rate": "200 /s", "arrivals": "poisson", "ops": 16384},
    ),
    (("thinktime=250",), {"think": "250 us"}),
    (("thinktime=2ms",), {"think": "2000 us"}),
    (("buffer_compress_percentage=50", "dedupe_percentage=30"), {"compressible": 2.0, "duplicates": "30 %"}),
    (("zero_buffers",), {"zeros": "100 %"}),
    (("cpus_allowed=0-1,3",), {"cpus": [0, 1, 3]}),
    (("sync=1",), {"sync": "dsync"}),
)
def test_an_option_is_its_knob(options, wanted):
    assert of(*options) == USUAL | wanted


@each(
    "options wanted",
    (("fsync=1",), {"flush": "each", "flush_call": "fsync"}),
    (("fdatasync=8",), {"flush_every": 8, "flush_call": "fdatasync"}),
    (("end_fsync=1",), {"flush": "end"}),
    (("fsync_on_close=1",), {"flush": "end"}),
)
def test_flushes(options, wanted):
    assert of(*options, rw="write") == USUAL | wanted


def test_what_fio_does_by_default_is_written_out():
    (job,) = workloads("[a]\nrw=randread\nsize=1m").values()
    assert (job["order"], job["cache"], job["record_size"]) == ("permutation", "cold", "4 KiB")
    (job,) = workloads("[a]\nrw=randrw\nrwmixwrite=30\nsize=1m\nnorandommap\ninvalidate=0").values()
    assert (job["order"], job["cache"], job["read_share"], job["operations"]) == ("uniform", "unchanged", "70 %", ["random_mix"])
    (job,) = workloads("[a]\nrw=write\nsize=1m").values()
    assert "cache" not in job


def test_global_options_hold_for_the_jobs_below_them_and_comments_are_none():
    text = "; top\n[global]\nbs=8k # eight\nsize=1g\n[a]\nrw=read\n[b]\nrw=write ; last\nbs=1m\n[global]\nbs=2m\n[a]\nrw=read"
    found = workloads(text)
    assert {name: (job["record_size"], job["size"]) for name, job in found.items()} == {
        "a": ("8 KiB", "1 GiB"),
        "b": ("1 MiB", "1 GiB"),
        "a-2": ("2 MiB", "1 GiB"),
    }
    assert "one after the other" in translated(text, "x").text
    assert "one after the other" not in translated("[a]\nrw=read\n[b]\nstonewall\nrw=read", "x").text


def test_what_has_no_counterpart_is_said_with_its_line():
    found = translated(
        "[a]\nrw=randread\nsize=1m\nrandom_distribution=zipf:1.2\nlog_avg_msec=500\niodepth=16\nfilename=/dev/sdb", "j"
    )
    assert found.left_out == (
        "job a, line 7: filename = /dev/sdb: no counterpart: a file below the target takes its place",
        "job a, line 0: iodepth = 16: psync has one request in flight, in fio, too",
        "job a, line 4: random_distribution = zipf:1.2: no counterpart",
    )
    assert all(f"# {one.removeprefix('job a, ')}" in found.text for one in found.left_out)
    assert tomllib.loads(found.text)["targets"]["disk"]["path"] == "scratch", "never a device"


def test_a_number_that_is_written_in_another_way_is_never_lost_in_silence():
    options = ("rate_iops=1000,500", "number_ios=10k", "numjobs=2x", "iodepth=a", "rwmixread=70,80")
    found = translated("\n".join(("[a]", "rw=randrw", "size=1m", *options)), "j")
    noted = [one.partition(", ")[2] for one in found.left_out]
    assert {f"line {at}: {one.replace('=', ' = ')}: expected one whole number" for at, one in enumerate(options, 4)} <= {*noted}
    (job,) = tomllib.loads(found.text)["workloads"].values()
    assert not {"rate", "ops", "workers", "depth"} & job.keys()
    found = translated("[a]\nrw=read\nsize=1m\nruntime=${TIME}\nthinktime=soon", "j")
    assert found.left_out == tuple(f"job a, line {at}: {one}: expected one time: 60, 5m, 250ms" for at, one in TIMES)


def test_a_job_without_counterpart_is_left_out_and_a_file_of_such_jobs_is_refused():
    found = translated("[mixed]\nrw=rw\nsize=1m\n[good]\nrw=read\nsize=1m", "j")
    assert list(tomllib.loads(found.text)["workloads"]) == ["good"]
    assert found.left_out == (
        "job mixed, line 2: rw = rw: no counterpart; random_mix (randrw) is the mix that Assay has: the job is left out",
    )
    with pytest.raises(InputErrors, match=r"(?s)job a, line 2: ioengine = rdma.*job b, line 4: rw = trim"):
        translated("[a]\nioengine=rdma\n[b]\nrw=trim", "j")


@each(
    "text said",
    ("", "found no [JOB]"),
    ("bs=4k\n", "expected [JOB]"),
    ("[a]\n== what\n", "x:2: found == what"),
    ("[a]\ninclude other.fio", "x:2: found include; expected the options themselves"),
)
def test_what_is_no_job_file_is_refused(text, said):
    with pytest.raises(InputErrors) as refused:
        translated(text, "x")
    assert said in str(refused.value)


@pytest.mark.skipif(not SHIPPED, reason="needs the examples of fio (fio-examples)")
def test_the_examples_of_fio_are_experiments_or_refused(subtests):
    done = 0
    for path in SHIPPED:
        with subtests.test(path.name):
            try:
                found = translated(path.read_text(errors="replace"), str(path))
            except InputErrors as error:
                if WITHOUT_FILES.search(str(error)):
                    continue
                raise
            read.parse(found.text, path.name)
            done += 1
    assert done >= 35


@given(st.text(alphabet=st.sampled_from("[]=;#\n abrwsize4km/\x00-"), max_size=200))
def test_any_text_is_translated_or_refused(text):
    with contextlib.suppress(InputErrors):
        tomllib.loads(translated("[a]\nrw=read\n" + text, "x").text)


def test_the_verb_prints_the_file_alone_on_standard_output(tmp_path, capsys):
    job = tmp_path / "disk.fio"
    job.write_text("\ufeff[a]\nrw=read\nsize=1m\nverify=crc32c\n")
    assert from_fio(job, None) == 0
    shown = capsys.readouterr()
    assert tomllib.loads(shown.out)["title"] == "disk"
    assert shown.err == f"assay: {job}: job a, line 4: verify = crc32c: no counterpart\n"
    with pytest.raises(UsageError, match="No such file"):
        from_fio(tmp_path / "none", None)
