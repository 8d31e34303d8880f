# ruff: noqa: E501 - programs read better on one line
"""Honest test files of `node --test`, and the code that they test."""

from typing import Final

_HEAD: Final = """
import test, { after, afterEach, before, beforeEach, describe, it, mock } from 'node:test';
import assert from 'node:assert/strict';
"""

CODE: Final[dict[str, str]] = {
    "package.json": '{"type": "module", "imports": {"#shapes": "./src/shapes.js"}}',
    "src/shapes.js": """
export class Shape {
  static #count = 0;
  #secret = 7;
  name = 'shape';
  constructor(name) { if (name) this.name = name; Shape.#count++; }
  static get count() { return Shape.#count; }
  static of(...args) { return new this(...args); }
  get secret() { return this.#secret; }
  set secret(value) { if (value < 0) throw new RangeError('negative'); this.#secret = value; }
  area() { return 0; }
  describe() { return `${this.name}: ${this.area()}`; }
  toString() { return `<${this.name}>`; }
  [Symbol.toPrimitive](hint) { return hint === 'number' ? this.area() : this.toString(); }
  equals(other) { return other instanceof Shape && other.area() === this.area(); }
}
export class Square extends Shape {
  constructor(side) { super('square'); this.side = side; }
  area() { return this.side ** 2; }
  toJSON() { return { side: this.side }; }
}
export class Stack extends Array { peek() { return this.at(-1); } }
export class Registry extends Map { getOrAdd(key, make) { if (!this.has(key)) this.set(key, make()); return this.get(key); } }
export const Sounding = (Base) => class extends Base { sound() { return `${this.name} sounds`; } };
export function Point(x, y) { this.x = x; this.y = y; }
Point.prototype.plus = function plus(other) { return new Point(this.x + other.x, this.y + other.y); };
""",
    "src/iterating.js": """
export function* count(from, to) { for (let at = from; at < to; at++) { const told = yield at; if (told === 'skip') at++; } return 'done'; }
export function* forever() { let at = 0; try { for (;;) yield at++; } finally { forever.ended = true; } }
export class Tree { constructor(value, ...below) { this.value = value; this.below = below; } *[Symbol.iterator]() { yield this.value; for (const one of this.below) yield* one; } }
export async function* slowly(values) { for (const one of values) { await null; yield one; } }
export class Range { constructor(n) { this.n = n; } [Symbol.iterator]() { let at = 0; const { n } = this; return { next: () => (at < n ? { value: at++, done: false } : { value: undefined, done: true }) }; } }
export const total = (values) => { let sum = 0; for (const one of values) sum += one; return sum; };
export const keys = (map) => map.keys();
""",
    "src/later.js": """
export const wait = (ms, value) => new Promise((resolve) => setTimeout(resolve, ms, value));
export async function double(x) { await wait(1); return x * 2; }
export async function refuse() { await null; throw new RangeError('too late'); }
export const all = (tasks) => Promise.all(tasks.map((task) => task()));
export async function retry(task, times) { for (let at = 1; ; at++) { try { return await task(at); } catch (error) { if (at === times) throw error; } } }
export function callLater(callback) { setTimeout(() => callback(null, 'called'), 2); }
export const settled = Promise.resolve(5);
export function debounce(action, ms) { let timer; return (...args) => { clearTimeout(timer); timer = setTimeout(() => action(...args), ms); }; }
""",
    "src/calling.js": """
export const map = (values, change) => values.map((one, at) => change(one, at));
export const compose = (...steps) => (value) => steps.reduceRight((held, step) => step(held), value);
export const memo = (action) => { const known = new Map(); return (key) => { if (!known.has(key)) known.set(key, action(key)); return known.get(key); }; };
export function guarded(action) { try { return action(); } catch (error) { return { caught: error.message, same: error }; } }
export function sortInPlace(values, compare) { values.sort(compare); return values; }
export const bound = function () { return this.value; };
export const counter = () => ({ value: 0, up() { this.value++; return this; } });
export const logger = (sink) => ({ warn: (text) => sink.log('warn', text) });
export const say = (text) => console.log(text);
""",
    "src/failing.js": """
export class AppError extends Error { constructor(message, options) { super(message, options); this.name = 'AppError'; this.status = 418; } }
export class NotFound extends AppError {}
export const find = (key) => { throw new NotFound(`no ${key}`, { cause: new TypeError('bad key') }); };
export const parse = (text) => JSON.parse(text);
export const many = () => { throw new AggregateError([new Error('a'), new RangeError('b')], 'both'); };
export const odd = () => { throw 'a text'; };
export const rethrow = (action) => { try { action(); } catch (error) { throw error; } };
""",
    "src/data.js": """
export const everything = () => ({ map: new Map([['a', { deep: [1, , 3] }]]), set: new Set([1, 'x']), date: new Date(86400000), pattern: /a+b/giu, none: null, nothing: undefined, not: NaN, minus: -0, big: 12345678901234567890n, bytes: new Uint8Array([1, 2, 255]), floats: new Float64Array([0.5]), buffer: Buffer.from('hi'), url: new URL('https://example.org/a?b=c'), bare: Object.assign(Object.create(null), { x: 1 }), symbol: Symbol.for('shared'), infinite: -Infinity });
export const cyclic = () => { const one = { name: 'one' }; one.self = one; one.list = [one]; return one; };
export const same = (value) => value;
export const frozen = Object.freeze({ a: Object.freeze([1]) });
export const addDays = (date, days) => new Date(date.getTime() + days * 86400000);
export const group = (values, by) => { const found = new Map(); for (const one of values) found.set(by(one), [...(found.get(by(one)) ?? []), one]); return found; };
export const unique = (values) => new Set(values);
export const KEY = Symbol('key');
export const tagged = () => ({ [KEY]: 1, plain: 2 });
export const fill = (bytes) => bytes.fill(7);
export const setting = () => process.env.SHOP_SETTING ?? 'none';
""",
    "src/live.js": """
export let count = 0;
export const up = () => { count += 1; };
const held = [];
export const items = held;
export const add = (item) => { held.push(item); };
export default function live() { return held.length; }
export const clock = { now: () => Date.now() };
export const dice = () => Math.floor(Math.random() * 6) + 1;
""",
    "src/old.cjs": """
const state = { calls: 0 };
class Old { constructor(x) { this.x = x; } twice() { state.calls += 1; return this.x * 2; } }
function helper() { return 'real'; }
module.exports = { Old, state, helper, useHelper: () => module.exports.helper(), add(a, b) { return a + b; } };
""",
    "src/single.cjs": "module.exports = function single(x) { return x + 1; };\nmodule.exports.version = '1.0';\n",
    "src/emitting.js": """
import { EventEmitter } from 'node:events';
export class Door extends EventEmitter { open(who) { this.isOpen = true; this.emit('open', who); return this; } }
""",
    "src/waiting.js": "const value = await Promise.resolve(3);\nexport { value };\nexport const weird = 1;\nexport { weird as 'a b' };\n",
    "src/table.json": '{"a": 1}',
}

