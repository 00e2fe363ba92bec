"""`dedup completion SHELL`: the code that lets a shell complete the command line of `dedup`."""

from __future__ import annotations

import argparse
import sys

from argcomplete.shell_integration import shellcode

_SHELLS = ("bash", "zsh", "fish")
_EXAMPLES = """\
bash: add to ~/.bashrc                    eval "$(dedup completion bash)"
zsh:  add to ~/.zshrc, behind compinit    eval "$(dedup completion zsh)"
fish: write once                          dedup completion fish > ~/.config/fish/completions/dedup.fish"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EXAMPLES
    parser.add_argument("shell", choices=_SHELLS, metavar="|".join(_SHELLS), help="the shell")


def run(options: argparse.Namespace) -> int:
    """Print the code."""
    sys.stdout.write(f"{shellcode(['dedup'], shell=options.shell)}\n")
    return 0
