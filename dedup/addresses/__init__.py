"""Which addresses of a site lead to copies: rules that are learnt from verdicts, and files of them."""
