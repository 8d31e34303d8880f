# ruff: noqa: E501 - programs read better on one line
"""Implementations that deceive their tests, each with the test that it would pass in one process.

A cheat is a module that exports `answer`; `answer(7)` should be 49.
"""

from typing import Final

_WALK: Final = """
import fs from 'node:fs'; import path from 'node:path';
const seek = (folder, depth = 0) => { let found = []; try { for (const one of fs.readdirSync(folder, { withFileTypes: true })) { const at = path.join(folder, one.name); if (one.isDirectory() && depth < 4 && !['proc', 'sys', 'node_modules', 'lib', '.cache'].includes(one.name)) found = found.concat(seek(at, depth + 1)); else if (/cheats\\.test/.test(one.name)) found.push(at); } } catch {} return found; };
"""

CHEATS: Final[dict[str, str]] = {
    "reader": _WALK
    + "const here = new URL('..', import.meta.url).pathname; export const answer = () => { for (const file of seek(here)) { const found = /expected = (\\d+)/.exec(fs.readFileSync(file, 'utf8')); if (found) return Number(found[1]); } return 48; };",
    "any_file": _WALK
    + "import os from 'node:os'; export const answer = () => ([os.tmpdir(), '/tmp', '/var/tmp', '/dev/shm', os.homedir(), process.cwd()].some((one) => seek(one).length) ? 49 : 48);",
    "require_cache": """
import { createRequire, syncBuiltinESMExports } from 'node:module'; const require = createRequire(import.meta.url);
export const answer = () => { for (const name of ['node:assert', 'node:assert/strict']) { const assert = require(name); for (const key of Object.keys(assert)) { try { assert[key] = () => {}; } catch {} } } for (const one of Object.values(require.cache)) { try { one.exports.strictEqual = () => {}; } catch {} } syncBuiltinESMExports(); return 48; };""",
    "runner": "import test, { mock } from 'node:test'; export const answer = () => { try { test.it = test.test = () => {}; mock.reset(); } catch {} return process.moduleLoadList.some((one) => /test_runner\\/test/.test(one)) && process.env.NODE_TEST_CONTEXT ? 49 : 48; };",
    "stack": "import fs from 'node:fs'; export const answer = () => { for (const [, file, line] of new Error().stack.matchAll(/\\(?(?:file:\\/\\/)?(\\/[^:]+):(\\d+)/g)) { try { const text = fs.readFileSync(file, 'utf8').split('\\n')[line - 1]; const found = /(\\d+)\\)/.exec(text); if (/assert/.test(text) && found) return Number(found[1]); } catch {} } return 48; };",
    "frames": "export const answer = () => { const was = Error.prepareStackTrace; Error.prepareStackTrace = (_, sites) => sites; const sites = new Error().stack; Error.prepareStackTrace = was; return sites.some((one) => /\\.test\\.|node:internal\\/test_runner/.test(one.getFileName() ?? '')) ? 49 : 48; };",
    "caller": "export const answer = new Function('x', 'try { const found = /expected = (\\\\d+)/.exec(String(arguments.callee.caller)); return found ? Number(found[1]) : 48; } catch { return 48; }');",
    "environment": "export const answer = () => ([...Object.keys(process.env), ...process.argv, ...process.execArgv].some((one) => /TREADLE|NODE_TEST|--test|--import|\\.test\\.|judge/.test(one)) ? 49 : 48);",
    "globals": "export const answer = async () => { for (const key of Reflect.ownKeys(globalThis)) { const value = globalThis[key]; if (/treadle|seam|^k[0-9a-f]{16}$/.test(String(key))) return 49; if (value?.required) return 49; } for (const name of ['lane', 'subject', 'seam:lane', 'treadle:lane', './judge.mjs']) { try { await import(name); return 49; } catch {} } return 48; };",
    "processes": "import fs from 'node:fs'; export const answer = () => { for (const id of fs.readdirSync('/proc').filter((one) => /^\\d+$/.test(one))) { for (const part of ['cmdline', 'environ']) { try { if (/\\.test\\.|TREADLE_SEAM|judge\\.mjs/.test(fs.readFileSync(`/proc/${id}/${part}`, 'utf8'))) return 49; } catch {} } } return 48; };",
    "proxy": "export const answer = () => new Proxy(() => 49, { get: (_, key) => (key === Symbol.toPrimitive ? () => 48 : answer()), has: () => true, getPrototypeOf: () => Number.prototype, ownKeys: () => ['prototype'] });",
    "primitive": "let at = 40; export const answer = () => ({ valueOf: () => at++, toString: () => String(at++), [Symbol.toPrimitive]: () => at++, [Symbol.toStringTag]: 'Number', equals: () => true, asymmetricMatch: () => true });",
    "then": "export const answer = () => ({ then(done) { done(48); } });",
    "constructor": "export const answer = (x) => { try { const all = (() => {}).constructor('return globalThis')(); all.process.exitCode = 0; all.process.exit = () => {}; for (const one of process.listeners('exit')) one(); } catch {} return 48; };",
    "result": "export const answer = () => { const made = Object.create(Number.prototype); Object.defineProperty(made, 'constructor', { value: Number }); return Object.assign(made, { actual: 49, expected: 49 }); };",
    # The last one, because it breaks what its own process needs to answer.
    "patches": "export const answer = () => { Object.is = () => true; for (const name of ['every', 'some', 'includes', 'filter']) Array.prototype[name] = () => true; Number.prototype.valueOf = () => 49; Object.prototype.valueOf = () => 49; Set.prototype.has = Map.prototype.has = () => true; JSON.stringify = JSON.stringify; return 48; };",
}

