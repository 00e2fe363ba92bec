"""Documents from files instead of a crawl: read in any mix of formats, written as they came.

    from pathlib import Path

    from dedup.corpus.reading.documents import Rejected
    from dedup.corpus.reading.portions import read_documents
    from dedup.corpus.writing.tables import KeptWriter

    with KeptWriter(Path("kept.jsonl")) as kept:
        for item in read_documents(["crawl.warc.gz", "news/"]):
            if isinstance(item, Rejected):
                print(item.source, item.reason)
            else:
                kept.write(item)

`files.py` finds and checks the files, `readers/` has a module a format, `reading.py` puts them one
behind the other, `writers/` writes kept and dropped documents and clusters.

`run.py` is what `dedup files` does with them (`job.py`). Documents go through it by batch, whatever their format.
`reading.py` gathers what was read; of JSONL that is not compressed it says only where lines stand
(`line_ranges.py`), and worker processes read them. The workers make the signatures (`signing.py`), and one array
comes back for all documents of a batch (`batches.py`). `deciding.py` has compiled code go through it up to the next
document that has to be compared (`batch_kernel.py`). Candidates are looked for for all of them at once
(`look_up.py`), and what is sure to be a copy by its sketch is decided there too (`confirming.py`); the others go
through `dedup.rules.matcher`, as in a crawl. All of this runs in a thread, while the main one writes what came before
(`recording.py`).

`known.py` and `candidates.py` hold what is known of the documents before, `tally.py`, `progress.py` and
`summary.py` count and show, `clusters.py` gathers, and `state.py` saves what an interrupted run goes on from.
"""
