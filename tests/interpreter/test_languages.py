"""The other kernels, where they are installed."""

ODD = "a\nb 'c' \"d\" \\ \u00e9 \U0001f600 $HOME `x`"


def test_bash(service, language):
    bash = language("bash")
    assert service.run("X=3; echo $((X * 2))", **bash).stdout == "6\n"
    assert service.run("echo $X; pwd", **bash).stdout.split() == ["3", str(service.home)]
    assert service.run('printf %s "$ODD"', env_vars={"ODD": ODD}, **bash).stdout.replace("\r\n", "\n").rstrip("\n") == ODD
    assert service.run("echo ${ODD-gone}", **bash).stdout == "gone\n"
    assert service.run("false", **bash).error["value"] == "1"


def test_javascript(service, language):
    js = language("js")
    got = service.run("const x = 3; console.log('out'); console.error('err'); x + 1", **js)
    assert (got.stdout, got.stderr, got.text) == ("out\n", "err\n", "4")
    assert service.run("await Promise.resolve(x * 2)", **js).text == "6"
    assert service.run("console.log(JSON.stringify(process.env.ODD))", env_vars={"ODD": ODD}, **js).stdout.encode().decode("unicode_escape", "ignore")
    assert service.run("String(process.env.ODD)", **js).text == "undefined"
    assert service.run("throw new TypeError('bad')", **js).error["name"] == "TypeError"
    for number in range(30):  # a result is never behind the end
        assert service.run(f"let a{number} = {number}; a{number}", **js).text == str(number)


def test_typescript(service, language):
    assert service.run("const n: number = 5; n", **language("ts")).text == "5"


def test_r(service, language):
    r = language("r")
    assert service.run("x <- 3; cat('out\\n'); x * 2", **r).stdout == "out\n"
    assert "6" in service.run("x * 2", **r).text
    assert service.run("cat(Sys.getenv('ODD'))", env_vars={"ODD": ODD}, **r).stdout == ODD
    assert service.run("cat(Sys.getenv('ODD', 'gone'))", **r).stdout == "gone"
    assert service.run("stop('bad')", **r).error["value"]