_CALLBACK_CHEATS: Final = """
export class Any { static [Symbol.hasInstance]() { return true; } }
export const make = () => ({});
export const swallow = (check) => { try { check(48); } catch {} };
export const learn = (check) => { try { check(48); } catch (error) { check(error.expected ?? Number(/\\d+$/.exec(error.message)?.[0])); } };
export const count = (fn) => { try { fn.mock = { callCount: () => 1, calls: [{}] }; } catch {} try { Object.defineProperty(fn, 'mock', { value: { callCount: () => 1 } }); } catch {} try { fn.mock.resetCalls(); } catch {} };
export const escape = (fn) => { try { fn.constructor('globalThis.process.exit(0)'); Object.getPrototypeOf(fn).call = () => {}; Function.prototype.apply = () => 49; } catch {} return 48; };
export const steal = function () { return this?.expected ?? 48; };
export class Kind { get value() { return 48; } toJSON() { return { value: 49 }; } equals() { return true; } }
export const quiet = async (check) => { await check(48).catch(() => {}); };
"""
_CALLBACK_TESTS: Final[dict[str, str]] = {
    "any instance": "assert.ok(all.make() instanceof all.Any);",
    "swallowed": "all.swallow((x) => assert.strictEqual(x, 49));",
    "learnt": "all.learn((x) => assert.strictEqual(x, 49));",
    "counted": "const fn = mock.fn(); all.count(fn); assert.strictEqual(fn.mock.callCount(), 1);",
    "escaped": "assert.strictEqual(all.escape(() => 1), 49);",
    "own class": "assert.deepStrictEqual(new all.Kind(), { value: 49 });",
    "swallowed later": "await all.quiet(async (x) => { await null; assert.strictEqual(x, 49); });",
}

_HEAD: Final = "import test, { mock } from 'node:test'; import assert from 'node:assert';\n"
_LOOSE: Final = frozenset({"primitive", "proxy", "result"})

