"""conan_recipe.py ROOT: Conan reads packaging/conan and finds Kiln's version, and options that CMakeLists.txt has."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(sys.argv[1])
with tempfile.TemporaryDirectory() as home:
    done = subprocess.run([pathlib.Path(sys.executable).parent / "conan", "inspect", root / "packaging/conan", "--format=json"],
                          env={**os.environ, "CONAN_HOME": home}, capture_output=True, text=True)
if done.returncode:
    sys.exit(f"conan refuses the recipe: {done.stderr}")
recipe = json.loads(done.stdout)
version = re.search(r'KILN_VERSION "([\d.]+)"', (root / "kiln/version.hpp").read_text())[1]
if recipe["version"] != version:
    sys.exit(f"conan reads the version {recipe['version']}, kiln/version.hpp has {version}")
known = re.findall(r"^option\(KILN_(\w+) ", (root / "CMakeLists.txt").read_text(), re.MULTILINE)
for option in recipe["options"]:
    if option != "shared" and option.upper() not in known:
        sys.exit(f"conan offers {option}, and CMakeLists.txt has no KILN_{option.upper()}")
