"""`dedup files`: documents from files instead of a crawl, read in any mix of formats, written as they came.

    from dedup.corpus.reading.documents import Rejected
    from dedup.corpus.reading.portions import read_documents

    for item in read_documents(["crawl.warc.gz", "news/"]):
        print(item.reason if isinstance(item, Rejected) else item.key)

`reading/` makes documents of files, `signing/` has batches of them signed in worker processes, `deciding/` decides
them by what it knows in arrays, with `candidates/` that are near, `writing/` writes what is kept and dropped, `state/`
says how far a run is, `saved/` keeps what is known for later runs, and `job/` is such a run.
"""