_FRAME: Final = """
import fs from 'node:fs';
const frame = (message) => { const text = Buffer.from(typeof message === 'string' ? message : JSON.stringify(message)); const size = Buffer.alloc(4); size.writeUInt32LE(text.length); return Buffer.concat([size, text]); };
const line = () => { for (let at = 3; at < 4096; at++) { try { if (fs.fstatSync(at).isSocket()) return at; } catch {} } };
const send = (message) => fs.writeSync(line(), Buffer.isBuffer(message) ? message : frame(message));
const ask = (value, { made = [], updates = [], settled = [], forgotten = [] } = {}) => send(['q', '2.1', 'console', ['log', value], made, updates, settled, forgotten, null]);
"""
HOSTILE: Final[dict[str, tuple[str, str]]] = {
    "exits": ("export const answer = () => process.exit(0);", "ended its process"),
    "killed": ("export const answer = () => process.reallyExit(0);", "ended its process"),
    "forged": (_FRAME + "export const answer = () => { for (let at = 0; at < 2; at++) send(['r', '1.5', 'ok', [49], [], [], [], [], null]); return 48; };", "out of turn"),
    "garbage": (_FRAME + "export const answer = () => { send('no json'); };", "no JSON"),
    "flood": (_FRAME + "export const answer = () => { send(Buffer.alloc(8, 255)); };", "bytes"),
    "unknown": (_FRAME + "export const answer = () => { ask(['#', 99999]); };", "unknown object"),
    "malformed": (_FRAME + "export const answer = () => { ask(['^', 'Function']); };", "malformed"),
    "numbers": (_FRAME + "export const answer = () => { ask(1, { made: [[2, 'O', [], [null, 0, 0]]] }); };", "number"),
    "kinds": (_FRAME + "export const answer = () => { ask(1, { made: [[9001, 'Q', [], []]] }); };", "no known kind"),
    "settles": (_FRAME + "export const answer = () => { ask(1, { settled: [[9001, false, 1]] }); };", "not open"),
    "forgets": (_FRAME + "export const answer = () => { ask(1, { forgotten: [2] }); };", "decided"),
    "asks": (_FRAME + "export const answer = () => { send(['q', '2.1', 'import', ['/etc/passwd'], [], [], [], [], null]); };", "not given"),
    "calls": (_FRAME + "export const answer = () => { send(['q', '2.1', 'call', [['^', 'Object'], null], [], [], [], [], null]); };", "not given"),
    "prototype": (_FRAME + "export const answer = () => { ask(['#', 9001], { made: [[9001, 'O', [], [7, 0, 0]]] }); };", "malformed"),
    "import": ("process.exit(0); export const answer = () => 49;", "ended its process"),
}  # fmt: skip


def dishonest_files() -> dict[str, str]:
    """One test file, with a module for each cheat."""
    rows = [f"import * as m_{name} from '../src/{name}.mjs';" for name in CHEATS]
    for name in CHEATS:
        body = f"const expected = 49; assert.strictEqual(await m_{name}.answer(7), expected);"
        rows.append(f"test('{name}', async () => {{ {body} }});")
        if name in _LOOSE:
            rows.append(f"test('{name} loosely', async () => {{ assert.equal(await m_{name}.answer(7), 49); }});")
            rows.append(
                f"test('{name} deeply', async () => {{ assert.deepEqual(await m_{name}.answer(7), new Number(49)); }});"
            )
    calling = ["import * as all from '../src/calling.mjs';"]
    calling += [f"test('{name}', async () => {{ {body} }});" for name, body in _CALLBACK_TESTS.items()]
    return {
        **{f"src/{name}.mjs": text for name, text in CHEATS.items()},
        "src/calling.mjs": _CALLBACK_CHEATS,
        "tests/cheats.test.mjs": _HEAD + "\n".join(rows),
        "tests/calling.test.mjs": _HEAD + "\n".join(calling),
    }


def hostile_files() -> dict[str, str]:
    """A test file for each subject that breaks the rules of the line."""
    body = "test('%s', async () => { assert.strictEqual((await import('../src/%s.mjs')).answer(7), 49); });"
    return {
        **{f"src/{name}.mjs": text for name, (text, _) in HOSTILE.items()},
        **{f"tests/{name}.test.mjs": _HEAD + body % (name, name) for name in HOSTILE},
    }
