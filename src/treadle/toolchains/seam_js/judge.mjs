// The judge: loaded by `--import` into the process of a test file, which never runs code of the implementer.
//
// Hooks answer for every file of the checkout that is not the tests' own: the module that a test imports has the same
// exports, and each of them is a mirror of what the subject holds (`lane.mjs`).
import assert from 'node:assert';
import fs from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { extname } from 'node:path';
import * as runner from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { types } from 'node:util';
import { Breach, CannotCross, HungUp, Lane, MOST_DATA } from './lane.mjs';

const { setTimeout, clearTimeout, setImmediate, process } = globalThis;
const order = JSON.parse(process.env.TREADLE_SEAM);
delete process.env.TREADLE_SEAM;
const { appendFileSync } = fs;
const { stringify } = JSON;
const { apply } = Reflect;
const { then } = Promise.prototype;
const now = performance.now.bind(performance);
const own = new Set(order.own.map((path) => `${order.checkout}/${path}`));
const PROGRAMS = new Set('child_process cluster worker_threads vm inspector inspector/promises repl'.split(' '));
const HOSTS = 'AbortSignal AbortController ReadableStream WritableStream TransformStream Blob MessagePort BroadcastChannel ' +
  'WebSocket Request Response Headers FormData WeakMap WeakSet WeakRef SharedArrayBuffer';
const hosts = new Map(HOSTS.split(' ').filter((name) => globalThis[name]).map((name) => [globalThis[name].prototype, name]));
const MOST_EXPORTS = 10_000;

/** A test cannot go on. It may catch this error, so the reason is noted, too. */
class SeamError extends Error {}

const note = (what) => appendFileSync(order.notes, `${stringify(what)}\n`);
const running = [];
let uncrossable = '';
let environment = { ...process.env };
let usesEnvironment = false;

function tell(kind, reason) {
  const test = running.at(-1);
  if (test) test[kind] ??= reason.slice(0, 2000);
  else note({ outside: true, [kind]: reason.slice(0, 2000) });
}

class JudgeLane extends Lane {
  constructor(file) {
    super(file, 2);
    this.dead = '';
    this.bindings = new Map();
    this.pumps = 0;
    this.imports = 0;
  }

  request(what, ...operands) {
    if (this.dead) throw new SeamError(this.dead);
    if (running.length) running.at(-1).calls++;
    if (what !== 'pump') {
      this.idle = 0;
      this.schedule();
    }
    // Both sides forget plain data that was not used for long; whoever uses it again sends a new copy.
    for (const number of this.depth ? [] : this.data.keys()) {
      if (this.data.size <= MOST_DATA) break;
      this.forgotten.push(number);
      this.forget(number);
    }
    return super.request(what, ...operands);
  }

  lost(error) {
    if (error instanceof SeamError) throw error;
    if (error instanceof Breach) this.kill(`breach of the line: ${error.message}`);
    if (error instanceof HungUp || ['EPIPE', 'ECONNRESET'].includes(error.code)) {
      this.kill('the code under test ended its process');
    }
    if (error.code === 'EAGAIN') this.kill('the code under test did not answer in time');
    this.kill(`the line to the code under test failed: ${error.message}`);
  }

  kill(reason) {
    this.dead = reason;
    fs.closeSync(order.line);
    tell('breach', reason);
    for (const [, reject] of this.resolvers.values()) reject(new SeamError(reason));
    throw new SeamError(reason);
  }

  failed(error) {
    tell('uncrossable', error.message);
    return new SeamError(error.message);
  }

  cannotReturn(reason) {
    tell('failed', reason);
    throw new SeamError(`the code under test could not hand over its result: ${reason}`);
  }

  couldNotReturn(reason) { tell('uncrossable', reason); }
  forgetAsTold() { throw new Breach('the subject decided what is forgotten'); }

  // what the judge hands over

  refuse(value) {
    if (typeof value === 'symbol') return;
    if (denied.has(value) || denied.has(Object.getPrototypeOf(value))) throw new CannotCross('the test hands over a part of its runner');
    if (types.isModuleNamespaceObject(value)) throw new CannotCross('the test hands over a module');
    for (let at = value; at && !types.isProxy(at); at = Object.getPrototypeOf(at)) {
      if (hosts.has(at)) throw new CannotCross(`the test hands over a ${hosts.get(at)}`);
    }
    // `mock.fn()` is a proxy, and holds the calls that a test counts; an assertion's error holds the expected value.
    if ((typeof value === 'function' && types.isProxy(value)) || value instanceof assert.AssertionError) this.bare.add(value);
  }

  get keepsStack() { return false; }

  mayChange(number) {
    const value = this.objects.get(number);
    const isOurs = number % 2 === 0;
    return !isOurs || !(typeof value === 'function' || this.bare.has(value) || this.isPrototype(value));
  }

  isPrototype(value) {
    const { value: kind } = Object.getOwnPropertyDescriptor(value, 'constructor') ?? {};
    return typeof kind === 'function' && !types.isProxy(kind) && kind.prototype === value;
  }

