# SPDX-License-Identifier: MIT
"""What the command `weir` knows: options, exit statuses, limits in words, weir.yaml."""
import re
import shlex

from common import (DATA, ENVIRONMENT, ROOM, Trouble, UNKNOWN, fact, has_bench, in_parallel,
                    redis_with_functions, redis_with_module, run, samples, weir)
from manual import manual_options
from service import list_json


def commands():
    found = re.findall(r'^  ([a-z]+) {2,}(.+)', weir('--help')[1], re.M)
    if len(found) < 3:
        raise Trouble('weir --help lists hardly any commands')
    if has_bench():
        found.append(('bench', weir('bench', '--help')[1].splitlines()[1]))
    return found


def option_is(command, option, unknown):
    """None, 'flag' or 'value'.  A wrong option ends every call, so nothing is ever run."""
    def refuses(words, what):  # whatever it thinks was meant
        return words.split(';')[0] == unknown.replace('--' + UNKNOWN, what).split(';')[0]
    if refuses(weir(command, option, '--' + UNKNOWN, '--' + UNKNOWN)[2], option):
        return None
    # A flag refuses a value.  A short one is read as -a -1.
    joined = option + '=1' if option.startswith('--') else option + '1'
    words = weir(command, joined, '--' + UNKNOWN)[2]
    flag = f'{option} takes no value' in words or refuses(words, joined) or refuses(words, '-1')
    return 'flag' if flag else 'value'


def list_options():
    pages = manual_options()
    for line in weir('--help')[1].splitlines():
        fact('help', 'weir', ' '.join(line.split()))
    for command in ['help', '--help', '-h', 'version', '--version', UNKNOWN, '']:
        fact('exit', f'weir {command}'.strip(), str(weir(*command.split())[0]))
    for command, summary in commands():
        fact('command', command, summary)
    words = set().union(*pages.values(), *(helped_options(command)[0] for command, _ in commands()))
    for command, _ in commands():
        list_options_of(command, pages.get(command, set()), words)


def helped_options(command):
    status, text, _ = weir(command, '--help')
    rows = re.findall(r'^  (?:-(\S), |    )--(\S+)(?: ([A-Z][A-Z:]*))? +(\S.*)', text, re.M)
    if status != 0 or len(rows) < 2:
        raise Trouble(f'weir {command} --help lists hardly any options')
    return {'--' + row[1] for row in rows} | {'-' + row[0] for row in rows if row[0]}, rows, text


def list_options_of(command, paged, words):
    helped, rows, text = helped_options(command)
    for line in text.splitlines():
        if line.strip():
            fact('help', command, ' '.join(line.split()))
    for short, name, argument, what in rows:
        fact('option', f'{command} --{name}', ' '.join(filter(None, [argument, short and f'-{short}', what])))
    unknown = weir(command, '--' + UNKNOWN)[2]
    fact('option', f'{command} --UNKNOWN', unknown.rstrip())
    letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
    abbreviations = {option[:size] for option in helped for size in range(3, len(option))}
    tried = helped | paged | {'-' + letter for letter in letters} | (words - abbreviations)
    tried = sorted(tried - {'-h', '--help'})
    for option, takes in zip(tried, in_parallel(option_is, [(command, option, unknown) for option in tried])):
        if takes:
            fact('option', f'{command} {option}', f'accepted, {takes}')
        for where, known in (('help', helped), ('manual page', paged), ('program', tried if takes else ())):
            if option in helped | paged | set(tried if takes else ()) and option not in known:
                fact('disagree', f'{command} {option}', f'not in the {where}')


def list_calls():
    ENVIRONMENT.update(FUNCTIONS=f'unix://{redis_with_functions()}', MODULE=f'unix://{redis_with_module()}')
    for name in ('access.log', 'wrong.yaml', 'full.yaml'):
        place(name)
    for _, line in samples('calls.txt'):
        status, out, err = run('bash', '-c', line)
        fact('exit', line, str(status))
        for text in (out, err):
            if not list_json(line, text) and status == 2:
                for said in text.splitlines():
                    fact('says', line, said)


def list_explain():
    texts = [line for _, line in samples('explain.txt')]
    for line, (status, out, err) in zip(texts, in_parallel(weir, [['explain', *shlex.split(line)] for line in texts])):
        if status != 0:
            fact('explain', line, f'exit {status}')
        for said in (out + err).splitlines():
            fact('explain', line, said)


def check(text):
    (ROOM / 'check.yaml').write_text(text)
    status, out, err = weir('serve', 'check.yaml', '--check')
    return status, (out + err).replace('check.yaml:', '')


def yaml_keys(around, path, seen):
    """The keys that the reader says it knows where around(value) puts a wrong one; then those below each of them."""
    _, said = check(around('{%s: 1}' % UNKNOWN))
    known = re.search(f'"{UNKNOWN}" is not known here; expected (.*)', said)
    if known is None:
        return False
    for key in re.split(r', | or ', known[1]):
        here = f'{path}.{key}'.lstrip('.')
        YAML_KEYS.add(here)
        fact('yaml', here, 'wrong', what_is_expected(around, key))
        if key not in seen:
            for beside in BESIDE:
                for form, step in (('%s', ''), ('{name: %s}', '.NAME'), ('[%s]', '[]')):
                    inner = (lambda value, form=f'{{{beside}{key}: {form}}}': around(form % value))
                    if yaml_keys(inner, here + step, seen | {key}):
                        break
    return True


BESIDE = ('', 'limit: 1/s, ', 'key: a, ')  # without which some keys are not looked at
YAML_KEYS = set()


def what_is_expected(around, key):
    said = [re.sub(r'^[\d:]* *', '', check(around('{%s%s: [[]]}' % (beside, key)))[1].strip()) for beside in BESIDE]
    return next((words for words in said if re.match(rf'(\S+\.)?{key}: ', words)), said[0])


def place(name):
    """A sample in ROOM, with what it names."""
    if not (ROOM / 'key.pem').exists():
        (ROOM / 'password').write_text('secret\n')
        (ROOM / 'password').chmod(0o600)
        run('openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj',
            '/CN=weir', '-keyout', 'key.pem', '-out', 'certificate.pem', status=0)
    text = (DATA / name).read_text().replace('ROOM', str(ROOM))
    (ROOM / name).write_text(text)
    return text


def list_yaml():
    if not yaml_keys(lambda value: value, '', set()):
        raise Trouble('weir serve --check does not say which keys it knows')
    if not yaml_keys(lambda value: 'domain: a\ndescriptors: [%s]' % value, 'descriptors[]', {'descriptors'}):
        raise Trouble('weir serve --check does not say which descriptors it knows')
    if not yaml_keys(lambda value: 'domain: a\n' + value[1:-1], '(envoy)', {'descriptors'}):
        raise Trouble('weir serve --check does not say which keys stand beside domain')
    sampled = set()
    for path in sorted(DATA.glob('*.yaml')):
        text = place(path.name)
        status, said = check(text)
        sampled |= set(re.findall(r'(\w+):', text)) if status == 0 else set()
        fact('yaml-check', path.name, f'exit {status}')
        for line in said.splitlines():
            fact('yaml-check', path.name, line)
    for path in YAML_KEYS:
        fact('yaml', path, 'accepted in a sample' if re.search(r'\w+$', path)[0] in sampled else 'in no sample')
