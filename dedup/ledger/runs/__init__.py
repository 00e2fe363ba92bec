"""The runs of a database: what each decided, and taking one back."""
