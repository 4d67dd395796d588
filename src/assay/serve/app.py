"""The pages of a notebook over HTTP: what is asked for, which page answers, and pages that are made once for many readers."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from assay.errors import AssayError, UsageError
from assay.notebook import layout, read
from assay.serve import metrics, work
from assay.serve.access import Access, own_names
from assay.serve.chart import Chart, ChartKind
from assay.serve.live import Feed
from assay.serve.pages import EXAMPLES, compiled, render
from assay.serve.shelf import RUN, Listed, Shelf, Stamp, times
from assay.serve.work import WorkQueue

HTML = "text/html; charset=utf-8"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
STATIC = {"htmx.min.js": "text/javascript", "serve.css": "text/css", "style.css": "text/css"}
HERE = Path(__file__).parent
FRESH_S = 1.0
"""A page is as old as that at most: so long nobody looks whether its files have changed."""
MOST_PAGES = 512
MOST_PAGE_BYTES = 64 << 20
REPORT_S = 600.0
REPORT_FRESH_S = 5.0
"""Of a running experiment so long a report is given though a run has ended: else who waits for it would never get it."""
MOST_REPORTS = 16
PER_PAGE = 200
"""Runs on one page of an experiment."""
REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data:; font-src data:"
)
"""A report is one file with its own scripts: it gets an origin of its own, and may ask nobody for anything."""
LONGEST_QUERY = 20_000


@dataclass(kw_only=True)
class MadePage:
    """A page that was made."""

    stamp: Stamp
    seen_s: float
    body: bytes


class Made:
    """Pages that were made, each until its files change; the pages that were asked for least lately go first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, MadePage] = OrderedDict()
        self._making: dict[str, asyncio.Task[bytes]] = {}
        self._bytes = 0

    async def get(self, key: str, stamp: Callable[[], Stamp], make: Callable[[], bytes]) -> bytes:
        """Return the page of this name: the one that is there, or one that is made now, once for all who wait for it."""
        now_s, kept = time.monotonic(), self._kept.get(key)
        if kept is not None and now_s - kept.seen_s < FRESH_S:
            return kept.body
        if (making := self._making.get(key)) is None:
            making = self._making[key] = asyncio.create_task(self._renewed(key, stamp, make))
            making.add_done_callback(lambda _: self._making.pop(key, None))
        return await asyncio.shield(making)

    async def _renewed(self, key: str, stamp: Callable[[], Stamp], make: Callable[[], bytes]) -> bytes:
        found = await asyncio.to_thread(stamp)
        kept = self._kept.get(key)
        if kept is not None and kept.stamp == found:
            kept.seen_s = time.monotonic()
            self._kept.move_to_end(key)
            return kept.body
        body = await asyncio.to_thread(make)
        self.keep(key, MadePage(stamp=found, seen_s=time.monotonic(), body=body))
        return body

    def put(self, key: str, stamp: Callable[[], Stamp], make: Callable[[], bytes]) -> None:
        """Make a page before anybody asks for it; what changed while it was made is seen by the first who does."""
        found = stamp()
        self.keep(key, MadePage(stamp=found, seen_s=-FRESH_S, body=make()))

    def keep(self, key: str, page: MadePage) -> None:
        """Keep a page."""
        if (former := self._kept.pop(key, None)) is not None:
            self._bytes -= len(former.body)
        self._kept[key] = page
        self._bytes += len(page.body)
        while len(self._kept) > MOST_PAGES or (self._bytes > MOST_PAGE_BYTES and len(self._kept) > 1):
            _, gone = self._kept.popitem(last=False)
            self._bytes -= len(gone.body)


