"""``python -m pagedkv`` is the command ``pagedkv``."""

from pagedkv.conformance.cli import main

if __name__ == "__main__":
    main()