  check(what, encoded) {
    if (what === 'console') return;
    const [tag, number] = Array.isArray(encoded[0]) ? encoded[0] : [];
    const kind = tag === '#' && number % 2 === 0 ? this.kinds.get(number) : '';
    if (!(what === 'call' || what === 'new' ? kind === 'C' || kind === 'F' : what === 'step' && kind === 'G')) {
      throw new Breach('the subject asked for something that it was not given');
    }
    if (what === 'step' && !['next', 'return', 'throw'].includes(encoded[1])) throw new Breach('no such step');
  }

  do_console(name, ...args) {
    if (['log', 'info', 'warn', 'error', 'debug'].includes(name)) console[name](...args);
  }

  perform(what, operands) {
    const [outcome, value] = super.perform(what, operands);
    if (outcome === 'raised' && value instanceof SeamError) throw value;
    if (outcome === 'raised' && value instanceof assert.AssertionError) running.at(-1)?.raised.push(value);
    return [outcome, value];
  }

  watch(number, promise) {
    const test = running.at(-1);
    apply(then, promise, [undefined, (error) => {
      if (error instanceof assert.AssertionError) test?.raised.push(error);
    }]);
    super.watch(number, promise);
  }

  // The event loop of the subject turns only while this one asks for it: at once after each request, then less often.

  idle = 0;
  wake() {
    this.idle = 0;
    this.schedule();
  }

  schedule() {
    if (this.dead || (this.isScheduled && (this.idle || !this.timer))) return;
    clearTimeout(this.timer); // it may be one that keeps no process alive
    this.timer = undefined;
    this.isScheduled = true;
    const pump = () => {
      this.isScheduled = false;
      this.timer = undefined;
      if (this.dead) return;
      const before = this.resolvers.size;
      try {
        this.request('pump', Math.min(this.idle, 8), 0);
      } catch (error) {
        if (!(error instanceof SeamError)) throw error;
        return;
      }
      this.idle = this.resolvers.size < before ? 0 : Math.max(1, this.idle * 2);
      this.schedule();
    };
    if (this.idle === 0) return void setImmediate(pump);
    this.timer = setTimeout(pump, Math.min(this.idle, 8));
    // Wait for the subject only while somebody waits here, and something there can still settle a promise or call back.
    const isAwaited = this.isActive && (running.length || this.resolvers.size);
    if (!isAwaited && this.idle > 1) this.timer.unref();
  }

  hear(news) {
    if (typeof news === 'boolean') this.isActive = news;
  }

  // What tests replace in builtins is replaced in the subject, too.

  before(what) {
    if (what === 'patch' || what === 'environment' || what === 'pump') return;
    for (const one of WATCHED) {
      const value = one.owner[one.name];
      if (value === one.last) continue;
      one.last = value;
      super.request('patch', one.root, one.name, value === one.original ? undefined : value, value === one.original);
    }
    if (!usesEnvironment) return;
    const changed = [];
    for (const name of new Set([...Object.keys(environment), ...Object.keys(process.env)])) {
      if (environment[name] !== process.env[name]) changed.push(name, process.env[name]);
    }
    if (!changed.length) return;
    environment = { ...process.env };
    super.request('environment', ...changed);
  }

  // A class may say what its instances are, but not that everything is.

  changeProperties(value, kind, wanted) {
    const { value: decide } = wanted.get(Symbol.hasInstance) ?? {};
    if (kind === 'C' && typeof decide === 'function') {
      const hasInstance = (candidate) => {
        const decoys = [{}, [], 17, new Date(), 'text', () => {}, Object.create(null)];
        const answers = [candidate, ...decoys].map((one) => Boolean(decide.call(value, one)));
        if (!answers.every(Boolean)) return answers[0];
        return this.cannotReturn(`${value.name} takes everything for its instance`);
      };
      wanted.set(Symbol.hasInstance, { ...wanted.get(Symbol.hasInstance), value: hasInstance });
    }
    super.changeProperties(value, kind, wanted);
  }

  // modules

  imported(url) {
    if (this.depth) return this.request('require', fileURLToPath(url));
    const id = ++this.imports;
    this.request('import', url, id);
    const began = now();
    for (;;) {
      const found = this.request('pump', 5, id);
      if (found !== undefined) return found;
      if (now() - began > order.deadline * 1000) this.kill('the code under test did not answer in time');
    }
  }

  exported(value, contents, number) {
    const bindings = this.bindings.get(number);
    for (let at = 0; at + 1 < contents.length; at += 2) {
      if (typeof contents[at] !== 'string') throw new Breach('a module has an export without a name');
      bindings?.[contents[at]]?.(contents[at + 1]);
    }
    super.exported(value, contents);
  }
}

