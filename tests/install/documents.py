"""What is said beside the build is what the build says: options, versions, recipes, links and headers of the pages.

documents.py ROOT [FOLDER]: prints what differs, and fails then. FOLDER is where the pages are installed; without it, those of
ROOT are read."""
import json
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
# What is installed in one folder, as cmake/KilnInstall.cmake says; links of its pages lead nowhere else.
PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs", "book", "bench/README.md", "bench/results"]
BESIDE = ["LICENSE-MIT", "LICENSE-APACHE", "examples"]
CMAKE = (ROOT / "CMakeLists.txt").read_text()
README = (ROOT / "README.md").read_text()
OPTIONS = {name: default for name, default in re.findall(r'^option\((KILN_\w+) "[^"]*" (\S+)\)', CMAKE, re.MULTILINE)}


def wrong_options():
    """Each option of CMakeLists.txt has a row in docs/building.md, with its default, and each row an option."""
    page = (ROOT / "docs/building.md").read_text()
    rows = dict(re.findall(r"^\| `(KILN_\w+)` \| (\w+) \|", page, re.MULTILINE))
    for name in sorted(OPTIONS.keys() ^ rows.keys()):
        yield f"{name}: " + ("docs/building.md has no row for it" if name in OPTIONS else "there is no such option in CMakeLists.txt")
    for name in OPTIONS.keys() & rows.keys():
        default = "here" if OPTIONS[name].startswith("$") else OPTIONS[name]  # ON in Kiln's own tree, OFF in another
        if rows[name] != default:
            yield f"{name}: docs/building.md says {rows[name]}, CMakeLists.txt {default}"
    for name in sorted(set(re.findall(r"-D(KILN_[A-Z0-9_]+)=", README + page)) - OPTIONS.keys()):
        yield f"README.md or docs/building.md names {name}, which CMakeLists.txt has not"
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    for preset in presets:
        for name in preset.get("cacheVariables", {}):
            if name.startswith("KILN_") and name not in OPTIONS:
                yield f"CMakePresets.json: the preset {preset['name']} sets {name}, which CMakeLists.txt has not"
        if not preset.get("hidden") and f"`{preset['name']}`" not in page:
            yield f"docs/building.md does not name the preset {preset['name']}"


def wrong_recipes():
    """vcpkg's and Conan's recipes have options that CMake has, the same in both, and Kiln's version."""
    manifest = json.loads((ROOT / "packaging/vcpkg/vcpkg.json").read_text())
    portfile = (ROOT / "packaging/vcpkg/portfile.cmake").read_text()
    recipe = (ROOT / "packaging/conan/conanfile.py").read_text()
    version = re.search(r'KILN_VERSION "([\d.]+)"', (ROOT / "kiln/version.hpp").read_text())[1]
    if manifest["version"] != version:
        yield f"packaging/vcpkg/vcpkg.json has the version {manifest['version']}, kiln/version.hpp {version}"
    features = set(manifest["features"])
    by_port = dict(re.findall(r"^  ([a-z0-9]+) (KILN_\w+)", portfile, re.MULTILINE))
    for feature in sorted(features ^ set(by_port)):
        yield f"packaging/vcpkg: the feature {feature} is not in both, vcpkg.json and portfile.cmake"
    offered = set(re.findall(r'"(\w+)": \[True, False\]', recipe)) - {"shared"}
    for name in sorted(features ^ offered):
        yield f"{name} is an option of one of vcpkg's and Conan's recipes only"
    for name in sorted([*by_port.values(), *(f"KILN_{name.upper()}" for name in offered),
                        *re.findall(r"-D(KILN_\w+)=", portfile)]):
        if name not in OPTIONS:
            yield f"packaging: {name} is no option of CMakeLists.txt"
    for name in sorted(set(manifest["default-features"]) - features):
        yield f"packaging/vcpkg/vcpkg.json: the default feature {name} is none of its features"


def pages_in(folder):
    for name in PAGES:
        yield from sorted((folder / name).rglob("*.md")) if (folder / name).is_dir() else [folder / name]


def wrong_links(folder):
    """Links of the pages in a folder lead to files there that are installed with them."""
    folder = folder.resolve()
    for page in pages_in(folder):
        text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)#:\s]+)[^):]*\)", text):
            target = pathlib.Path(os.path.normpath(page.parent / link))
            if not target.exists():
                yield f"{page.relative_to(folder)}: the link {link} leads nowhere"
            elif not any(target == folder / name or folder / name in target.parents for name in [*PAGES, *BESIDE]):
                yield f"{page.relative_to(folder)}: the link {link} leads to what is not installed beside the page"


def wrong_pages():
    """The header and components that a page begins with exist."""
    components = set(re.findall(r"kiln_library\((\w+)", "".join(
        path.read_text() for folder in ("kiln", "models") for path in (ROOT / folder).rglob("CMakeLists.txt"))))
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text()
        if line := re.search(r"^Header: `<([^>]+)>`\. Components?: (.*)\.$", text, re.MULTILINE):
            if not (ROOT / line[1]).exists():
                yield f"{page.relative_to(ROOT)}: there is no header {line[1]}"
            for name in set(re.findall(r"`kiln::(\w+)`", line[2])) - components - {"kiln"}:
                yield f"{page.relative_to(ROOT)}: there is no component {name}"
    for header in sorted((ROOT / "kiln").glob("*.hpp")):
        if header.name != "version.hpp" and f"`kiln/{header.name}`" not in (text := (ROOT / "docs/names.md").read_text()) \
                and f"<kiln/{header.name}>" not in text:
            yield f"docs/names.md does not name kiln/{header.name}"


def wrong_figures():
    """Numbers of README's first tables stand in bench/results, with their machine and date."""
    measured = set(re.findall(r"\d+(?:\.\d+)?", "".join(path.read_text() for path in (ROOT / "bench/results").glob("*.md"))))
    rows = re.findall(r"^\|[^|]*\|(.*)\|$", README.split("**Two commands**")[0], re.MULTILINE)
    if not rows:
        yield "README.md has no figures before its two commands"
    for number in re.findall(r"\d+(?:\.\d+)?", "".join(rows)):
        if number not in measured:
            yield f"README.md: no file of bench/results has {number}"


found = ([*wrong_links(pathlib.Path(sys.argv[2]))] if len(sys.argv) > 2 else
         [*wrong_options(), *wrong_recipes(), *wrong_pages(), *wrong_figures(), *wrong_links(ROOT)])
print("\n".join(found))
sys.exit(bool(found))
