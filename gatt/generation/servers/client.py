"""One endpoint on the wire, through the official client, whose own retries are off."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import openai

from gatt.generation.servers.api_keys import public
from gatt.generation.servers.bounded import TooLargeError, bound_answer
from gatt.generation.servers.faults import Fault, Refused, outcome_of_status

_CONNECT_SECONDS: Final = 10.0
_LIST_SECONDS: Final = 10.0
_NO_KEY: Final = "none"
"""The client must send some key, and servers without keys look at none."""


class Client:
    """Asks one endpoint once; what goes wrong is a `Fault` or `Refused`, free of keys.

    Args:
        url: base URL.
        key: sent with every request; empty for a server without keys.
        timeout_seconds: longest time for a whole reply.
    """

    def __init__(self, url: str, key: str, timeout_seconds: float) -> None:
        self.clean = partial(public, key=key)
        self._timeout_seconds = timeout_seconds
        self._client = openai.AsyncOpenAI(
            base_url=url,
            api_key=key or _NO_KEY,
            max_retries=0,
            timeout=openai.Timeout(timeout_seconds, connect=min(timeout_seconds, _CONNECT_SECONDS)),
            http_client=openai.DefaultAsyncHttpxClient(event_hooks={"response": [bound_answer]}),
        )

    async def complete(self, body: Mapping[str, Any]) -> bytes:
        """Return the answer to one chat completion as it came.

        `chat.completions.create` would walk through every message twice, which
        costs more than all else here, and build an object of whatever it finds.

        Raises:
            Fault: no answer, or a status that may heal.
            Refused: a status that will not.
        """
        async with self._faults(self._timeout_seconds):
            return await self._client.post("/chat/completions", body=body, cast_to=bytes)

    async def list_models(self) -> dict[str, str] | None:
        """Return the served models, name to path; None where the server has no list to look at.

        Raises:
            Fault: `connection`, where nobody is there.
        """
        try:
            async with self._faults(min(self._timeout_seconds, _LIST_SECONDS)):
                found = await self._client.get("/models", cast_to=object)
        except Refused:
            return None
        except Fault as fault:
            if fault.kind == "connection":
                raise
            return None
        rows = found.get("data") if isinstance(found, dict) else None
        if not isinstance(rows, list):
            return None
        names = [r for r in rows if isinstance(r, dict) and isinstance(r.get("id"), str)]
        return {row["id"]: str(row.get("root") or "") for row in names} or None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    @asynccontextmanager
    async def _faults(self, seconds: float) -> AsyncIterator[None]:
        """Turn what the client raises into ours; its errors hold the request, key and all."""
        try:
            # The client's own time-out is for each read, and a server may go on dripping.
            async with asyncio.timeout(seconds):
                yield
        except (TimeoutError, openai.APITimeoutError):
            raise Fault("timeout", f"no reply within {seconds:g} s") from None
        except openai.APIStatusError as error:
            raise self._outcome(error) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            if isinstance(cause, TooLargeError):
                raise Fault("size", str(cause)) from None
            why = self.clean(str(cause)) or type(cause).__name__
            raise Fault("connection", f"no connection, or a broken one ({why})") from None
        except (openai.OpenAIError, ValueError, RecursionError) as error:
            raise Fault("reply", f"an answer that is none ({self.clean(str(error))})") from None

    def _outcome(self, error: openai.APIStatusError) -> Fault | Refused:
        try:
            said = self.clean(_message(error.body))
            code = str(error.code or error.type or "")
        except RecursionError:
            said, code = "an error that is nested too deeply", ""
        return outcome_of_status(error.status_code, said, code, error.response.headers)


def _message(body: object) -> str:
    """Return what a server says in the body of an error: OpenAI's form, FastAPI's, or text."""
    if isinstance(body, str):
        return body
    if isinstance(body, dict):
        said = body.get("message") or body.get("detail") or body.get("error")
        if isinstance(said, str):
            return said
    return json.dumps(body, ensure_ascii=False) if body else ""
