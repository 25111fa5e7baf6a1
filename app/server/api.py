"""The REST interface; every answer is JSON but the snapshot and the metrics."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from app.server.desk import Desk
from app.server.metrics import CONTENT_TYPE, RUNNING, prometheus_text
from app.server.schema import (
    Choices,
    Chosen,
    FaceCommand,
    NewGuard,
    NewStrength,
    Panic,
    PanicCommand,
    Pause,
    Problem,
    StartCommand,
    State,
    StopCommand,
    StrengthCommand,
    Switch,
)
from app.server.snapshot import snapshot
from engine.config import GuardPolicy
from engine.errors import DeviceError, InputError, KawariError, ModelError, RefusedError, UsageError
from engine.sinks.browser import BrowserSink

STATUS: dict[type[KawariError], int] = {
    UsageError: 409,
    InputError: 422,
    DeviceError: 503,
    ModelError: 503,
    RefusedError: 403,
}
_RESPONSES: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "No JSON"},
    401: {"model": Problem, "description": "The token is missing or wrong"},
    403: {"model": Problem, "description": "A stranger, or refused"},
    409: {"model": Problem, "description": "Not now"},
    411: {"model": Problem, "description": "No Content-Length"},
    413: {"model": Problem, "description": "Too large"},
    422: {"model": Problem, "description": "Not understood, or no such thing"},
    429: {"model": Problem, "description": "Too many requests"},
    503: {"model": Problem, "description": "A device or model is missing, busy or gone"},
}


def state_of(desk: Desk) -> State:
    """What the desk is doing now."""
    stats = desk.stats()
    return State(
        running=stats.state in RUNNING,
        state=stats.state or "idle",
        panic=stats.panic,
        strength=desk.strength,
        guard=desk.guard,
        swapper=desk.swapper,
        recording=desk.recording,
        figures=stats,
    )


def set_panic(desk: Desk, on: bool | None) -> None:
    """Cover, uncover, or the other way than now."""
    desk.panic(not desk.stats().panic if on is None else on)


def set_guard(desk: Desk, policy: GuardPolicy) -> None:
    """Change the guard.

    Raises:
        RefusedError: to pass-through, which shows the real face.
    """
    if policy is GuardPolicy.PASS:
        raise RefusedError(
            "The server never lets the real face pass", "Choose pass-through in the window or by --guard pass"
        )
    desk.set_guard(policy)


def obey(
    desk: Desk, command: StartCommand | StopCommand | PanicCommand | StrengthCommand | FaceCommand
) -> None:
    """Carry out a command of the WebSocket."""
    match command:
        case StartCommand():
            desk.start()
        case StopCommand():
            desk.stop()
        case PanicCommand(on=on):
            set_panic(desk, on)
        case StrengthCommand(strength=strength):
            desk.set_strength(strength)
        case FaceCommand(id=face):
            desk.wear(face)


def make_api(desk: Desk, browser: BrowserSink) -> APIRouter:
    """The routes under `/api`, and `/metrics`.

    They are plain functions, which FastAPI calls on threads of its own: the engine may take a moment.
    """
    api = APIRouter(responses=_RESPONSES)

    @api.get("/api/state", operation_id="state")
    def state() -> State:
        """What Kawari is doing, with all figures."""
        return state_of(desk)

    @api.post("/api/start", operation_id="start")
    def start() -> State:
        """Start the stream; returns when it runs."""
        desk.start()
        return state_of(desk)

    @api.post("/api/stop", operation_id="stop")
    def stop() -> State:
        """Stop the stream; the page and the virtual camera show a card."""
        desk.stop()
        return state_of(desk)

    @api.post("/api/panic", operation_id="panic")
    def panic(wanted: Panic | None = None) -> State:
        """Cover everything at once, or uncover it; without a body, the other way than now."""
        set_panic(desk, wanted.on if wanted else None)
        return state_of(desk)

    @api.put("/api/strength", operation_id="strength")
    def strength(wanted: NewStrength) -> State:
        """How far the face's shape goes to the source's."""
        desk.set_strength(wanted.strength)
        return state_of(desk)

    @api.put("/api/guard", operation_id="guard")
    def guard(wanted: NewGuard) -> State:
        """What leaves instead of an unswapped face; pass-through is refused."""
        set_guard(desk, wanted.policy)
        return state_of(desk)

    @api.get("/api/faces", operation_id="faces")
    def faces() -> Choices:
        """Faces that may be worn; the one that is worn is `on`."""
        return Choices(choices=desk.faces())

    @api.put("/api/face", operation_id="wear")
    def wear(wanted: Chosen) -> Choices:
        """Swap in another face, from the next frame on."""
        desk.wear(wanted.id)
        return Choices(choices=desk.faces())

    @api.get("/api/cameras", operation_id="cameras")
    def cameras() -> Choices:
        """Cameras that may be used; the present one is `on`."""
        return Choices(choices=desk.cameras())

    @api.put("/api/camera", operation_id="useCamera")
    def use_camera(wanted: Chosen) -> Choices:
        """Go over to another camera; a card leaves meanwhile."""
        desk.use_camera(wanted.id)
        return Choices(choices=desk.cameras())

    @api.get("/api/outputs", operation_id="outputs")
    def outputs() -> Choices:
        """Outputs, on and off."""
        return Choices(choices=desk.outputs())

    @api.put("/api/outputs/{output}", operation_id="switchOutput")
    def switch_output(output: str, wanted: Switch) -> Choices:
        """Switch an output on or off."""
        desk.switch_output(output, wanted.on)
        return Choices(choices=desk.outputs())

    @api.post("/api/recording/pause", operation_id="pauseRecording")
    def pause_recording(wanted: Pause | None = None) -> State:
        """Leave out what comes from now on, or go on; without a body, the other way than now."""
        on = desk.recording == "on" if wanted is None or wanted.on is None else wanted.on
        desk.pause_recording(on)
        return state_of(desk)

    @api.post("/api/recording/split", operation_id="splitRecording")
    def split_recording() -> State:
        """Go on in a new file."""
        desk.split_recording()
        return state_of(desk)

    @api.post(
        "/api/snapshot",
        operation_id="snapshot",
        response_class=Response,
        responses={200: {"content": {"image/png": {}}, "description": "Marked and signed, PNG"}},
    )
    def take_snapshot() -> Response:
        """The picture that left last, marked and signed."""
        return Response(snapshot(browser, desk.swapper), media_type="image/png")

    @api.get(
        "/metrics",
        operation_id="metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {}}, "description": "Prometheus text"}},
    )
    def metrics() -> Response:
        """All figures for Prometheus."""
        return Response(prometheus_text(desk.stats), headers={"content-type": CONTENT_TYPE})

    return api


def add_problems(app: FastAPI) -> None:
    """Errors become JSON with a sentence for people."""

    @app.exception_handler(KawariError)
    def _kawari(_: Request, error: KawariError) -> JSONResponse:
        return _problem(STATUS.get(type(error), 500), str(error), error.remedy)

    @app.exception_handler(RequestValidationError)
    def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(one) for one in first["loc"] if one != "body")
        return _problem(422, f"{where}: {first['msg']}." if where else f"{first['msg']}.")

    @app.exception_handler(HTTPException)
    def _http(_: Request, error: HTTPException) -> JSONResponse:
        return _problem(error.status_code, f"{error.detail}.", headers=error.headers)

    @app.exception_handler(Exception)
    def _unforeseen(_: Request, error: Exception) -> JSONResponse:
        return _problem(500, f"Something unforeseen happened ({type(error).__name__}).")


def _problem(status: int, error: str, remedy: str = "", headers: Any = None) -> JSONResponse:
    return JSONResponse(Problem(error=error, remedy=remedy).model_dump(), status, headers)
