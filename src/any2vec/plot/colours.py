"""Colours of groups: ten that are easily told apart, then hues at the golden angle."""

from colorsys import hls_to_rgb

__all__ = ["NONE", "colours"]

NONE = "#9aa0a6"
"""Of words without a group where others have one."""

_FIRST = (
    "#3b6fd4",
    "#e8710a",
    "#2f8f4e",
    "#c5221f",
    "#8e44ad",
    "#00838f",
    "#b5179e",
    "#8d6e00",
    "#5d4037",
    "#6a994e",
)
_GOLDEN = 0.618034


def colours(number: int) -> list[str]:
    """Return colours of groups, as #rrggbb."""
    more = []
    for i in range(len(_FIRST), number):
        rgb = hls_to_rgb(i * _GOLDEN % 1, (0.4, 0.55)[i % 2], 0.6)
        more.append("#" + "".join(f"{round(255 * part):02x}" for part in rgb))
    return [*_FIRST, *more][:number]