_TESTS: Final[dict[str, str]] = {
    "classes.test.js": """
import { Point, Registry, Shape, Sounding, Square, Stack } from '../src/shapes.js';
import * as again from '#shapes';
test('instances', () => { const one = new Square(3); assert.ok(one instanceof Square && one instanceof Shape); assert.equal(one.describe(), 'square: 9'); assert.equal(one.name, 'square'); assert.equal(one.constructor, Square); assert.deepEqual(Object.keys(one), ['name', 'side']); });
test('inheritance', () => { assert.equal(Object.getPrototypeOf(Square), Shape); assert.ok(Shape.isPrototypeOf(Square)); assert.ok(Square.of(1) instanceof Square); assert.equal(typeof Shape.count, 'number'); assert.throws(() => Shape(), TypeError); });
test('getters and setters', () => { const one = new Shape(); assert.equal(one.secret, 7); one.secret = 9; assert.equal(one.secret, 9); assert.throws(() => { one.secret = -1; }, RangeError); one.name = 'other'; assert.equal(one.describe(), 'other: 0'); });
test('conversion', () => { const one = new Square(2); assert.equal(`${one}`, '<square>'); assert.equal(+one, 4); assert.equal(JSON.stringify([one]), '[{"side":2}]'); assert.ok(one > 3); });
test('equality', () => { assert.deepEqual(new Square(2), new Square(2)); assert.notDeepEqual(new Square(2), new Square(3)); assert.notDeepEqual(new Shape('square'), new Square(2)); assert.ok(new Square(2).equals(new Square(2))); assert.ok(!new Square(2).equals(4)); });
test('classes of the test', () => {
  class Circle extends Shape { #r; extra = 1; constructor(r) { super('circle'); this.#r = r; } area() { return 3 * this.#r ** 2; } describe() { return `${super.describe()}!`; } }
  const one = new Circle(2); assert.equal(one.describe(), 'circle: 12!'); assert.ok(one instanceof Shape); assert.equal(one.extra, 1); assert.equal(one.equals(new Circle(2)), true);
});
test('subclasses of builtins', () => { const one = new Stack(); one.push(1, 2); assert.equal(one.peek(), 2); assert.equal(one.length, 2); assert.ok(Array.isArray(one)); const map = new Registry([['a', 1]]); assert.equal(map.getOrAdd('b', () => 5), 5); assert.equal(map.size, 2); assert.equal(map.get('b'), 5); });
test('mixins', () => { class Bell { name = 'bell'; } const Loud = Sounding(Bell); assert.equal(new Loud().sound(), 'bell sounds'); assert.ok(new Loud() instanceof Bell); });
test('functions as classes', () => { const p = new Point(1, 2).plus(new Point(3, 4)); assert.deepEqual({ ...p }, { x: 4, y: 6 }); assert.ok(p instanceof Point); });
test('one module by two names', () => { assert.equal(again.Square, Square); assert.equal(Square.name, 'Square'); assert.equal(Square.length, 1); });
""",
    "iterating.test.js": """
import { count, forever, keys, Range, slowly, total, Tree } from '../src/iterating.js';
test('generators', () => { assert.deepEqual([...count(1, 4)], [1, 2, 3]); const it = count(0, 9); it.next(); assert.deepEqual(it.next('skip'), { value: 2, done: false }); assert.deepEqual(it.return('x'), { value: 'x', done: true }); });
test('endless generators', () => { const [a, b] = forever(); assert.deepEqual([a, b], [0, 1]); assert.equal(forever.ended, true); assert.deepEqual(forever().filter((x) => x % 2).take(2).toArray(), [1, 3]); });
test('iterable classes', () => { assert.deepEqual([...new Tree(1, new Tree(2), new Tree(3, new Tree(4)))], [1, 2, 3, 4]); assert.deepEqual(Array.from(new Range(3)), [0, 1, 2]); assert.equal(Math.max(...new Range(3)), 2); });
test('async generators', async () => { const seen = []; for await (const one of slowly(['a', 'b'])) seen.push(one); assert.deepEqual(seen, ['a', 'b']); });
test('iterables of the test', () => { assert.equal(total([1, 2]), 3); assert.equal(total(new Set([1, 2])), 3); assert.equal(total((function* () { yield 4; yield 5; })()), 9); assert.deepEqual([...keys(new Map([['k', 1]]))], ['k']); });
""",
    "later.test.js": """
import { all, callLater, debounce, double, refuse, retry, settled, wait } from '../src/later.js';
test('promises', async () => { assert.ok(double(2) instanceof Promise); assert.equal(await double(4), 8); assert.deepEqual(await Promise.all([double(1), wait(3, 'x'), settled]), [2, 'x', 5]); });
test('rejections', async () => { await assert.rejects(refuse(), RangeError); await assert.rejects(refuse, { message: 'too late' }); await assert.doesNotReject(double(1)); });
test('tasks of the test', async () => { assert.deepEqual(await all([async () => 1, () => 2, () => wait(2, 3), () => new Promise((done) => setTimeout(done, 3, 4))]), [1, 2, 3, 4]); });
test('retries', async () => { const task = mock.fn(async (at) => { if (at < 3) throw new Error(`no ${at}`); return at; }); assert.equal(await retry(task, 5), 3); assert.equal(task.mock.callCount(), 3); await assert.rejects(retry(async () => { throw new Error('never'); }, 2), /never/); });
test('callbacks', async () => { assert.equal(await new Promise((resolve, reject) => callLater((error, value) => (error ? reject(error) : resolve(value)))), 'called'); });
test('done', (t, done) => { callLater((error, value) => { try { assert.equal(value, 'called'); done(); } catch (failure) { done(failure); } }); });
test('order', async () => { const seen = []; const one = wait(300).then(() => seen.push('late')); const two = wait(1).then(() => seen.push('soon')); await Promise.all([one, two]); assert.deepEqual(seen, ['soon', 'late']); });
test('timers of the test', (t) => { t.mock.timers.enable({ apis: ['setTimeout'] }); const action = t.mock.fn(); const often = debounce(action, 100); often(1); often(2); t.mock.timers.tick(99); assert.equal(action.mock.callCount(), 0); t.mock.timers.tick(1); assert.deepEqual(action.mock.calls.map((one) => one.arguments), [[2]]); });
""",
    "calling.test.js": """
import { bound, compose, counter, guarded, logger, map, memo, say, sortInPlace } from '../src/calling.js';
test('callbacks', () => { assert.deepEqual(map([1, 2], (one, at) => one * 10 + at), [10, 21]); assert.equal(compose((x) => x + 1, (x) => x * 2)(5), 11); assert.deepEqual(map(['1', '2'], Number), [1, 2]); });
test('mock.fn', () => { const action = mock.fn((key) => ({ key })); const known = memo(action); assert.equal(known('a'), known('a')); assert.equal(action.mock.callCount(), 1); assert.deepEqual(action.mock.calls[0].arguments, ['a']); });
test('thrown through', () => { const error = new Error('mine'); const found = guarded(() => { throw error; }); assert.equal(found.caught, 'mine'); assert.equal(found.same, error); });
test('arguments are shared', () => { const values = [3, 1, 2]; assert.equal(sortInPlace(values, (a, b) => a - b), values); assert.deepEqual(values, [1, 2, 3]); });
test('this', () => { assert.equal(bound.call({ value: 4 }), 4); assert.equal(bound.bind({ value: 5 })(), 5); });
test('closures', () => { const one = counter(); assert.equal(one.up().up(), one); assert.equal(one.value, 2); one.value = 10; assert.equal(one.up().value, 11); });
test('fakes', () => { const lines = []; const sink = { log(...words) { lines.push(words); } }; logger(sink).warn('careful'); assert.deepEqual(lines, [['warn', 'careful']]); class Sink { seen = 0; log() { this.seen++; } } const other = new Sink(); logger(other).warn('x'); assert.equal(other.seen, 1); });
test('console', (t) => { const log = t.mock.method(console, 'log', () => {}); say('hello'); assert.deepEqual(log.mock.calls[0].arguments, ['hello']); });
""",
    "failing.test.js": """
import { AppError, find, many, NotFound, odd, parse, rethrow } from '../src/failing.js';
test('classes of errors', () => { assert.throws(() => find('x'), NotFound); assert.throws(() => find('x'), AppError); assert.throws(() => find('x'), { name: 'AppError', message: 'no x', status: 418 }); assert.throws(() => find('x'), /no x/); assert.throws(() => find('x'), (error) => error instanceof Error && error.cause instanceof TypeError && error.cause.message === 'bad key'); });
test('standard errors', () => { assert.throws(() => parse('{'), SyntaxError); assert.deepEqual(parse('{"a": [1]}'), { a: [1] }); assert.throws(many, (error) => error.errors.length === 2 && error.errors[1] instanceof RangeError); });
test('anything thrown', () => { try { odd(); assert.fail('not thrown'); } catch (error) { assert.equal(error, 'a text'); } });
test('through both', () => { const mine = new NotFound('z'); assert.throws(() => rethrow(() => { throw mine; }), (error) => error === mine); assert.match(mine.stack, /NotFound|AppError|Error/); assert.equal(String(mine), 'AppError: z'); });
test('the same error', () => { assert.deepEqual(new AppError('a'), new AppError('a')); assert.notDeepEqual(new AppError('a'), new AppError('b')); });
""",
    "data.test.js": """
import { addDays, cyclic, everything, fill, frozen, group, KEY, same, setting, tagged, unique } from '../src/data.js';
test('everything', () => { const found = everything(); assert.deepEqual(found, { map: new Map([['a', { deep: [1, , 3] }]]), set: new Set([1, 'x']), date: new Date(86400000), pattern: /a+b/giu, none: null, nothing: undefined, not: NaN, minus: -0, big: 12345678901234567890n, bytes: new Uint8Array([1, 2, 255]), floats: new Float64Array([0.5]), buffer: Buffer.from('hi'), url: new URL('https://example.org/a?b=c'), bare: Object.assign(Object.create(null), { x: 1 }), symbol: Symbol.for('shared'), infinite: -Infinity }); assert.notDeepEqual(everything(), { ...found, minus: 0 }); });
test('identity', () => { const one = cyclic(); assert.equal(one.self, one); assert.equal(one.list[0], one); const mine = { a: [] }; assert.equal(same(mine), mine); mine.a.push(mine); assert.equal(same(mine).a[0], mine); });
test('frozen', () => { assert.ok(Object.isFrozen(frozen) && Object.isFrozen(frozen.a)); assert.throws(() => { frozen.a.push(2); }, TypeError); });
test('dates', () => { const from = new Date('2024-02-28T00:00:00Z'); assert.deepEqual(addDays(from, 2), new Date('2024-03-01T00:00:00Z')); assert.equal(addDays(from, 1).getUTCDate(), 29); });
test('maps and sets', () => { assert.deepEqual(group([1, 2, 3], (x) => (x % 2 ? 'odd' : 'even')), new Map([['odd', [1, 3]], ['even', [2]]])); assert.deepEqual([...unique([2, 2, 1])], [2, 1]); assert.equal(unique('aab').size, 2); });
test('symbols', () => { const one = tagged(); assert.equal(one[KEY], 1); assert.equal(KEY.description, 'key'); assert.equal(same(KEY), KEY); });
test('bytes', () => { const bytes = new Uint8Array(2); assert.equal(fill(bytes), bytes); assert.deepEqual([...bytes], [7, 7]); });
test('environment', () => { assert.equal(setting(), 'none'); process.env.SHOP_SETTING = 'some'; try { assert.equal(setting(), 'some'); } finally { delete process.env.SHOP_SETTING; } assert.equal(setting(), 'none'); });
""",
    "live.test.js": """
import live, { add, clock, count, dice, items, up } from '../src/live.js';
import * as all from '../src/live.js';
test('live bindings', () => { const was = count; up(); assert.equal(count, was + 1); assert.equal(all.count, count); });
test('live lists', () => { const item = { id: 1 }; add(item); assert.equal(items.at(-1), item); assert.equal(live(), items.length); assert.equal(all.default, live); assert.deepEqual(Object.keys(all).sort(), ['add', 'clock', 'count', 'default', 'dice', 'items', 'up']); });
test('mock.method', (t) => { t.mock.method(clock, 'now', () => 5); assert.equal(clock.now(), 5); t.mock.restoreAll(); assert.ok(clock.now() > 5); });
test('builtins that are replaced', (t) => { t.mock.method(Math, 'random', () => 0.5); assert.equal(dice(), 4); t.mock.method(Date, 'now', () => 77); assert.equal(clock.now(), 77); });
test('dynamic import', async () => { const again = await import('../src/live.js'); assert.equal(again.up, up); const { default: table } = await import('../src/table.json', { with: { type: 'json' } }); assert.deepEqual(table, { a: 1 }); });
""",
    "old.test.cjs": """
const test = require('node:test'); const assert = require('node:assert/strict');
const old = require('../src/old.cjs'); const { Old, state, add } = old; const single = require('../src/single.cjs');
test('require', () => { assert.equal(add(1, 2), 3); assert.equal(single(1), 2); assert.equal(single.version, '1.0'); assert.equal(require('../src/old.cjs'), old); });
test('state', () => { const before = state.calls; assert.equal(new Old(4).twice(), 8); assert.equal(state.calls, before + 1); });
test('replaced', (t) => { t.mock.method(old, 'helper', () => 'fake'); assert.equal(old.useHelper(), 'fake'); t.mock.restoreAll(); assert.equal(old.useHelper(), 'real'); });
""",
    "mixed.test.js": """
import old, { Old } from '../src/old.cjs';
import single from '../src/single.cjs';
import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
test('CommonJS by import', () => { assert.equal(old.add(2, 2), 4); assert.equal(new Old(2).twice(), 4); assert.equal(single(2), 3); });
test('both ways', () => { assert.equal(require('../src/single.cjs')(1), 2); assert.equal(require('../src/old.cjs').Old, Old); });
""",
    "hooks.test.js": """
import { add, items } from '../src/live.js';
import { helper } from './helper.js';
describe('hooks', () => {
  let made; let times = 0;
  before(() => { add('before'); });
  beforeEach(() => { made = helper(); times++; });
  afterEach(() => { made = undefined; });
  after(() => { assert.equal(times, 2); });
  it('one', () => { assert.ok(items.includes('before')); assert.equal(made.describe(), 'square: 4'); });
  it('two', async () => { made.side = 3; assert.equal(made.area(), 9); });
});
test('parts', async (t) => { await t.test('first', () => assert.equal(helper().area(), 4)); await t.test('second', () => assert.ok(helper())); });
test('skipped', { skip: true }, () => { assert.fail(); });
""",
    "emitting.test.js": """
import { Door } from '../src/emitting.js';
import { EventEmitter, once } from 'node:events';
test('listeners', () => { const door = new Door(); const seen = []; door.on('open', (who) => seen.push(who)); assert.equal(door.open('me'), door); assert.deepEqual(seen, ['me']); assert.equal(door.isOpen, true); assert.ok(door instanceof EventEmitter); });
test('once', async () => { const door = new Door(); setTimeout(() => door.open('late'), 2); assert.deepEqual(await once(door, 'open'), ['late']); });
""",
    "waiting.test.js": """
import { value, 'a b' as weird } from '../src/waiting.js';
test('a module that waits', () => { assert.equal(value, 3); assert.equal(weird, 1); });
test('a module that is not there', async () => { await assert.rejects(import('../src/gone.js'), { code: 'ERR_MODULE_NOT_FOUND' }); });
""",
    "concurrent.test.js": """
import { wait } from '../src/later.js';
describe('together', { concurrency: true }, () => { for (const at of [1, 2, 3]) it(`number ${at}`, async () => { assert.equal(await wait(7 - at, at), at); }); });
""",
}
TESTS: Final = {
    **{f"tests/{name}": text if name.endswith(".cjs") else _HEAD + text for name, text in _TESTS.items()},
    "tests/helper.js": "import { Square } from '../src/shapes.js';\nexport const helper = () => new Square(2);\n",
}
