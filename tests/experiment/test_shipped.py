from pathlib import Path

from assay import catalogue
from assay.catalogue import Order
from assay.experiment import outlook as forecast
from assay.experiment import plan as planning
from assay.experiment import read
from assay.records import Endpoint, EndpointKind
from stage.rows import each

FOLDER = Path(__file__).parents[2] / "experiments"
FILES = sorted(FOLDER.glob("*.toml"))


def test_there_are_all_of_them() -> None:
    assert {path.stem for path in FILES} >= {
        "big_directory",
        "big_file_count",
        "big_file_count_sittings",
        "directory_import",
        "file_server_migration",
        "filesystems",
        "external_tool",
        "iozone_matrix",
        "known_disk",
        "memory_test",
        "metadata_all",
        "network_demand",
        "one_gigabyte_a_second",
        "open_loop",
        "overwriters",
        "profiles",
    }


@each("path", *FILES)
def test_a_shipped_experiment_is_planned_and_measures_operations_of_measured_phases(path: Path) -> None:
    experiment = read.read(path)
    plan = planning.plan(experiment)
    outlook = forecast.outlook(experiment, plan)
    assert experiment.question
    assert len(plan.trials) == outlook.trials > 0
    assert outlook.duration_ns > 0
    for effect in outlook.effects:
        assert effect.detectable_share is not None
    knobs = {factor.path: factor.levels[0] for factor in experiment.factors}
    for spec in experiment.workloads:
        own = {name.removeprefix(f"{spec.name}."): value for name, value in knobs.items() if name.startswith(f"{spec.name}.")}
        endpoints = (Endpoint(kind=EndpointKind.DIRECTORY, address="/x"),)
        order = Order(workload=spec.name, knobs={**spec.knobs, **own}, endpoints=endpoints, seed=1)
        phases = catalogue.find("workloads", spec.kind).phases(order)
        measured = {operation for phase in phases if phase.measured for operation in phase.operations}
        assert {measure.operation for measure in experiment.measures if measure.workload == spec.name} <= measured


def test_the_known_disk_and_quick_are_planned() -> None:
    experiment = read.read(FOLDER / "known_disk.toml")
    limit = experiment.targets[0].knobs["limit.read_bytes_per_s"]
    assert isinstance(limit, int)
    for spec in experiment.workloads:
        size = spec.knobs["size"]
        assert isinstance(size, int)
        assert size / limit > 5
    text = (FOLDER.parent / "src/assay/controls/quick.toml").read_text()
    experiment = read.parse(text + '[targets.here]\nkind = "directory"\npath = "."\n', "quick.toml")
    assert planning.plan(experiment).trials
