"""`dedup files`: documents from files instead of a crawl, read in any mix of formats, written as they came.

    from dedup.files.readers.documents import Rejected
    from dedup.files.readers.portions import read_documents

    for item in read_documents(["crawl.warc.gz", "news/"]):
        print(item.reason if isinstance(item, Rejected) else item.key)

`readers/` makes documents of files, `batches.py` has batches of them signed in worker processes, `deciding.py` decides
them by `document_table.py` and `key_map.py`, `recording.py` writes what is kept and dropped, `index.py` keeps the
documents of a run for later ones, and `run.py` is such a run.
"""
