"""The probe with one more message a second, `input_tags`: what each webcam frame carried besides its picture, as rows of
[counter, user data in hex, capture time in microseconds], with "" and 0 for what a frame had not."""
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "probe"))
import blocks  # noqa: E402
from probe import Probe  # noqa: E402
from reactor_runtime import ModelMessage, ReadMode  # noqa: E402


class InputTags(ModelMessage):
    rows: list[list]


class TagProbe(Probe):
    def reset(self) -> None:
        super().reset()
        self.rows, self.told = [], time.monotonic()

    def drain_inputs(self, r) -> None:
        while got := self.input.webcam.try_read(1, mode=ReadMode.FIFO):
            f = got[0]
            r["n"] += 1
            r["last"] = f.data
            code = blocks.read(f.data)
            if code is not None:
                self.rows.append([code[0], (f.metadata or b"").hex(), f.capture_time_us or 0])

    async def report(self) -> None:
        rows, self.rows = self.rows, []
        if rows:
            await self.send(InputTags(rows))
        await super().report()
