"""Walks through a session with reactor-sdk: pausing, a second client, recordings, orphaning and the end.

Made for the `probe` model with recording on.  Prints one JSON report.  `outcomes` holds what has to be the same against
every runtime; the rest is for people.
"""
import argparse
import asyncio
import io
import json
import sys
import time
import urllib.request

import av
from reactor_sdk import Reactor

P = argparse.ArgumentParser(description=__doc__)
P.add_argument("--url", default="http://127.0.0.1:8101")
P.add_argument("--model", default="probe")
P.add_argument("--seconds", type=float, default=6, help="how much to record")
A = P.parse_args()
R: dict = {"outcomes": {}, "errors": [], "times_ms": {}}
OK = R["outcomes"]


class Client:
    """A client that counts what it gets."""

    def __init__(self, name):
        self.name, self.frames, self.samples, self.messages, self.runtime = name, 0, 0, [], []
        self.r = Reactor(A.model, api_url=A.url, local=True)
        self.r.on("error", lambda e: R["errors"].append([name, type(e).__name__, e.code, str(e)[:200]]))
        self.r.on("message", lambda m: self.messages.append(m.get("type")))
        self.r.on("runtime_message", lambda m: self.runtime.append(m.get("type")))
        self.r.track("main_video").on_raw_frame(self.video)
        self.r.track("main_audio").on_raw_frame(self.audio)

    def video(self, *_):
        self.frames += 1

    def audio(self, pcm, samples, *_):
        self.samples += samples

    async def flows(self, frames=20, within=30):
        """Whether so many more frames come, however slow the machine is."""
        n, end = self.frames, time.monotonic() + within
        while self.frames < n + frames and time.monotonic() < end:
            await asyncio.sleep(0.05)
        return self.frames >= n + frames

    async def dries(self, seconds=1.0, within=30):
        """Whether there comes a time without any."""
        end = time.monotonic() + within
        while time.monotonic() < end:
            n = self.frames
            await asyncio.sleep(seconds)
            if self.frames == n:
                return True
        return False


async def told(name, seconds=2):
    """Waits for the client's error event: it comes on a thread of its own, and a client that is closed gets no more of them."""
    for _ in range(int(seconds / 0.02)):
        if any(error[0] == name for error in R["errors"]):
            return
        await asyncio.sleep(0.02)


def http(method, path):
    req = urllib.request.Request(A.url + path, b"" if method == "POST" else None, method=method)
    try:
        with urllib.request.urlopen(req, timeout=10) as f:
            return f.status, f.read()
    except urllib.error.HTTPError as e:
        return e.code, e.read()


async def state(*wanted, seconds=10):
    end = time.monotonic() + seconds
    while True:
        s = json.loads((await asyncio.to_thread(http, "GET", "/session"))[1])["state"]
        if not wanted or s in wanted or time.monotonic() > end:
            return s
        await asyncio.sleep(0.02)


async def outcome(what):
    try:
        return "ok" if (x := await what) is None else x
    except BaseException as e:
        return [type(e).__name__, getattr(e, "code", None)]


def decode(data):
    out = {"bytes": len(data), "head": data[4:8].decode("latin1"), "streams": []}
    with av.open(io.BytesIO(data)) as box:
        out["format"] = box.format.name
        out["duration_s"] = box.duration and round(box.duration / 1e6, 2)
        for s in box.streams:
            out["streams"].append({"type": s.type, "codec": s.codec_context.name, "width": getattr(s, "width", None),
                                   "height": getattr(s, "height", None), "rate": getattr(s, "sample_rate", None)})
    for kind in ("video", "audio"):
        with av.open(io.BytesIO(data)) as box:
            streams = [s for s in box.streams if s.type == kind]
            if not streams:
                continue
            n = samples = 0
            pts = []
            for f in box.decode(streams[0]):
                n += 1
                samples += getattr(f, "samples", 0)
                pts.append(float(f.pts * f.time_base))
            out[kind] = {"frames": n, "samples": samples, "first_s": round(pts[0], 3), "last_s": round(pts[-1], 3),
                         "ascending": all(b > a for a, b in zip(pts, pts[1:]))} if pts else {"frames": 0}
    return out


