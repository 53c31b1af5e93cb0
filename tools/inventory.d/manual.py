# SPDX-License-Identifier: MIT
"""The items of the manual pages, wherever the tree has them."""
import re

from common import TREE, Trouble, fact


def pages():
    """Wherever in the tree they are, but in no build, where copies may be."""
    folders = [folder for folder in TREE.iterdir() if folder.is_dir() and not folder.name.startswith(('.', 'build'))]
    found = sorted(path for folder in folders for path in folder.rglob('weir*.[1-9]') if path.is_file())
    if not found:
        raise Trouble('there is no manual page in the tree')
    return found


MACROS = set('Ar Brq Bd Cm Dv Em Ev Fa Fl Fn Ft Ic Li Nm No Ns Oc Oo Op Pa Po Pc Pp Pq Ql Qq Sq Sy Ta Va Vt Xr'.split())


def plain(line, has_macros=True):
    """A line of mdoc without its macros."""
    line = line.replace('\\(aq', "'").replace('\\-', '-').replace('\\&', '').replace('\\(mu', '*')
    words, glued, dash = [], False, ''
    for word in re.findall(r'"[^"]*"|\S+', line):
        if word == 'Ns':
            glued = True
        elif has_macros and word in MACROS:
            dash = '-' if word == 'Fl' else ''
        else:
            word, dash = dash + word.strip('"'), ''
            words[len(words) - glued:] = [(words[-1] if glued and words else '') + word]
            glued = False
    return ' '.join(words)


def manual_items():
    """(page, section, item, the text behind it) for each .It of each page."""
    for path in pages():
        page = section = ''
        item = None
        for line in path.read_text().splitlines():
            macro, _, rest = line.partition(' ')
            if macro == '.Dt':
                page = '{}({})'.format(*rest.lower().split()[:2])
            if item is not None and macro in ('.It', '.El', '.Sh', '.Ss'):
                yield page, section, item, ' '.join(behind)
                item = None
            if macro in ('.Sh', '.Ss'):
                section = plain(rest)
            elif macro == '.It':
                item, behind = plain(rest), []
            elif item is not None:
                behind.append(plain(line.removeprefix('.'), line.startswith('.')))


def manual_options():
    found = {}
    for page, _, item, _ in manual_items():
        for option in re.findall(r'(?<!\S)--?[A-Za-z0-9][a-z-]*', item if item.startswith('-') else ''):
            found.setdefault(page.removeprefix('weir-').split('(')[0], set()).add(option)
    return found


def list_manual():
    for page, section, item, behind in manual_items():
        if item and section == 'EXIT STATUS':
            fact('exit-manual', page, item, behind)
        elif item:
            fact('manual', page, section, item)
        for default in re.findall(r'Default: .*', behind):
            fact('default', page, section, item, default)
