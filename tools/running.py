"""Running a program for what it says when it fails."""
import re
import subprocess

from sources import ROOT


def output_of(command, **options):
    """What a command printed if it failed, nothing if it did not."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    said = re.sub(r"^\d+ warnings? generated\.\n", "", done.stdout, flags=re.MULTILINE).strip()
    return (said or f"{command[0]} failed") if done.returncode else ""


def lines_of(command, **options):
    """What a command printed; throws where it failed."""
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, **options).stdout.split("\n")
