"""Whole corpora, decided in four steps with files between: see `run.py`.

    from dedup.readers.documents import Rejected
    from dedup.readers.portions import read_documents

    for item in read_documents(["crawl.warc.gz", "news/"]):
        print(item.reason if isinstance(item, Rejected) else item.key)

`dedup.readers` makes documents of files; `reading.py` has portions of them signed and written into parts, `pairing.py`
finds which may be copies, `chains.py` decides them, `writing.py` writes what is kept and dropped; `index.py` keeps the
documents of a run for later ones.
"""
