"""What mkdocs.yml does not say: hooks of MkDocs that put docs/ and the pages of the root beside the book, and turn links to other
files of the tree, which are no pages, into text."""
import pathlib
import posixpath
import re

from mkdocs.structure.files import File
from mkdocs.structure.nav import Link, Section
from mkdocs.structure.pages import Page

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "bench/README.md"]
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def reference():
    """Files of the tree that the site has besides those of book/, by their paths from the root."""
    pictures = [path for kind in ("png", "gif", "svg") for path in (ROOT / "docs").rglob(f"*.{kind}")]
    found = [*sorted((ROOT / "docs").glob("*.md")), *pictures]
    return [path.relative_to(ROOT).as_posix() for path in found] + PAGES


def site_path(path):
    """Where the site has a file of the tree: the pages of the root in a folder of their own."""
    return f"tree/{path}" if path in PAGES else path


def on_files(files, config):
    for path in reference():
        file = File(site_path(path), str(ROOT), config["site_dir"], config["use_directory_urls"])
        file.abs_src_path = str(ROOT / path)
        files.append(file)
    return files


def on_nav(nav, config, files):
    """docs/ by title, then the pages of the root, and the API reference, which Doxygen writes afterwards: its list of headers."""
    pages = [files.get_file_from_path(site_path(path)) for path in reference() if path.endswith(".md")]
    # A file that `nav` does not list has its page already.
    listed = [file.page or Page(None, file, config) for file in pages]
    section = Section("Reference", listed)
    for page in listed:
        page.parent = section
    nav.items += [section, Link("API", "api/files.html")]
    nav.pages.extend(page for page in listed if page not in nav.pages)
    return nav


def on_page_markdown(markdown, page, config, files):
    """Links as the site needs them: the book is its root, and what is no page of it is text."""
    source = pathlib.Path(page.file.abs_src_path).relative_to(ROOT)

    def mended(match):
        picture, text, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path, hash_mark, anchor = target.partition("#")
        whole = posixpath.normpath(posixpath.join(source.parent.as_posix(), path))
        there = whole[len("book/"):] if whole.startswith("book/") else site_path(whole)
        if files.get_file_from_path(there) is None and (ROOT / whole).exists():
            return text
        relative = posixpath.relpath(there, posixpath.dirname(page.file.src_path) or ".")
        return f"{picture}[{text}]({relative}{hash_mark}{anchor})"

    parts = FENCE.split(markdown)
    return "".join(part if part.startswith("```") else LINK.sub(mended, part) for part in parts)
