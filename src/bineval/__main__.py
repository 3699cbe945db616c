"""`python -m bineval` is the `bineval` command."""

from bineval.cli.main import main

main()
