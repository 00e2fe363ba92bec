"""Documents from files instead of a crawl: read in any mix of formats, written as they came.

    from pathlib import Path

    from dedup.corpus.documents import Rejected
    from dedup.corpus.reading import read_documents
    from dedup.corpus.writers.tables import KeptWriter

    with KeptWriter(Path("kept.jsonl")) as kept:
        for item in read_documents(["crawl.warc.gz", "news/"]):
            if isinstance(item, Rejected):
                print(item.source, item.reason)
            else:
                kept.write(item)

`files.py` finds and checks the files, `readers/` has a module a format, `reading.py` puts them one
behind the other, `writers/` writes kept and dropped documents and clusters: no more is in memory than a
document and the buffers of one file.

`run.py` is what `dedup files` does with them (`job.py`): `signing.py` has signatures made in worker processes,
`deciding.py` decides, document by document, by what `known.py` and `candidates.py` hold of the ones before,
`tally.py`, `progress.py` and `summary.py` count and show, `clusters.py` gathers, and `state.py` saves what
an interrupted run goes on from.

Lines of JSONL that is not compressed take a shorter way: `line_ranges.py` says where they stand, a worker has
compiled code find their fields and sign them (`json_fields.py`, `signing_lines.py`), one array comes back
for all of them (`signed_lines.py`), and compiled code goes through it up to the next line that has to be
compared (`batch_kernel.py`). Candidates are looked for for all of them at once (`look_up.py`), and what is sure to be
a copy by its sketch is decided there too (`confirming.py`); the others go through `dedup.rules.matcher`, as in a crawl.
All of this runs in a thread,
while the main one writes what came before.
"""