const WATCHED = [];
for (const [root, owner, names] of [
  ['globalThis', globalThis, 'Date fetch setTimeout setInterval setImmediate clearTimeout clearInterval clearImmediate'],
  ['Math', Math, 'random'], ['Date', Date, 'now'], ['performance', performance, 'now'],
]) {
  for (const name of names.split(' ')) WATCHED.push({ root, owner, name, original: owner[name], last: owner[name] });
}

const denied = new Set([globalThis, process, assert, assert.strict, runner.mock, fs, order]);
for (const holder of [assert, runner, runner.mock]) {
  for (const value of Object.values(holder)) if (typeof value === 'function') denied.add(value);
}
denied.delete(Function.prototype);
denied.delete(Object.prototype);

const lane = new JudgeLane(order.line);
const KEY = order.key;
Object.defineProperty(globalThis, KEY, { value: {
  module(url) {
    const number = lane.numbers.get(modules.get(url));
    return { values: modules.get(url), bind: (bindings) => lane.bindings.set(number, bindings) };
  },
  required: (path) => lane.request('require', path),
} });
const modules = new Map();

/** Return the source of a module with the exports of a module of the subject. */
function sourceOf(url) {
  const values = lane.imported(url);
  const number = lane.numbers.get(values);
  if (!number || lane.kinds.get(number) !== 'N') throw new SeamError(`${url} is no module in the subject`);
  const names = Object.keys(values);
  if (names.length > MOST_EXPORTS || !names.every((name) => name.isWellFormed() && name.length < 1000)) {
    lane.kill('breach of the line: a module has exports that no module can have');
  }
  modules.set(url, values);
  const at = stringify(KEY);
  return [
    `const { values, bind } = globalThis[${at}].module(${stringify(url)});`,
    ...names.map((name, place) => `let v${place} = values[${stringify(name)}];`),
    `bind({ __proto__: null, ${names.map((name, place) => `[${stringify(name)}]: (v) => { v${place} = v; }`).join(', ')} });`,
    `export { ${names.map((name, place) => `v${place} as ${stringify(name)}`).join(', ')} };`,
  ].join('\n');
}

/** Return a module with the exports of a test's own file of CommonJS; that of the file which node was started with has none. */
function wrapperOf(path) {
  const isMain = process.argv[1] === path;
  const values = isMain ? undefined : createRequire(path)(path);
  const names = isMain ? [] : Object.keys(values ?? {}).filter((name) => name !== 'default');
  return [
    "import { createRequire } from 'node:module';",
    `const values = createRequire(${stringify(path)})(${stringify(path)});`,
    'export default values;',
    ...names.map((name, at) => `const v${at} = values[${stringify(name)}]; export { v${at} as ${stringify(name)} };`),
  ].join('\n');
}

const pathOf = (url) => (url?.startsWith('file:') ? fileURLToPath(url) : '');

registerHooks({
  resolve(specifier, context, next) {
    const name = specifier.replace(/^node:/, '');
    if (PROGRAMS.has(name) && own.has(pathOf(context.parentURL))) uncrossable ||= `the test uses node:${name}`;
    return next(specifier, context);
  },
  load(url, context, next) {
    const path = pathOf(url);
    if (!path.startsWith(`${order.checkout}/`) || extname(path) === '.json') return next(url, context);
    const isRequired = context.conditions?.includes('require');
    if (own.has(path)) {
      const text = fs.readFileSync(path, 'utf8');
      if (/\bmock\s*\.\s*module\s*\(/.test(text)) uncrossable ||= 'the test replaces a module';
      usesEnvironment ||= text.includes('process.env');
      const found = next(url, context);
      // Only node's own loader of CommonJS says in the hooks that it requires, so a wrapper hands over to it.
      return found.format === 'commonjs' && !isRequired ? { ...found, format: 'module', source: wrapperOf(path) } : found;
    }
    if (isRequired) {
      const source = `module.exports = globalThis[${stringify(KEY)}].required(${stringify(path)});`;
      return { format: 'commonjs', source, shortCircuit: true };
    }
    return { format: 'module', source: sourceOf(url), shortCircuit: true };
  },
});

runner.beforeEach((test) => {
  denied.add(Object.getPrototypeOf(test)).add(Object.getPrototypeOf(test.mock));
  running.push({ test: test.fullName ?? test.name, calls: 0, raised: [] });
  if (uncrossable) tell('uncrossable', uncrossable);
});
runner.afterEach((test) => {
  try {
    if (running.at(-1)?.calls && !lane.dead) lane.request('pump', 0, 0); // what was sent out of turn is seen now
  } catch {}
  const at = running.findLastIndex((one) => one.test === (test.fullName ?? test.name));
  const [{ raised, ...told }] = running.splice(at, 1);
  note(told);
  const above = running.findLast((one) => told.test.startsWith(`${one.test} > `));
  for (const kind of above ? ['breach', 'failed', 'uncrossable'] : []) if (told[kind]) above[kind] ??= told[kind];
  if (raised.length && test.passed !== false) throw raised[0];
  for (const kind of ['breach', 'failed']) if (told[kind]) throw new SeamError(told[kind]);
});
