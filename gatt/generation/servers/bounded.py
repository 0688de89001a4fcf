"""Bounds how much of one answer is read: a server may send without end, or what inflates without end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import httpx2

MOST_BYTES: Final = 8 * 2**20
"""Of one answer, decompressed. A reply of 100,000 tokens has less than one of them."""


class TooLargeError(httpx2.RequestError):
    """An answer of more than `MOST_BYTES`; no more of it is read."""

    def __init__(self) -> None:
        super().__init__(f"an answer of more than {MOST_BYTES} bytes")


async def bound_answer(response: httpx2.Response) -> None:
    """Have at most `MOST_BYTES` of an answer read; a `response` hook of an HTTP client.

    Whoever reads it then meets `TooLargeError`. It counts behind the decompression, which is done here,
    piece by piece.
    """
    inner = httpx2.Response(
        response.status_code,
        headers=response.headers,
        stream=response.stream,
        request=response.request,
    )
    response.stream = _Bounded(inner)
    response.headers.pop("content-encoding", None)


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.Response) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        num_bytes = 0
        async for part in self._inner.aiter_bytes():
            num_bytes += len(part)
            if num_bytes > MOST_BYTES:
                raise TooLargeError
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()
