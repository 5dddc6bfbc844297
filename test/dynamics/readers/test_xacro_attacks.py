"""What a xacro file may not do: a table of attacks, each refused with one error in time, and what goes on to work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from watchdog import watched

from thunder_dynamics.errors import RobotFileError
from thunder_dynamics.readers import load_model, xacro
from thunder_dynamics.readers.xacro import expand_xacro

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
XMLNS = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
SECRET = "the secret of another user"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with a folder urdf; beside it a secret, to which a link in the package leads, too."""
    folder = tmp_path / "arm_description"
    (folder / "urdf").mkdir(parents=True)
    (folder / "package.xml").write_text("<package/>")
    (folder / "values.yaml").write_text("mass: 2.5\ntype: arm\nf_max: 7\nangle: !degrees 180\n")
    (folder / "part.xacro").write_text('<robot><link name="part"/></robot>')
    (tmp_path / "secret.yaml").write_text(f"secret: {SECRET}\n")
    (folder / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    (folder / "linked").symlink_to(tmp_path, target_is_directory=True)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    return folder


def expand(package: Path, body: str, **options: object) -> str:
    file = package / "urdf" / "arm.xacro"
    file.write_text(f'<robot name="arm" {XMLNS}>{body}</robot>', encoding="utf-8")
    return expand_xacro(file, **options)  # type: ignore[arg-type]


def value(expression: str) -> str:
    return f'<link name="{expression}"/>'


def loaded(file: object) -> str:
    return value(f"${{xacro.load_yaml('{file}').secret}}")


def included(file: object) -> str:
    return f'<xacro:include filename="{file}"/>'


def prop(name: str, text: str) -> str:
    return f'<xacro:property name="{name}" value="{text}"/>'


D = "python['vars'](python['type'](xacro.tokenize))['__globals__']"
RECURSION = '<xacro:macro name="m" params="">{}</xacro:macro><xacro:m/>'
LAUGHS = "".join(f'<xacro:macro name="m{k}"><xacro:m{k - 1}/><xacro:m{k - 1}/></xacro:macro>' for k in range(1, 60))

ATTACKS = {
    # --- files
    "a file of the system": (loaded("/etc/passwd"), "it may not read /etc/passwd"),
    "a file outside, by climbing": (loaded("../../secret.yaml"), "secret.yaml"),
    "a file outside, by a link": (loaded("../link.yaml"), "it may not read"),
    "a file outside, in a linked folder": (loaded("../linked/secret.yaml"), "it may not read"),
    "a file outside, absolute": (loaded("PARENT/secret.yaml"), "it may not read PARENT/secret.yaml"),
    "a file by bytes": (value("${xacro.load_yaml(b'/etc/passwd')}"), "it may not read /etc/passwd"),
    "the environment as a file": (loaded("/proc/self/environ"), "it may not read /proc/self/environ"),
    "an endless file": (loaded("/dev/zero"), "it may not read /dev/zero"),
    "an include of the system": (included("/etc/passwd"), "it may not read /etc/passwd"),
    "an include outside": (included("../../secret.yaml"), "it may not read"),
    "an optional include outside": ('<xacro:include filename="/etc/passwd" optional="true"/>', "it may not read"),
    "an include by pattern": (included("/etc/passw*"), "it may not read /etc"),
    "an include by pattern in a linked folder": (included("../linked/*"), "it may not read"),
    "a folder": (included("../urdf"), "is no file or too large"),
    "a pipe": (included("../pipe"), "is no file or too large"),
    "a file that is too large": (included("../large"), "is no file or too large"),
    # --- networks and packages
    "a file of the network": (included("http://localhost:1/part.xacro"), "cannot be read"),
    "a file URI": (included("file:///etc/passwd"), "cannot be read"),
    "a package that climbs": (included("$(find ../..)/x.xacro"), "no package '../..'"),
    "a package that is not there": (included("$(find nothing)/x.xacro"), "no package 'nothing'"),
    "a package, then out": (included("$(find other)/../../secret.yaml"), "no package 'other'"),
    # --- environment
    "the environment": (value("$(env HOME)"), "the environment variable 'HOME' is not allowed"),
    "the environment with a default": (value("$(optenv HOME x)"), "the environment variable 'HOME' is not allowed"),
    "an allowed variable that is not set": (value("$(env ROBOT_NAME)"), "'ROBOT_NAME' is not set; valid: $(optenv …)"),
    # --- the interpreter
    "eval": (value("$(eval 1 + 1)"), "$(eval …) is not allowed"),
    "eval of an import": (value("$(eval __import__('os').mkdir('MARK'))"), "$(eval …) is not allowed"),
    "open": (value("${open('MARK', 'w')}"), "name 'open' is not defined"),
    "import": (value("${__import__('os')}"), "'__import__' is not allowed"),
    "builtins": (value("${__builtins__}"), "'__builtins__' is not allowed"),
    "a class": (value("${().__class__.__mro__[1].__subclasses__()}"), "'__subclasses__' is not allowed"),
    "globals of a function": (value("${xacro.load_yaml.__globals__}"), "'__globals__' is not allowed"),
    "a class by format": (value("${'{0.__class__\\x7d'.format(1)}"), "'format' is not allowed"),
    "format of a property": (prop("t", "{0.__class__}") + value("${t.format(1)}"), "'format' is not allowed"),
    "format as a value": (value("${list(map(str.format, ['{0\\x7d'], [1]))}"), "'format' is not allowed"),
    "a class by format_map": (value("${'{a.__class__\\x7d'.format_map(dict(a=1))}"), "'format_map' is not allowed"),
    "a private method": (value("${xacro._setitem('fatal', 1)}"), "'_setitem' is not allowed"),
    "a frame": (value("${(k for k in [1]).gi_frame.f_back}"), "is not allowed"),
    "bases": (value("${python.map.mro()}"), "'mro' is not allowed"),
    "type": (value("${python.type(1)}"), "'type' is not allowed"),
    "type by item": (value("${python['type'](1)}"), "'type' is not allowed"),
    "type by key": (value("${python.get('type')(1)}"), "'type' is not allowed"),
    "vars": (value("${python.vars(xacro)}"), "'vars' is not allowed"),
    "a descriptor": (
        value(f"${{python['vars'](python['type']({D}))['__get__']({D}, xacro.tokenize)['os'].mkdir('MARK')}}"),
        "'type' is not allowed",
    ),
    "an expression with an encoding": (
        "${# coding: unicode_escape\n(lambda: ('\\x27', ().__class__, '\\x27'))()}",
        "'__class__' is not allowed",
    ),
    "an expression in YAML": (value("${xacro.load_yaml('../tag.yaml')}"), "'__class__' is not allowed"),
    "an expression that is deep": (value("${" + "(" * 5000 + "1" + ")" * 5000 + "}"), "expand it"),
    "an expression that is long": (value("${" + "-" * 100_000 + "1}"), "xacro"),
    # --- time and memory
    "a great power": (value("${10**10**9}"), "TIME"),
    "a great power of properties": (prop("n", "${10**9}") + value("${10**n}"), "TIME"),
    "a long text": (value("${'a'*10**12}"), "it takes more than 1024 MiB of memory"),
    "a long list": (value("${list(range(10**10))}"), "it takes more than 1024 MiB of memory"),
    "a long loop": (value("${python.sum(python.range(10**15))}"), "TIME"),
    "a long number": (value("${str(2**100000)}"), "Exceeds the limit"),
    "a regular expression": (value("${xacro.tokenize('x' + 'a' * 50, 'x](a+)+[b')}"), "TIME"),
    "long warnings": (value("${[xacro.warning('a'*10**6) for k in range(10**4)]}"), "1024 MiB of memory|TIME"),
    "a long answer": (value("${'a'*10**7}"), "it expands to more than 4096 KiB"),
    "lambdas without end": (value("${(lambda f: f(f))(lambda f: f(f))}"), "nested too deeply, or contains itself"),
    "macros without end": (RECURSION.format("<xacro:m/>"), "nested too deeply, or contains itself"),
    "macros that double": ('<xacro:macro name="m0"><link/></xacro:macro>' + LAUGHS + "<xacro:m59/>", "TIME"),
    "an include of itself": (included("arm.xacro"), "nested too deeply, or contains itself"),
    "a property of itself": (prop("a", "${a}") + value("${a}"), "circular variable definition"),
    "nested elements": ("<a>" * 20_000 + "</a>" * 20_000, "nested too deeply"),
    "aliases in YAML": (value("${xacro.load_yaml('../bomb.yaml')}"), "it takes more than 1024 MiB of memory|TIME"),
    "nesting in YAML": (value("${xacro.load_yaml('../deep.yaml')}"), "nested too deeply, or contains itself"),
    "entities in an include": (included("../laughs.xacro"), "laughs.xacro:1: a DOCTYPE is not allowed"),
    "an entity of a file in an include": (included("../entity.xacro"), "entity.xacro:2: a DOCTYPE is not allowed"),
}


def prepare(package: Path) -> None:
    os.mkfifo(package / "pipe")
    with (package / "large").open("wb") as file:
        file.truncate(5 << 20)
    rows = [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 12)]
    (package / "bomb.yaml").write_text("\n".join(["a0: &a0 [1, 1]", *rows]))
    (package / "deep.yaml").write_text("a: " + "[" * 500)
    (package / "tag.yaml").write_text("a: !degrees ().__class__\n")
    entities = "".join(f'<!ENTITY e{k} "&e{k - 1};&e{k - 1};">' for k in range(1, 40))
    (package / "laughs.xacro").write_text(f'<!DOCTYPE r [<!ENTITY e0 "ha">{entities}]><robot a="&e39;"/>')
    (package / "entity.xacro").write_text('\n<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]><robot>&e;</robot>')


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused_with_one_error(package: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    limit = 3.0 if "TIME" in ATTACKS[name][1] else xacro.SECONDS
    monkeypatch.setattr(xacro, "SECONDS", limit)
    prepare(package)
    mark = package / "mark"
    body, reason = (text.replace("PARENT", str(package.parent)).replace("MARK", str(mark)) for text in ATTACKS[name])
    with watched(), pytest.raises(RobotFileError) as caught:
        expand(package, body)
    message = str(caught.value)
    expected = [f"takes longer than {limit:g} s" if part == "TIME" else part for part in reason.split("|")]
    assert any(part in message for part in expected), message
    assert str(package) in message and "\n" not in message and len(message) < 1000
    assert SECRET not in message and not mark.exists()


@pytest.mark.parametrize(
    "call",
    [
        "<xacro:m><x>BB</x><c/></xacro:m>",
        "BB<x><xacro:m><b>B<b>B</b></b><c/></xacro:m></x>",
        "<x>BB<y><xacro:property name='p'/><xacro:m><b v='-0.897'>B<b>B</b></b><c/></xacro:m></y></x>",
    ],
    ids=["inside", "twice", "beside a property"],
)
def test_blocks_that_double_until_no_memory_is_left_are_told_as_that(
    package: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """An interpreter without memory for a MemoryError raises SystemError or ends by SIGABRT; found by fuzzing."""
    monkeypatch.setattr(xacro, "MEMORY", 64 << 20)
    body = call.replace("B", "<xacro:insert_block name='b'/>")
    with pytest.raises(RobotFileError, match="it takes more than 64 MiB of memory"):
        expand(package, f"<xacro:macro name='m' params='*b **c'>{body}</xacro:macro><xacro:m><b/><c/></xacro:m>")


def test_the_secret_would_be_read_if_the_folder_were_named(package: Path) -> None:
    """The table above proves something: the same text is expanded where it is allowed."""
    assert SECRET in expand(package, loaded("../../secret.yaml"), xacro_folders=[package.parent])
    assert SECRET in expand(package, loaded("../link.yaml"), xacro_folders=[package.parent])
    assert SECRET in expand(package, loaded(package.parent / "secret.yaml"), xacro_folders=[package.parent])


def test_folders_are_named_by_an_option_of_the_reader(tmp_path: Path) -> None:
    (tmp_path / "arm.xacro").write_text(f"<robot name='arm' {XMLNS}>{included(ROOT / 'urdf/panda.urdf.xacro')}</robot>")
    with pytest.raises(RobotFileError, match="it may not read"):
        load_model(tmp_path / "arm.xacro")
    assert load_model(tmp_path / "arm.xacro", name="arm", xacro_folders=[str(ROOT / "urdf")]).n == 7


def test_a_file_without_a_package_reads_its_own_folder_alone(tmp_path: Path) -> None:
    (tmp_path / "up.yaml").write_text("secret: 1")
    (tmp_path / "down").mkdir()
    (tmp_path / "down/beside.yaml").write_text("secret: beside")
    file = tmp_path / "down" / "arm.xacro"
    for name in ("beside", "../up"):
        file.write_text(f'<robot name="arm">{loaded(f"{name}.yaml")}</robot>')
        if name == "beside":
            assert 'name="beside"' in expand_xacro(file)
        else:
            with pytest.raises(RobotFileError, match="it may not read"):
                expand_xacro(file)


def test_what_descriptions_do_goes_on_to_work(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROBOT_NAME", "seven")
    body = (
        prop("v", "${xacro.load_yaml('../values.yaml')}")
        + prop("type", "ur")
        + included("../par?.xacro")
        + '<xacro:include filename="../part.xacro" ns="ns"/>'
        + value("${v.mass} ${v['type']} ${v.type} ${v.f_max} ${round(v.angle, 2)} ${type}")
        + value("$(env ROBOT_NAME) $(optenv NOBODY_HAS_SET_THIS none) ${'%.1f' % 3} ${[k*k for k in range(3)]}")
        + value("${list(map(lambda x: x + 1, [1]))} ${sin(0)} ${max(1, 2)} ${' a '.strip().replace('a', 'b')}")
        + "${xacro.warning('a warning')}"
    )
    text = expand(package, body)
    assert 'name="2.5 arm arm 7 3.14 ur"' in text and 'name="seven none 3.0 [0, 1, 4]"' in text
    assert 'name="[2] 0.0 2 b"' in text and text.count('name="part"') == 2


@pytest.mark.parametrize("links", [False, True], ids=["copied", "symlink-install"])
def test_a_package_named_by_find_is_read_and_nothing_beside_it(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    source = package
    share = tmp_path / "install/share/arm_description"
    for name in ("package.xml", "values.yaml"):
        (share / name).parent.mkdir(parents=True, exist_ok=True)
        (share / name).symlink_to(source / name) if links else (share / name).write_text((source / name).read_text())
    marker = tmp_path / "install/share/ament_index/resource_index/packages/arm_description"
    marker.parent.mkdir(parents=True)
    marker.touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path / 'install'}")
    other = tmp_path / "other"
    (other / "urdf").mkdir(parents=True)
    mass = "${{xacro.load_yaml('{}').mass}}"
    assert 'name="2.5"' in expand(other, value(mass.format("$(find arm_description)/values.yaml")))
    with pytest.raises(RobotFileError, match="it may not read"):
        expand(other, value(mass.format(f"{source}/values.yaml")))  # nothing has named that package
    with pytest.raises(RobotFileError, match="it may not read"):
        expand(other, loaded("$(find arm_description)/../../../secret.yaml"))
    with pytest.raises(RobotFileError, match="no package '../packages/arm_description'"):
        expand(other, loaded("$(find ../packages/arm_description)/values.yaml"))


@pytest.mark.parametrize("kind", ["manifest", "named", "outer manifest"])
def test_a_manifest_that_is_a_link_opens_nothing(package: Path, tmp_path: Path, kind: str) -> None:
    """Who sends a description may send links with it: only the ament index, and the caller, say what else is read."""
    (package / "package.xml").unlink()
    if kind == "outer manifest":
        (tmp_path / "away").mkdir()
        (tmp_path / "away/package.xml").write_text("<package><name>away</name></package>")
        (tmp_path / "away/secret.yaml").write_text(f"secret: {SECRET}\n")
        (package / "package.xml").symlink_to(tmp_path / "away/package.xml")
        body = loaded("$(find away)/../away/secret.yaml")
    else:
        (package / "package.xml").symlink_to(tmp_path / "secret.yaml")
        body = loaded("$(find arm)/../secret.yaml" if kind == "named" else "../../secret.yaml")
    with pytest.raises(RobotFileError, match="it may not read"):
        expand(package, body, packages={"arm": package} if kind == "named" else {})
    assert 'name="2.5"' in expand(package, value("${xacro.load_yaml('../values.yaml').mass}"))


def test_a_link_to_a_description_does_not_mix_it_with_what_lies_beside_the_link(package: Path, tmp_path: Path) -> None:
    """A file elsewhere that includes by a relative path would run what lies beside the link, in its own package."""
    file = package / "urdf" / "arm.xacro"
    file.write_text(f'<robot name="arm" {XMLNS}>{included("extra.xacro")}</robot>')
    evil = tmp_path / "evil"
    evil.mkdir()
    (evil / "package.xml").write_text("<package/>")
    (evil / "arm.xacro").symlink_to(file)
    (evil / "extra.xacro").write_text(f"<robot {XMLNS}>{loaded(package / 'values.yaml')}</robot>")
    with pytest.raises(RobotFileError, match="it may not read .*evil/extra.xacro"):
        expand_xacro(evil / "arm.xacro")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who may give files away")
def test_a_manifest_of_another_user_makes_no_package(tmp_path: Path) -> None:
    """Anyone may write a package.xml into /tmp, where others unpack their descriptions."""
    (tmp_path / "package.xml").write_text("<package><name>planted</name></package>")
    (tmp_path / "secret.yaml").write_text(f"secret: {SECRET}\n")
    (tmp_path / "arm").mkdir()
    file = tmp_path / "arm/arm.xacro"
    file.write_text(f'<robot name="arm" {XMLNS}>{loaded("../secret.yaml")}</robot>')
    assert SECRET in expand_xacro(file)
    os.chown(tmp_path / "package.xml", 12345, 12345)
    for path in ("../secret.yaml", "$(find planted)/secret.yaml"):
        file.write_text(f'<robot name="arm" {XMLNS}>{loaded(path)}</robot>')
        with pytest.raises(RobotFileError, match="it may not read|no package 'planted'"):
            expand_xacro(file)


def test_a_file_of_a_symlink_install_reads_its_package_by_both_paths(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expand(package, value("${xacro.load_yaml('../values.yaml').mass}"))
    share = tmp_path / "install/share/arm_description"
    (share / "urdf").mkdir(parents=True)
    for name in ("package.xml", "values.yaml", "urdf/arm.xacro"):
        (share / name).symlink_to(package / name)
    assert 'name="2.5"' in expand_xacro(share / "urdf/arm.xacro")
    made = share / "urdf/made.xacro"  # by the build: it lies in the install space alone
    made.write_text((package / "urdf/arm.xacro").read_text())
    with pytest.raises(RobotFileError, match="it may not read"):
        expand_xacro(made)
    marker = tmp_path / "install/share/ament_index/resource_index/packages/arm_description"
    marker.parent.mkdir(parents=True)
    marker.touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "install"))
    assert 'name="2.5"' in expand_xacro(made)


@pytest.mark.parametrize("file", sorted((ROOT / "urdf").glob("panda*.urdf.xacro")), ids=lambda file: file.name)
def test_our_own_files_are_expanded(file: Path) -> None:
    assert "<link" in expand_xacro(file)


REQUEST = {
    "limits": {"bytes": 1 << 20, "seconds": 10, "memory": 1 << 30, "open_files": 16},
    "packages": {},
    "package_option": "",
}

STATEMENTS = [
    "os.system('true')",
    "os.fork()",
    "os.execv('/bin/true', ['true'])",
    "os.posix_spawn('/bin/true', ['true'], {})",
    "subprocess.run(['true'])",
    "socket.socket()",
    "socket.getaddrinfo('localhost', 1)",
    "ctypes.CDLL(None)",
    "__import__('antigravity')",
    "open('mark', 'w')",
    "os.open('mark', os.O_RDWR | os.O_CREAT)",
    "open('/etc/passwd')",
    "open(0)",
    "os.listdir('/')",
    "os.scandir('/')",
    "os.mkdir('mark')",
    "os.remove('mark')",
    "os.rename('a', 'b')",
    "os.symlink('a', 'mark')",
    "os.chmod('.', 0)",
    "os.kill(1, 0)",
    "os.putenv('A', 'B')",
    "mmap.mmap(-1, 1)",
    "resource.setrlimit(resource.RLIMIT_CORE, (1, 1))",
    "exec('1')",
    "eval('1')",
    "eval(READY)",
    "compile('1', 'x', 'eval')",
    "(lambda: 0).__code__",
    "sys._getframe()",
    "pickle.loads(pickle.dumps(print))",
    "shutil.copyfile('/etc/passwd', 'mark')",
]


def test_the_audit_hook_sees_what_leads_out(tmp_path: Path) -> None:
    """Were an expression to reach the interpreter after all, the process would still do nothing."""
    modules = "ctypes, json, mmap, os, pickle, resource, shutil, socket, subprocess, sys"
    code = (
        f"import {modules}\nfrom pathlib import Path\n"
        f"from thunder_dynamics.readers import xacro_child as child\n"
        f"READY = compile('1', 'x', 'eval')\n"
        f"attacks = [{', '.join(f'lambda: {statement}' for statement in STATEMENTS)}]\n"
        f"child._restrict(child._Guard([Path.cwd()], {REQUEST}))\n"
        f"for attack in attacks:\n"
        f"    try: attack()\n"
        f"    except child._RefusedError as error: print('refused')\n"
        f"    else: print('passed')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    answers = dict(zip(STATEMENTS, done.stdout.split(), strict=True))
    assert [statement for statement, answer in answers.items() if answer != "refused"] == [], done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_process_has_limits(tmp_path: Path) -> None:
    code = (
        "import resource as r\nfrom thunder_dynamics.readers import xacro_child as child\n"
        f"child._restrict(child._Guard([], {REQUEST}))\n"
        "kinds = (r.RLIMIT_AS, r.RLIMIT_CPU, r.RLIMIT_FSIZE, r.RLIMIT_NOFILE, r.RLIMIT_NPROC, r.RLIMIT_CORE)\n"
        "print([r.getrlimit(k) for k in kinds])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    values = (1 << 30, 10, 4 << 20, 16, 0, 0)
    hard = [value + (value == 10) for value in values]  # a second for the signal that says so
    assert done.stdout.strip() == str(list(zip(values, hard, strict=True)))
