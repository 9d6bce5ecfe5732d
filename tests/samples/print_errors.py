"""Rewrites what the wrong programs of docs/errors.md print: `python3 print_errors.py TEMPO ERRORS.md`. Read the difference
before committing it: the page is a test of the messages (see docs_test.cpp), and this makes it agree with whatever they are."""

import os
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"```tempo\n((?:(?!```).)*)```\n\n```text\n((?:(?!```).)*)```", re.S)


def printed(tempo, program):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "f.tempo"), "w") as f:
            f.write(program)
        run = subprocess.run([tempo, "check", "--no-cache", "f.tempo"], cwd=folder, capture_output=True, text=True)
        return run.stderr.strip() + "\n"


def main():
    tempo, page = os.path.abspath(sys.argv[1]), sys.argv[2]
    with open(page) as f:
        text = f.read()
    text = BLOCK.sub(lambda m: f"```tempo\n{m[1]}```\n\n```text\n{printed(tempo, m[1])}```", text)
    with open(page, "w") as f:
        f.write(text)


if __name__ == "__main__":
    main()
