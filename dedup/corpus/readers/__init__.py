"""One module a format, each with `read(file, number, options, after)`.

`file` is a file that was checked and `number` its number in the corpus; `options` say how documents are
found in it; reading begins behind the position `after`, or at the beginning if that is None. Documents
and rejected things are yielded in the order of the file.

Whatever a file holds, nothing is raised but what the system raises for a lack of memory or an interrupt:
what is broken is yielded as `Rejected`, and reading goes on behind it where it can.
"""
