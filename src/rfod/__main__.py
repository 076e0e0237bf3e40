"""`python -m rfod` is `rfod`."""

from rfod._cli.app import main

if __name__ == "__main__":
    main()
