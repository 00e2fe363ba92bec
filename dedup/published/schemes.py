"""The published schemes by name, and the parts that they are made of.

| name | features | source |
|---|---|---|
| bigrams32, bigrams64 | distinct pairs of characters | "the cat sat on the mat", where the hash was Ruby's own |
| python64, python128 | what stands between spaces | the Python class of the acdreamers article |
| yanyiwu | keywords by TF-IDF, lookup3 | github.com/yanyiwu/simhash |
| go, go-listing | the same keywords, FNV-1a | a Go article; its listing misreads hashes from 2**63 on |
| textrank | keywords by TextRank, which finds none but Chinese ones | articles on jieba |
| ferd-md5, ferd-sha1 | pairs of bytes but the first and last | github.com/ferd/simhash |

Of sources that are wrong, this is right: `go` hashes as the Go article means to, and `go-listing` as it
does; the Python class compares fingerprints by their ratio as integers, which ranks unrelated texts
above alike ones: use 1 - distance / bits. Keywords and their IDF are those of the package jieba; the
C++ library that yanyiwu/simhash uses has another list, so only fingerprints of the same keywords and
weights are equal to its own. Articles on jieba take 10, 11, 20 or 22 keywords and stop words of a file:
`tfidf:20:stop=FILE/rank/mmh3/64`.
"""

from __future__ import annotations

from dedup.published.features import FEATURES, WEIGHTS
from dedup.published.hashes import HASHES

__all__ = ["FEATURES", "HASHES", "SCHEMES", "WEIGHTS"]

SCHEMES = {
    "bigrams32": "bigrams/one/mmh3/32",
    "bigrams64": "bigrams/one/mmh3/64",
    "python64": "split/count/python2/64/tie1",
    "python128": "split/count/python2/128/tie1",
    "yanyiwu": "tfidf/rank/jenkins/64",
    "go": "tfidf/rank/fnv1a/64",
    "go-listing": "tfidf/rank/fnv1a-listing/64",
    "textrank": "textrank/rank/mmh3/64",
    "ferd-md5": "bytes/count/md5/128/tie1",
    "ferd-sha1": "bytes/count/sha1/160/tie1",
}
