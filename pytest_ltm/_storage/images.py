"""Images: files whose content is passed on as it is; nothing here decodes one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._storage.disk import open_regular
from pytest_ltm._storage.errors import DatasetError

if TYPE_CHECKING:
    from pathlib import Path

# The largest file that is sent, as base64 a third larger: services take no more than about that.
MAX_IMAGE_BYTES = 20_000_000
_BEGINNINGS = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8", "image/jpeg"), (b"GIF8", "image/gif"))
_WAY_OUT = "Replace it, or remove it: then its caption is told"


def image_type(content: bytes) -> str:
    """Return the media type of an image by its first bytes; "" if it is not a PNG, JPEG, GIF or WebP."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((name for begin, name in _BEGINNINGS if content.startswith(begin)), "")


def read_image(path: Path) -> bytes:
    """Return the content of an image file; DatasetError if it cannot be read, is too large, or is not an image."""
    try:
        with open_regular(path) as file:
            content = file.read(MAX_IMAGE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise DatasetError(
            f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}. {_WAY_OUT}"
        ) from error
    if len(content) > MAX_IMAGE_BYTES:
        raise DatasetError(f"{path}: larger than {MAX_IMAGE_BYTES:,} bytes, too large to be sent. {_WAY_OUT}")
    if not image_type(content):
        raise DatasetError(f"{path}: its content is not a PNG, JPEG, GIF or WebP image. {_WAY_OUT}")
    return content
