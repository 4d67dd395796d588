"""The nouns of the lab: frozen records over plain buffers, with units in the names.

Times are nanoseconds of CLOCK_MONOTONIC of the host that took them, relative to T0 (the start of the first phase),
unless a name ends in `_utc`. Shares are 0..1. Nothing here imports numpy: `assay stat` must start fast.
"""

from assay.records.coherence import CoherenceEnd, CoherenceStep
from assay.records.directory import DirectoryAnswers, DirectoryEnd, RefusedEntry
from assay.records.drill import DrillEnd, FurtherAway, TimeAway
from assay.records.estimates import (
    Adjustment,
    Cell,
    Comparison,
    Conclusion,
    Dip,
    Estimate,
    Exclusion,
    ExclusionReason,
    FactorEffect,
    Method,
    RequirementResult,
    RequirementState,
    Sensitivity,
    Step,
)
from assay.records.events import Action, Event
from assay.records.evidence import (
    ABSOLUTE,
    Direction,
    Edge,
    Fact,
    FactClass,
    Gap,
    Histogram,
    Missing,
    Observations,
    Reading,
    Rung,
    Series,
    Snapshot,
    Span,
    When,
    missing_on,
)
from assay.records.experiment import (
    ON,
    Change,
    Claim,
    DesignKind,
    Durability,
    Experiment,
    Factor,
    HostSpec,
    Load,
    Measure,
    Pairs,
    Path,
    PathSpec,
    Precision,
    Regime,
    Requirement,
    RequirementKind,
    SoakSpec,
    Summary,
    TargetSpec,
    Tier,
    Value,
    WorkloadSpec,
    WorkSide,
    load_hosts,
)
from assay.records.judgement import (
    Bound,
    Circumstance,
    Finding,
    Label,
    Limiter,
    LimiterKind,
    Meaning,
    Nature,
    Scope,
    Severity,
    State,
    Verdict,
    VerdictState,
    worst,
)
from assay.records.network import DatagramTotal, NetConnection, NetEnd, SocketBuffer, Subflow, ZerocopyTotal
from assay.records.observe import ObserveKind, ObserveSpec
from assay.records.place import (
    IN_MEMORY,
    Box,
    Endpoint,
    EndpointKind,
    Limit,
    Place,
    Server,
    ServerNode,
    Subject,
)
from assay.records.plan import UNREACHED, Plan, PlanNote, Trial
from assay.records.results import (
    ChangePoint,
    Course,
    CourseKind,
    CourseState,
    DeletedRun,
    Judged,
    Results,
    Rounds,
    UnknownReason,
)
from assay.records.run import (
    CacheState,
    Client,
    EngineCost,
    EngineError,
    ErrorSpace,
    HostClock,
    HostRole,
    LoadTotal,
    OperationTotal,
    Outcome,
    Phase,
    PhaseHost,
    PhasePlan,
    Printed,
    QueueTotal,
    Role,
    Run,
    SteadyState,
    StopRule,
)
from assay.records.scaling import (
    ArmOrder,
    Capacity,
    CapacitySource,
    Ceiling,
    Fit,
    Growth,
    Knee,
    LawName,
    Scaled,
    Scaling,
    ScalingKind,
    Shape,
    Use,
)
from assay.records.watched import FileGrowth, OpenedFile, OtherKinds, Stream, TreeAccount, Watched
