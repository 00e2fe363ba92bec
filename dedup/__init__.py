"""Near-duplicate detection: 64-bit simhash fingerprints, permuted tables in SQL, verified matches.

The names below are loaded when they are first used: the core works without Scrapy, and a worker
process that makes signatures needs no database library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dedup.addon import DedupAddon
    from dedup.deduplicator import Decision, Deduplicator, Document, Verdict
    from dedup.errors import DatabaseError, DedupError, IncompatibleDatabaseError, SettingsError
    from dedup.fingerprint.schemes import Scheme, find_scheme
    from dedup.fingerprint.signature import Signature, make_signature
    from dedup.index.design import TableDesign
    from dedup.settings import DedupSettings, Mode

_MODULES = {
    "DatabaseError": "errors",
    "Decision": "deduplicator",
    "DedupAddon": "addon",
    "DedupError": "errors",
    "DedupSettings": "settings",
    "Deduplicator": "deduplicator",
    "Document": "deduplicator",
    "IncompatibleDatabaseError": "errors",
    "Mode": "settings",
    "Scheme": "fingerprint.schemes",
    "SettingsError": "errors",
    "Signature": "fingerprint.signature",
    "TableDesign": "index.design",
    "Verdict": "deduplicator",
    "find_scheme": "fingerprint.schemes",
    "make_signature": "fingerprint.signature",
}

__all__ = [
    "DatabaseError",
    "Decision",
    "DedupAddon",
    "DedupError",
    "DedupSettings",
    "Deduplicator",
    "Document",
    "IncompatibleDatabaseError",
    "Mode",
    "Scheme",
    "SettingsError",
    "Signature",
    "TableDesign",
    "Verdict",
    "find_scheme",
    "make_signature",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"dedup.{_MODULES[name]}"), name)