async def media(r, what, seconds):
    t = time.monotonic()
    clip = await what
    data = await r.download(clip, ready_timeout=60)
    R["times_ms"][f"{clip.kind}_ready"] = round((time.monotonic() - t) * 1e3)
    got = decode(data)
    R[clip.kind] = got
    v, a = got.get("video", {}), got.get("audio", {})
    return {"kind": clip.kind, "head": got["head"], "streams": sorted(s["type"] for s in got["streams"]),
            "size": [[s["width"], s["height"]] for s in got["streams"] if s["type"] == "video"],
            "video": v.get("frames", 0) >= 8 * seconds and v.get("ascending", False),
            "audio": a.get("samples", 0) >= 40_000 * seconds}


async def main():
    a, b = Client("a"), Client("b")
    begin = time.monotonic()
    OK["connect"] = await outcome(a.r.connect())
    OK["state_with_client"] = await state("streaming")
    OK["tracks"] = sorted([t.name, t.kind.value, t.direction.value] for t in a.r.tracks)
    schema = await a.r.request_schema()
    OK["schema_version"] = schema.get("openapi", "")[:2]
    R["schema_paths"] = sorted(schema.get("paths", {}))
    OK["streams"] = await a.flows() and a.samples > 0

    v = a.r.track("main_video")
    OK["pause"] = await outcome(v.pause())
    OK["paused"] = sorted(a.r.paused_tracks)
    OK["pause_stops"] = await a.dries()
    samples = a.samples
    await asyncio.sleep(0.5)
    OK["pause_leaves_audio"] = a.samples > samples
    OK["resume"] = await outcome(v.resume())
    OK["resume_starts"] = await a.flows()

    OK["adopt"] = await outcome(b.r.connect(session_id=a.r.session_id))
    OK["adopted_same"] = b.r.session_id == a.r.session_id
    OK["both_stream"] = all(await asyncio.gather(a.flows(), b.flows()))
    c = Client("c")
    OK["second_session"] = await outcome(c.r.connect())
    await told("c")
    c.r.close()
    OK["adopt_unknown"] = await outcome((d := Client("d")).r.connect(session_id="11111111-1111-1111-1111-111111111111"))
    await told("d")
    d.r.close()

    OK["publish"] = [type(await a.r.track("webcam").publish()).__name__]
    OK["publish_taken"] = await outcome(b.r.track("webcam").publish())
    OK["unpublish"] = a.r.track("webcam").unpublish() or "ok"
    for _ in range(50):
        taken = await outcome(b.r.track("webcam").publish())
        if not isinstance(taken, list):
            break
        await asyncio.sleep(0.02)
    OK["publish_freed"] = taken if isinstance(taken, list) else "ok"

    n = len(b.messages)
    await a.r.send_command("emit", {"count": 5, "size": 10})
    await asyncio.sleep(0.5)
    OK["broadcast"] = b.messages[n:].count("filler")

    await asyncio.sleep(max(0, begin + A.seconds - time.monotonic()))
    OK["clip"] = await outcome(media(a.r, a.r.request_clip(2), 2))
    OK["recording"] = await outcome(media(a.r, a.r.request_recording(), A.seconds - 1))
    OK["clip_zero"] = await outcome(a.r.request_clip(0))

    OK["disconnect_adopter"] = await outcome(b.r.disconnect())
    OK["state_after_adopter"] = await state()
    b.r.close()
    a.r.close()  # leaves the session
    OK["state_orphaned"] = await state("orphaned", seconds=15)
    e = Client("e")
    OK["adopt_orphan"] = await outcome(e.r.connect(session_id="00000000-0000-0000-0000-000000000000"))
    OK["orphan_streams"] = await e.flows()
    t = time.monotonic()
    OK["stop"] = (await asyncio.to_thread(http, "POST", "/stop_session"))[0]
    OK["state_stopped"] = await state("ready")
    for _ in range(500):
        if e.r.status == "disconnected":
            break
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.5)  # its error comes behind its status
    OK["client_after_stop"] = str(getattr(e.r.status, "value", e.r.status))
    R["times_ms"]["client_noticed_stop"] = round((time.monotonic() - t) * 1e3)
    e.r.close()
    f = Client("f")
    OK["next_session"] = await outcome(f.r.connect())
    OK["disconnect"] = await outcome(f.r.disconnect())
    f.r.close()
    OK["state_at_end"] = await state("ready")


try:
    asyncio.run(asyncio.wait_for(main(), 150))
except BaseException as e:
    import traceback
    R["exception"] = f"{type(e).__name__}: {e}"[:300]
    R["traceback"] = traceback.format_exc()[-800:]
print(json.dumps(R, indent=1, default=str))
sys.exit(1 if "exception" in R else 0)