@dataclass(kw_only=True)
class NotebookSite:
    """All pages of one notebook."""

    shelf: Shelf
    made: Made = field(default_factory=Made)
    worker: WorkQueue = field(default_factory=WorkQueue)
    feeds: dict[Path, Feed] = field(default_factory=dict)
    reports: dict[Path, tuple[Stamp, asyncio.Task[bytes]]] = field(default_factory=dict)
    ends: dict[Path, float] = field(default_factory=dict)
    """When the newest report of each was made (monotonic seconds)."""

    def routes(self) -> list[Route]:
        """Return every address."""
        return [
            Route("/", self.index),
            Route("/experiment/{name}", self.experiment),
            Route("/experiment/{name}/live", self.live),
            Route("/experiment/{name}/live/now", self.live_now),
            Route("/experiment/{name}/report", self.report),
            Route("/experiment/{name}/run/{trial}/{attempt}", self.run),
            Route("/sql", self.sql),
            Route("/metrics", self.metrics),
            Route("/static/{file}", self.static),
        ]

    def warm(self) -> None:
        """Make the list of experiments, and each kind of page once: the first reader does not wait for what they need."""
        compiled()
        self.made.put("/", self.shelf.stamp, self.index_page)
        for folder in self.shelf.folders()[:1]:
            self.warm_experiment(folder)

    def warm_experiment(self, folder: Path) -> None:
        """Make the first page of an experiment, and that of its last run."""
        self.made.put(f"{folder.name}?0", lambda: self.shelf.stamp_of(folder), lambda: self.experiment_page(folder, 0))
        for one in self.shelf.listed(folder).runs[-1:]:
            self.run_page(folder, one.run)

    async def index(self, _request: Request) -> Response:
        """All experiments."""
        return page(await self.made.get("/", self.shelf.stamp, self.index_page))

    def index_page(self) -> bytes:
        """Make the list of all experiments."""
        return render("index", lab=self.shelf.lab, listed=self.listed())

    async def experiment(self, request: Request) -> Response:
        """One experiment with its runs, so many on a page."""
        folder, number = self.found(request), page_number(request)

        def make() -> bytes:
            return self.experiment_page(folder, number)

        return page(await self.made.get(f"{folder.name}?{number}", lambda: self.shelf.stamp_of(folder), make))

    def experiment_page(self, folder: Path, number: int) -> bytes:
        """Make one page of an experiment, from 0; the last one where there are fewer."""
        listed = self.shelf.listed(folder)
        last = max(0, (len(listed.runs) - 1) // PER_PAGE)
        at = min(number, last)
        shown = listed.runs[at * PER_PAGE : (at + 1) * PER_PAGE]
        return render("experiment", listed=listed, shown=shown, at=at, last=last)

    async def run(self, request: Request) -> Response:
        """One run with its verdicts and findings."""
        folder = self.found(request)
        name = f"{request.path_params['trial']}/{request.path_params['attempt']}"
        if not RUN.fullmatch(name):
            raise HTTPException(404, "A run has the numbers of its trial and its attempt: 0007/1.")

        def make() -> bytes:
            return self.run_page(folder, name)

        body = await self.made.get(f"{folder.name}/{name}", lambda: self.stamp_of_run(folder, name), make)
        if not body:
            raise HTTPException(404, f"{folder.name} has no run {name}.")
        return page(body)

    def run_page(self, folder: Path, name: str) -> bytes:
        """Make the page of a run; nothing where there is none."""
        try:
            found = self.shelf.run(folder, name)
            if found is None:
                return b""
            judged, ruleset = found
            experiment = self.shelf.plan(folder)[0]
            return render("run", name=folder.name, experiment=experiment, judged=judged, ruleset=ruleset)
        except AssayError as error:
            return render("message", title=f"Run {name}", words=str(error))

    def stamp_of_run(self, folder: Path, name: str) -> Stamp:
        """Return what changes with a run: its verdicts alone, its data never do."""
        known = sorted((folder / layout.DERIVED).glob("*"))
        trial, attempt = layout.split_run_id(name)
        files = (one / "verdicts" / f"{trial:04d}-{attempt}.json" for one in known)
        return tuple(map(times, (folder / layout.PLAN, layout.attempt_folder(folder, name), *files)))

    async def live(self, request: Request) -> Response:
        """The running trial; the page asks for what is new once a second."""
        folder = self.found(request)
        return page(render("live", name=folder.name, now=(await self.now(folder)).decode()))

    async def live_now(self, request: Request) -> Response:
        """The changing part of that page."""
        return page(await self.now(self.found(request)))

    async def now(self, folder: Path) -> bytes:
        """Return the changing part, made once a second for all who ask."""

        def make() -> bytes:
            feed = self.feed(folder)
            feed.look()
            return render("now", listed=self.shelf.listed(folder), feed=feed)

        return await self.made.get(f"{folder.name}/live", lambda: self.shelf.stamp_of(folder), make)

    def feed(self, folder: Path) -> Feed:
        """Return the rows of the trial that runs in an experiment."""
        return self.feeds.setdefault(folder, Feed(folder=folder))

    async def report(self, request: Request) -> Response:
        """The report: the one that is there, or made in a process of its own; the page waits by asking again."""
        folder = self.found(request)
        listed = await asyncio.to_thread(self.shelf.listed, folder)
        _, plan, _, _, trials, derived, *_ = self.shelf.stamp_of(folder)
        stamp = (plan, trials, derived, len(listed.runs))
        kept = self.reports.get(folder)
        if kept is None or self.is_old(folder, stamp, is_running=listed.is_running):
            if listed.is_running and "now" not in request.query_params:
                return page(render("busy", name=folder.name, again=f"/experiment/{quote(folder.name)}/report?now=1", query=None))
            self.forget_reports()
            task = asyncio.create_task(self.worker.run(work.report, (str(folder),), REPORT_S))
            task.add_done_callback(lambda _: self.ends.__setitem__(folder, time.monotonic()))
            kept = self.reports[folder] = (stamp, task)
            await asyncio.wait({task}, timeout=FRESH_S / 4)
        if not kept[1].done():
            return page(render("wait", name=folder.name), 202)
        try:
            return Response(kept[1].result(), media_type=HTML, headers={"content-security-policy": REPORT_POLICY})
        except AssayError as error:
            self.reports.pop(folder, None)
            return page(render("message", title="Report", words=str(error)), 500)

    def is_old(self, folder: Path, stamp: Stamp, *, is_running: bool) -> bool:
        """Whether a report is to be made anew: one that is being made is not, nor one that was made while runs went on coming."""
        former, task = self.reports[folder]
        if former == stamp or not task.done():
            return False
        return not is_running or time.monotonic() - self.ends.get(folder, 0.0) > REPORT_FRESH_S

    def forget_reports(self) -> None:
        """Let the oldest reports go that are made, so that memory holds a few."""
        done = [folder for folder, (_, task) in self.reports.items() if task.done()]
        for folder in done[: max(0, len(done) - MOST_REPORTS + 1)]:
            del self.reports[folder]

    async def sql(self, request: Request) -> Response:
        """A query with its rows and a chart."""
        asked = request.query_params
        text, kind = asked.get("q", "").strip()[:LONGEST_QUERY], asked.get("chart", ChartKind.AUTO)
        known = kind if kind in [*ChartKind] else ChartKind.AUTO
        choice = Chart(kind=ChartKind(known), x=asked.get("x", ""), y=asked.get("y", ""))
        shown = {"query": text, "choice": choice, "kinds": [*ChartKind], "examples": EXAMPLES}
        if not text:
            return page(render("sql", **shown, answer=None, words=""))
        running = [one for one in await asyncio.to_thread(self.listed) if one.is_running]
        if running and "now" not in asked:
            again = {**{key: value for key, value in asked.items() if key != "token"}, "now": "1"}
            return page(render("busy", name=running[0].name, again="/sql", query=again))
        try:
            found = await self.worker.run(work.ask, (str(self.shelf.lab), text, choice), work.QUERY_S + work.FILL_S)
        except AssayError as error:
            return page(render("sql", **shown, answer=None, words=str(error)), 400 if isinstance(error, UsageError) else 503)
        return page(render("sql", **shown, answer=found, words=""))

    def listed(self) -> list[Listed]:
        """Return all experiments."""
        return [self.shelf.listed(folder) for folder in self.shelf.folders()]

    async def metrics(self, _request: Request) -> Response:
        """What Prometheus reads."""

        def make() -> bytes:
            folders = ((listed, self.shelf.lab / listed.name) for listed in self.listed())
            found = [(listed, self.feed(folder), read.answers(folder)) for listed, folder in folders]
            for listed, feed, _ in found:
                if listed.is_running:
                    feed.look()
            return metrics.text(found).encode()

        return Response(await self.made.get("/metrics", self.shelf.stamp, make), media_type=PROMETHEUS)

    async def static(self, request: Request) -> Response:
        """A file of ours: one of three."""
        name = request.path_params["file"]
        if name not in STATIC:
            raise HTTPException(404, "There is no such file.")
        body = await self.made.get(f"/static/{name}", lambda: (), lambda: own_file(name))
        return Response(body, media_type=STATIC[name], headers={"cache-control": "private, max-age=3600"})

    def found(self, request: Request) -> Path:
        """Return the folder that an address names. Raises HTTPException."""
        name = request.path_params["name"]
        folder = self.shelf.folder(name)
        if folder is None:
            raise HTTPException(404, "The notebook has no experiment of this name.")
        return folder


def page(body: bytes, status: int = 200) -> Response:
    """Return a page as an answer."""
    return Response(body, status, media_type=HTML)


def page_number(request: Request) -> int:
    """Return the number of the page that is asked for, from 0."""
    asked = request.query_params.get("page", "1")
    return max(0, int(asked) - 1) if asked.isascii() and asked.isdecimal() and len(asked) < 9 else 0


def own_file(name: str) -> bytes:
    """Return a file of ours; the style is that of the reports."""
    folder = HERE.parent / "report" if name == "style.css" else HERE / "static"
    return (folder / name).read_bytes()


async def refused(_request: Request, error: Exception) -> Response:
    """Return the page of what cannot be shown."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = error.detail if isinstance(error, HTTPException) else str(error)
    return page(render("message", title=str(status), words=words), status)


def application(lab: Path, token: str, bind: str, port: int) -> ASGIApp:
    """Return the whole site behind its door."""
    site = NotebookSite(shelf=Shelf(lab=lab))
    with contextlib.suppress(AssayError, OSError):
        site.warm()
    app = Starlette(routes=site.routes(), exception_handlers={HTTPException: refused, AssayError: refused})
    app.router.redirect_slashes = False  # an address that nobody links has no page
    return Access(app=app, token=token, cookie=f"assay-{port}", names=own_names(bind))
