"""`python -m saywhy` is the command line."""

from saywhy.cli import main

if __name__ == "__main__":
    main()
