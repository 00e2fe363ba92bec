"""Near-duplicates: 64-bit simhash, permuted tables, matches verified word by word.

- `deduplicate(texts)` decides texts one after the other, each against all before it.
- `similarity(a, b)` compares two texts, and names the rule that decides.
- `Deduplicator(database)` decides texts against all that a database has seen.

    from dedup import Deduplicator, deduplicate, similarity

    kept = df[[not decision.is_dropped for decision in deduplicate(df["text"])]]
    print(similarity(a, b))
    with Deduplicator("texts.db") as deduplicator:
        decision = deduplicator.decide("page 1", text)

In a Scrapy project: `ADDONS = {"dedup.DedupAddon": 500}`.

The names of this module, of `dedup.simhash` and of `dedup.lookups` are public: they stay what they are, or the
changelog says what became of them. All other modules and what is in them are private and may change in any version.

The names are loaded when they are first used: the core works without Scrapy, and a process that only makes
signatures needs no database library.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from dedup.api import Deduplicator, deduplicate, similarity
    from dedup.errors import DatabaseError, DedupError, IncompatibleDatabaseError, InputError, SettingsError
    from dedup.keys import TableDesign
    from dedup.rules.decisions import Decision
    from dedup.rules.documents import Verdict
    from dedup.rules.settings import DedupSettings, Mode, RuleSettings
    from dedup.rules.table import Rule
    from dedup.rules.two_texts import PairDecision
    from dedup.signature.schemes import Scheme, find_scheme
    from dedup.signature.signature import Signature
    from dedup.signature.signing import make_signature
    from dedup.stage.addon import DedupAddon as DedupAddon
    from dedup.stage.addresses import AddressMiddleware as AddressMiddleware
    from dedup.stage.pending import (
        ExactDuplicate as ExactDuplicate,
    )
    from dedup.stage.pending import (
        NearDuplicate as NearDuplicate,
    )
    from dedup.stage.pending import (
        Unchanged as Unchanged,
    )
    from dedup.stage.pending import (
        document_dropped as document_dropped,
    )
    from dedup.stage.pending import (
        document_kept as document_kept,
    )
    from dedup.stage.pipelines import NearDuplicatePipeline as NearDuplicatePipeline
    from dedup.stage.spidermiddlewares import DuplicateLinksMiddleware as DuplicateLinksMiddleware

_NAMES = {
    "dedup.api": ("Deduplicator", "deduplicate", "similarity"),
    "dedup.errors": ("DatabaseError", "DedupError", "IncompatibleDatabaseError", "InputError", "SettingsError"),
    "dedup.keys": ("TableDesign",),
    "dedup.rules.decisions": ("Decision",),
    "dedup.rules.documents": ("Verdict",),
    "dedup.rules.table": ("Rule",),
    "dedup.rules.two_texts": ("PairDecision",),
    "dedup.rules.settings": ("DedupSettings", "Mode", "RuleSettings"),
    "dedup.signature.schemes": ("Scheme", "find_scheme"),
    "dedup.signature.signature": ("Signature",),
    "dedup.signature.signing": ("make_signature",),
    "dedup.stage.addon": ("DedupAddon",),
    "dedup.stage.addresses": ("AddressMiddleware",),
    "dedup.stage.pending": ("ExactDuplicate", "NearDuplicate", "Unchanged", "document_dropped", "document_kept"),
    "dedup.stage.pipelines": ("NearDuplicatePipeline",),
    "dedup.stage.spidermiddlewares": ("DuplicateLinksMiddleware",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

_OWN = ("__doc__", "__name__", "__path__", "__version__")

# What is of Scrapy is named when it is used, so that all of these can be imported without it.
__all__ = [
    "DatabaseError",
    "Decision",
    "DedupError",
    "DedupSettings",
    "Deduplicator",
    "IncompatibleDatabaseError",
    "InputError",
    "Mode",
    "PairDecision",
    "Rule",
    "RuleSettings",
    "Scheme",
    "SettingsError",
    "Signature",
    "TableDesign",
    "Verdict",
    "deduplicate",
    "find_scheme",
    "make_signature",
    "similarity",
]


def __dir__() -> list[str]:
    # `help` loads all of them, and some need Scrapy.
    has_scrapy = find_spec("scrapy") is not None
    return [*_OWN, *(name for name, module in _MODULES.items() if has_scrapy or ".stage." not in module)]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 -- takes longer than all else here

        return version("scrapy-neardup")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        if not _MODULES[name].startswith("dedup.stage."):
            raise
        needed = f"dedup.{name} needs {error.name}: pip install 'scrapy-neardup[scrapy]'"
        raise ModuleNotFoundError(needed, name=error.name) from None
