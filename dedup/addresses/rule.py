"""Rules of addresses.

A rule maps addresses to forms; two addresses of one form are held for copies.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import NamedTuple

from dedup.addresses.address import Address


class AddressRule(NamedTuple):
    """What makes no difference.

    Attributes:
        kind: `parameter` (the names), `default` (a name and its value), `order` of parameters, `name` (of a path the
            parameter that is the last segment of another path, and that), `origin` (two of them), `segment` (one that
            may be left out), `value` (of the segment at a place: the place, and two values), `suffix` of the last
            segment; only given by users: `except` (the names of the parameters that alone matter), `place` (of
            a beginning of paths, in which * is any segment, the places that may be left out, as in `0,2`).
        details: as above.
    """

    kind: str
    details: tuple[str, ...] = ()

    def form_of(self, address: Address) -> Address:
        """Return an address without what makes no difference; the address itself where there is nothing of it."""
        return _FORMS[self.kind](address, self.details)

    def covers(self, other: AddressRule) -> bool:
        """Return whether this leaves out every parameter that another rule does, whatever its value."""
        names = {"parameter": other.details, "default": other.details[:1]}.get(other.kind, ())
        if not names or self == other or self.kind not in ("parameter", "except"):
            return False
        return not self.form_of(Address("", (), tuple((name, "") for name in names))).parameters

    def __str__(self) -> str:
        if self == AddressRule("segment", ("",)):
            return "without a further slash"
        if self == AddressRule("except"):
            return "without parameters"
        return _WORDS[self.kind].format(*self.details, names=", ".join(self.details))


def _without_parameters(address: Address, names: tuple[str, ...]) -> Address:
    left = tuple(each for each in address.parameters if each[0] not in names)
    return address if len(left) == len(address.parameters) else address._replace(parameters=left)


def _with_parameters(address: Address, names: tuple[str, ...]) -> Address:
    # What stands in the path is no query.
    left = tuple(each for each in address.parameters if each[0] in names or each[0].startswith(";"))
    return address._replace(parameters=left)


def _without_places(address: Address, details: tuple[str, ...]) -> Address:
    segments, beginning = address.segments, details[0].split("/")
    if len(segments) < len(beginning) or not all(map(fnmatchcase, segments, beginning)):
        return address
    places = details[1].split(",")
    left = tuple(each for place, each in enumerate(segments) if str(place) not in places)
    return address._replace(segments=left or ("",))


def _in_order(address: Address, _: tuple[str, ...]) -> Address:
    parameters = address.parameters
    return address._replace(parameters=tuple(sorted(parameters))) if len(parameters) > 1 else address


def _at_first_origin(address: Address, origins: tuple[str, ...]) -> Address:
    return address._replace(origin=origins[0]) if address.origin in origins else address


def _without_segment(address: Address, named: tuple[str, ...]) -> Address:
    segments = address.segments
    if named[0] not in segments or len(segments) == 1:
        return address
    place = segments.index(named[0])
    return address._replace(segments=segments[:place] + segments[place + 1 :])


def _with_first_value(address: Address, details: tuple[str, ...]) -> Address:
    segments, place = address.segments, int(details[0])
    if len(segments) <= place or segments[place] not in details[1:]:
        return address
    return address._replace(segments=(*segments[:place], details[1], *segments[place + 1 :]))


def _without_suffix(address: Address, suffixes: tuple[str, ...]) -> Address:
    *before, last = address.segments
    return address._replace(segments=(*before, last.removesuffix(suffixes[0])))


def _without_default(address: Address, default: tuple[str, ...]) -> Address:
    if default not in address.parameters:
        return address
    return address._replace(parameters=tuple(each for each in address.parameters if each != default))


def _with_name_in_path(address: Address, details: tuple[str, ...]) -> Address:
    path, name, folder = details
    value = dict(address.parameters).get(name)
    if not value or "/".join(address.segments) != path:
        return address
    parameters = tuple(each for each in address.parameters if each[0] != name)
    return Address(address.origin, (*folder.split("/"), value) if folder else (value,), parameters)


_FORMS: dict[str, Callable[[Address, tuple[str, ...]], Address]] = {
    "parameter": _without_parameters,
    "except": _with_parameters,
    "place": _without_places,
    "default": _without_default,
    "name": _with_name_in_path,
    "order": _in_order,
    "origin": _at_first_origin,
    "segment": _without_segment,
    "value": _with_first_value,
    "suffix": _without_suffix,
}

_WORDS = {
    "parameter": "without {names}",
    "except": "without parameters but {names}",
    "place": "/{0} without part {1}",
    "default": "without {0}={1}",
    "name": "/{0}?{1}=X is /{2}/X",
    "order": "parameters in any order",
    "origin": "{0} is {1}",
    "segment": "without /{0}/",
    "value": "/{1}/ is /{2}/",
    "suffix": "without {0} at the end",
}
