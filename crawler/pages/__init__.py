"""The way of a page: extraction, the limit, storage, and what becomes of pages that are known from before."""
