// The line between judge and subject, which both sides use: messages, and the objects that cross.
//
// Primitives cross as they are. Everything else is *mirrored*: each object has a number, and a copy of the same builtin
// kind on the other side with the same prototype (a mirror, too), properties and contents. Functions cross as functions
// that send a request, so methods, getters, classes and `instanceof` work without a proxy, and `assert.deepStrictEqual`
// compares plain data in its own process. Only one side runs at a time: each message carries the changes that its
// sender made to mirrored objects, so arguments, aliases and patched methods behave as in one process.
import { randomInt } from 'node:crypto';
import { EventEmitter } from 'node:events';
import fs from 'node:fs';
import { types } from 'node:util';

const { readSync, writeSync } = fs;
const { parse, stringify } = JSON;
const { apply, construct, ownKeys, defineProperty, deleteProperty } = Reflect;
const { getPrototypeOf, setPrototypeOf, getOwnPropertyDescriptor, is } = Object;
const { isExtensible, isFrozen, isSealed, freeze, seal, preventExtensions, create } = Object;
const { then } = Promise.prototype;
const { isArray } = Array;
const { isBuffer, from: bufferOf, alloc } = Buffer;
const buffers = Buffer.prototype;

/** Repeat a call that a signal has interrupted; the system does not do that on a socket with a time limit. */
const uninterrupted = (call) => {
  for (;;) {
    try {
      return call();
    } catch (error) {
      if (error.code !== 'EINTR') throw error;
    }
  }
};
const MOST_BYTES = 32 << 20;
const MOST_OBJECTS = 100_000;
export const MOST_DATA = 300;

/** The other side has broken the rules of the line. */
export class Breach extends Error {}
/** A value cannot cross. */
export class CannotCross extends Error {}
/** The line is closed. */
export class HungUp extends Error {}

// Builtin classes and prototypes cross by name. `Function` and its kin do not: they would make code from text.
const NAMES = 'Object Array Map Set WeakMap WeakSet WeakRef Date RegExp Promise Boolean Number String BigInt Symbol ' +
  'Error EvalError RangeError ReferenceError SyntaxError TypeError URIError AggregateError DOMException ArrayBuffer ' +
  'SharedArrayBuffer DataView Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array ' +
  'Float32Array Float64Array BigInt64Array BigUint64Array Buffer URL URLSearchParams Event EventTarget Iterator ' +
  'AbortController AbortSignal TextEncoder TextDecoder Blob';
const STANDARD = new Map([['EventEmitter', EventEmitter], ['EventEmitter.prototype', EventEmitter.prototype]]);
for (const name of NAMES.split(' ')) {
  if (!globalThis[name]) continue;
  STANDARD.set(name, globalThis[name]);
  STANDARD.set(`${name}.prototype`, globalThis[name].prototype);
}
STANDARD.set('Function.prototype', Function.prototype);
STANDARD.set('AsyncFunction.prototype', getPrototypeOf(async () => {}));
STANDARD.set('GeneratorFunction.prototype', getPrototypeOf(function* () {}));
STANDARD.set('Generator.prototype', getPrototypeOf(function* () {}.prototype));
STANDARD.set('AsyncGeneratorFunction.prototype', getPrototypeOf(async function* () {}));
STANDARD.set('AsyncGenerator.prototype', getPrototypeOf(async function* () {}.prototype));
STANDARD.set('TypedArray.prototype', getPrototypeOf(Uint8Array.prototype));
const STANDARD_NAMES = new Map([...STANDARD].map(([name, value]) => [value, name]));
const SYMBOLS = new Map(ownKeys(Symbol).filter((key) => typeof Symbol[key] === 'symbol').map((key) => [Symbol[key], key]));

const IteratorPrototype = getPrototypeOf(getPrototypeOf([][Symbol.iterator]()));
const AsyncIteratorPrototype = getPrototypeOf(STANDARD.get('AsyncGenerator.prototype'));
const NATIVE_ITERATORS = new Set([[][Symbol.iterator](), ''[Symbol.iterator](), 'a'.matchAll(/a/g),
  ...(globalThis.Iterator ? [[].values().map(Number), Iterator.from({ next() {} })] : [])].map(getPrototypeOf));
const DATA_KINDS = new Set('OAMSDB');
const PLAIN = new Set([Object.prototype, Array.prototype, Map.prototype, Set.prototype, Date.prototype]);
const STATIC_KINDS = new Set('GPUXY'); // only the head of these crosses

function isConstructor(value) {
  try {
    construct(Object, [], value);
    return true;
  } catch {
    return false;
  }
}

function kindOf(value) {
  if (typeof value === 'function') return isConstructor(value) ? 'C' : 'F';
  if (typeof value === 'symbol') return 'Y';
  if (isArray(value)) return 'A';
  if (types.isMap(value)) return 'M';
  if (types.isSet(value)) return 'S';
  if (types.isDate(value)) return 'D';
  if (types.isRegExp(value)) return 'R';
  if (types.isArrayBufferView(value) || types.isAnyArrayBuffer(value)) return 'B';
  if (types.isNativeError(value)) return 'E';
  if (types.isPromise(value)) return 'P';
  if (types.isBoxedPrimitive(value)) return 'X';
  if (types.isModuleNamespaceObject(value)) return 'N';
  if (types.isGeneratorObject(value) || types.isMapIterator(value) || types.isSetIterator(value)) return 'G';
  const proto = types.isProxy(value) ? null : getPrototypeOf(value);
  if (NATIVE_ITERATORS.has(proto)) return 'G';
  return proto === URL.prototype ? 'U' : 'O';
}

const bytesOf = (value) => (types.isArrayBufferView(value)
  ? bufferOf(value.buffer, value.byteOffset, value.byteLength) : bufferOf(value));
const isRecord = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';

/** Return what a kind of object needs when its mirror is made, and what never changes. */
function headOf(value, kind) {
  switch (kind) {
    case 'C': case 'F': {
      const [name, length] = ['name', 'length'].map((key) => getOwnPropertyDescriptor(value, key)?.value);
      return [typeof name === 'string' ? name : '', typeof length === 'number' ? length : 0];
    }
    case 'R': return [value.source, value.flags];
    case 'B': return [types.isArrayBufferView(value) ? value[Symbol.toStringTag] ?? 'DataView' : 'ArrayBuffer',
      isBuffer(value), bytesOf(value).toString('base64')];
    case 'X': return [value.valueOf()];
    case 'U': return [value.href];
    case 'Y': return [value.description];
    case 'G': return [Symbol.asyncIterator in value, ...['return', 'throw'].map((key) => typeof value[key] === 'function')];
    default: return [];
  }
}

/** Return the parts of an object that may change, in one flat list: prototype, integrity, contents, properties. */
function partsOf(value, kind, keepsStack) {
  const parts = [kind === 'N' ? null : getPrototypeOf(value)];
  parts.push(isExtensible(value) || kind === 'N' ? 0 : isFrozen(value) ? 3 : isSealed(value) ? 2 : 1, 0);
  let keys = kind === 'B' ? [] : ownKeys(value);
  if (kind === 'A') {
    let present = 0;
    for (let at = 0; at < value.length; at++) {
      const isThere = at in value;
      present += isThere;
      parts.push(isThere ? value[at] : HOLE);
    }
    keys = keys.length === present + 1 ? [] : keys.slice(present).filter((key) => key !== 'length');
  } else if (kind === 'M') apply(Map.prototype.forEach, value, [(one, key) => parts.push(key, one)]);
  else if (kind === 'S') apply(Set.prototype.forEach, value, [(one) => parts.push(one)]);
  else if (kind === 'D') parts.push(apply(Date.prototype.getTime, value, []));
  else if (kind === 'B') parts.push(bytesOf(value).toString('base64'));
  else if (kind === 'N') {
    for (const key of keys) {
      if (typeof key !== 'string') continue;
      try {
        parts.push(key, value[key]);
      } catch {} // not initialised yet
    }
    keys = [];
  }
  parts[2] = parts.length - 3;
  for (const key of keys) {
    if (isSkipped(kind, key)) continue;
    const { value: held, get, set, writable, enumerable, configurable } = getOwnPropertyDescriptor(value, key) ?? {};
    if (kind === 'E' && key === 'stack') {
      if (keepsStack) parts.push(key, 5, String(get ? apply(get, value, []) : held).slice(0, 8000));
      continue;
    }
    const flags = (writable ? 1 : 0) + (enumerable ? 2 : 0) + (configurable ? 4 : 0);
    if (get || set) parts.push(key, flags + 8, get, set);
    else parts.push(key, flags, held);
  }
  return parts;
}
const HOLE = Symbol('hole');
const SKIPPED = new Set(['name', 'length', 'arguments', 'caller']);
const isSkipped = (kind, key) => (kind === 'C' || kind === 'F') && (SKIPPED.has(key) || (kind === 'F' && key === 'prototype'));

function same(one, other) {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at++) if (!is(one[at], other[at])) return false;
  return true;
}

/** Frames on a socket: a length of four bytes, and JSON. */
class Wire {
  constructor(file) {
    this.file = file;
    this.buffer = alloc(1 << 16);
    this.start = this.end = 0;
  }

  send(message) {
    const text = bufferOf(stringify(message));
    if (text.length > MOST_BYTES) throw new CannotCross(`a message has ${text.length} bytes`);
    const frame = alloc(4 + text.length);
    apply(buffers.writeUInt32LE, frame, [text.length, 0]);
    apply(buffers.copy, text, [frame, 4]);
    for (let at = 0; at < frame.length;) at += uninterrupted(() => writeSync(this.file, frame, at));
  }

  fill(size) {
    if (this.start + size > this.buffer.length) {
      const bigger = alloc(Math.max(size, 1 << 16));
      apply(buffers.copy, this.buffer, [bigger, 0, this.start, this.end]);
      [this.buffer, this.end, this.start] = [bigger, this.end - this.start, 0];
    }
    while (this.end - this.start < size) {
      const count = uninterrupted(() => readSync(this.file, this.buffer, this.end, this.buffer.length - this.end, null));
      if (count === 0) throw new HungUp();
      this.end += count;
    }
    this.start += size;
    return this.start - size;
  }

  receive() {
    const size = apply(buffers.readUInt32LE, this.buffer, [this.fill(4)]);
    if (size > MOST_BYTES) throw new Breach(`a message has ${size} bytes`);
    const at = this.fill(size);
    const text = apply(buffers.toString, this.buffer, ['utf8', at, at + size]);
    if (this.start === this.end) this.start = this.end = 0;
    try {
      return parse(text);
    } catch {
      throw new Breach('a message is no JSON');
    }
  }
}

/** One side of the line. Requests nest strictly; `parity` says whose numbers are even. */
export class Lane {
  constructor(file, parity) {
    this.wire = new Wire(file);
    this.parity = this.next = parity;
    this.objects = new Map();
    this.kinds = new Map();
    this.numbers = new Map();
    this.seen = new Map(); // the parts of each object when both sides last agreed on them
    this.data = new Map(); // plain data, the least recently used first: the judge forgets it
    this.forgotten = [];
    this.fresh = [];
    this.settled = [];
    this.bare = new WeakSet(); // objects that cross without their properties
    this.resolvers = new Map();
    this.depth = 0;
    this.count = 0;
  }

  // what a side decides for itself

  refuse(value) {} // raises CannotCross for a value that this side does not hand over
  mayChange(number) { return true; }
  get keepsStack() { return true; }
  before() {}
  lost(error) { throw error; }
  failed(error) { return error; }
  wake() {}
  news() { return null; }
  hear(news) {}

  // encoding

  parts(number) {
    const value = this.objects.get(number);
    return partsOf(value, this.kinds.get(number), this.keepsStack);
  }

  encode(value) {
    switch (typeof value) {
      case 'string': case 'boolean': return value;
      case 'number': return Number.isFinite(value) && !is(value, -0) ? value : ['n', is(value, -0) ? '-0' : String(value)];
      case 'undefined': return ['u'];
      case 'bigint': return ['i', String(value)];
      case 'symbol': {
        if (value === HOLE) return ['_'];
        if (SYMBOLS.has(value)) return ['y', SYMBOLS.get(value)];
        if (Symbol.keyFor(value) !== undefined) return ['Y', Symbol.keyFor(value)];
        break;
      }
      default: if (value === null) return null;
    }
    const name = STANDARD_NAMES.get(value);
    return name === undefined ? ['#', this.number(value)] : ['^', name];
  }

  number(value) {
    let number = this.numbers.get(value);
    if (number === undefined) {
      this.refuse(value);
      if (this.objects.size >= MOST_OBJECTS) throw new CannotCross(`more than ${MOST_OBJECTS} objects cross`);
      number = this.next;
      this.next += 2;
      this.register(number, value, kindOf(value));
      this.fresh.push(number);
    } else if (this.data.has(number)) this.touch(number);
    return number;
  }

  register(number, value, kind) {
    this.objects.set(number, value);
    this.kinds.set(number, kind);
    this.numbers.set(value, number);
  }

  touch(number) {
    this.data.delete(number);
    this.data.set(number, true);
  }

  agree(number, parts) {
    this.seen.set(number, parts);
    const isData = DATA_KINDS.has(this.kinds.get(number)) && PLAIN.has(parts[0]) &&
      !parts.some((one, at) => at > 0 && typeof one === 'function');
    if (isData) this.touch(number);
    else this.data.delete(number);
  }

  forget(number) {
    const value = this.objects.get(number);
    for (const table of [this.objects, this.kinds, this.seen, this.data]) table.delete(number);
    if (this.numbers.get(value) === number) this.numbers.delete(value);
  }

  send(type, turn, head, values) {
    const agreed = [];
    try {
      const encoded = values.map((one) => this.encode(one));
      const settled = this.settled.map((one) => this.settlement(one));
      const updates = [];
      for (const [number, old] of this.seen) {
        // Most functions have no properties of their own, which is seen without a list of their parts.
        if (old.length === 3 && this.kinds.get(number) === 'F' && ownKeys(this.objects.get(number)).length === 2) continue;
        const parts = this.parts(number);
        if (same(old, parts)) continue;
        updates.push([number, parts.map((one) => this.encode(one))]);
        agreed.push([number, parts]);
      }
      const made = [];
      for (const number of this.fresh) made.push(this.definition(number, agreed)); // grows meanwhile
      this.wire.send([type, turn, head, encoded, made, updates, settled, this.forgotten, this.news()]);
      this.settled = [];
      this.forgotten = [];
      for (const [number, parts] of agreed) this.agree(number, parts);
    } catch (error) {
      if (error instanceof CannotCross) for (const number of this.fresh) this.forget(number);
      throw error;
    } finally {
      this.fresh = [];
    }
  }

  settlement([number, isBad, value]) {
    const known = this.fresh.length;
    try {
      return [number, isBad, this.encode(value)];
    } catch (error) {
      if (!(error instanceof CannotCross)) throw error;
      for (const one of this.fresh.splice(known)) this.forget(one);
      this.couldNotReturn(error.message);
      return [number, true, error.message];
    }
  }

  definition(number, agreed) {
    const value = this.objects.get(number);
    const kind = this.kinds.get(number);
    const head = headOf(value, kind).map((one) => this.encode(one));
    if (kind === 'P') this.watch(number, value);
    if (STATIC_KINDS.has(kind)) return [number, kind, head, []];
    if (this.bare.has(value)) {
      const isFunction = typeof value === 'function';
      const proto = isFunction ? Function.prototype : kind === 'E' ? Error.prototype : getPrototypeOf(value);
      return [number, kind, head, [this.encode(proto), 0, 0]];
    }
    const parts = this.parts(number);
    if (!types.isProxy(value)) agreed.push([number, parts]);
    return [number, kind, head, parts.map((one) => this.encode(one))];
  }

  watch(number, promise) {
    const settle = (isBad) => (value) => {
      this.settled.push([number, isBad, value]);
      this.wake();
    };
    apply(then, promise, [settle(false), settle(true)]);
  }

  // decoding: everything that the other side sends is checked

  decode(value) {
    if (value === null || typeof value !== 'object') return value;
    const [tag, what] = isArray(value) ? value : [];
    switch (tag) {
      case 'u': return undefined;
      case '_': return HOLE;
      case 'n': if (['NaN', '-0', 'Infinity', '-Infinity'].includes(what)) return Number(what); break;
      case 'i': if (/^-?\d{1,100000}$/.test(what)) return BigInt(what); break;
      case 'y': if (typeof Symbol[what] === 'symbol') return Symbol[what]; break;
      case 'Y': if (typeof what === 'string') return Symbol.for(what); break;
      case '^': if (STANDARD.has(what)) return STANDARD.get(what); break;
      case '#':
        if (!this.objects.has(what)) throw new Breach('an unknown object crossed');
        if (this.data.has(what)) this.touch(what);
        return this.objects.get(what);
      default:
    }
    throw new Breach('a value is malformed');
  }

  take([, , , values, made, updates, settled, forgotten, news]) {
    if (![values, made, updates, settled, forgotten].every(isArray)) throw new Breach('a message is malformed');
    for (const number of forgotten) this.forgetAsTold(number);
    for (const [number, kind, head] of made) {
      if (!Number.isSafeInteger(number) || number % 2 === this.parity % 2 || number < 1 || this.objects.has(number)) {
        throw new Breach('an object has the number of another one');
      }
      if (this.objects.size >= MOST_OBJECTS) throw new Breach(`more than ${MOST_OBJECTS} objects crossed`);
      if (!isArray(head)) throw new Breach('an object is malformed');
      this.register(number, this.blank(number, kind, head.map((one) => this.decode(one))), kind);
    }
    for (const [number, kind, , parts] of made) if (!STATIC_KINDS.has(kind)) this.change(number, parts);
    for (const [number, parts] of updates) {
      if (!this.objects.has(number)) throw new Breach('an unknown object has changed');
      if (this.mayChange(number)) this.change(number, parts);
    }
    const operands = values.map((one) => this.decode(one));
    for (const [number, isBad, value] of settled) {
      const resolver = this.resolvers.get(number);
      if (resolver === undefined) throw new Breach('a promise was settled that is not open');
      this.resolvers.delete(number);
      resolver[isBad ? 1 : 0](this.decode(value));
    }
    this.hear(news);
    return operands;
  }

  forgetAsTold(number) { this.forget(number); }

  blank(number, kind, head) {
    switch (kind) {
      case 'O': return {};
      case 'N': return create(null);
      case 'A': return [];
      case 'M': return new Map();
      case 'S': return new Set();
      case 'D': return new Date(NaN);
      case 'C': case 'F': return this.callable(kind === 'C', String(head[0]).slice(0, 500), Number(head[1]) || 0);
      case 'Y': return Symbol(head[0] === undefined ? undefined : String(head[0]));
      case 'X': if (!isRecord(head[0]) && head[0] != null) return Object(head[0]); break;
      case 'G': return this.iterator(head);
      case 'P': {
        const promise = new Promise((...both) => this.resolvers.set(number, both));
        apply(then, promise, [undefined, () => {}]); // its other side may be the one that handles a rejection
        return promise;
      }
      case 'E': {
        const error = new Error();
        for (const key of ownKeys(error)) deleteProperty(error, key);
        return error;
      }
      case 'R': case 'U': case 'B': {
        try {
          if (kind === 'R') return new RegExp(head[0], head[1]);
          if (kind === 'U') return new URL(head[0]);
          const bytes = bufferOf(head[2], 'base64');
          if (head[1] === true) return bytes;
          const { buffer } = new Uint8Array(bytes);
          const kinds = STANDARD.get(head[0]);
          if (head[0] === 'ArrayBuffer') return buffer;
          if (head[0] === 'DataView' || getPrototypeOf(kinds.prototype) === STANDARD.get('TypedArray.prototype')) {
            return new kinds(buffer);
          }
        } catch {}
        break;
      }
      default:
    }
    throw new Breach('an object is of no known kind');
  }

  callable(isClass, name, length) {
    const lane = this;
    const twin = isClass
      ? function (...args) {
        if (!new.target) return lane.request('call', twin, receiver(this), ...args);
        return lane.request('new', twin, new.target === twin ? undefined : new.target, ...args);
      }
      : { method(...args) { return lane.request('call', twin, receiver(this), ...args); } }.method;
    defineProperty(twin, 'name', { value: name, configurable: true });
    defineProperty(twin, 'length', { value: length, configurable: true });
    return twin;
  }

  iterator([isAsync, hasReturn, hasThrow]) {
    const made = create(create(isAsync ? AsyncIteratorPrototype : IteratorPrototype));
    const step = (name) => ({ value: (...args) => this.request('step', made, name, ...args), configurable: true });
    const names = ['next', ...(hasReturn ? ['return'] : []), ...(hasThrow ? ['throw'] : [])];
    for (const name of names) defineProperty(getPrototypeOf(made), name, step(name));
    return made;
  }

  change(number, encoded) {
    const value = this.objects.get(number);
    const kind = this.kinds.get(number);
    if (!isArray(encoded) || STATIC_KINDS.has(kind)) throw new Breach('an object changed in a way that it cannot');
    const parts = encoded.map((one) => this.decode(one));
    const [proto, integrity, count] = parts;
    if ((proto !== null && !isRecord(proto)) || !(count >= 0 && count + 3 <= parts.length)) {
      throw new Breach('an object is malformed');
    }
    if (kind !== 'N' && getPrototypeOf(value) !== proto) Reflect.setPrototypeOf(value, proto);
    this.changeContents(value, kind, parts.slice(3, 3 + count), number);
    const wanted = new Map();
    for (let at = 3 + count; at < parts.length;) {
      const [key, flags, one, other] = parts.slice(at, at + 4);
      if (!['string', 'symbol'].includes(typeof key) || key === HOLE || !(flags >= 0 && flags < 16)) {
        throw new Breach('a property is malformed');
      }
      const shown = { enumerable: Boolean(flags & 2), configurable: Boolean(flags & 4) };
      if (flags >= 8 && [one, other].some((it) => it !== undefined && typeof it !== 'function')) {
        throw new Breach('a property is malformed');
      }
      wanted.set(key, flags >= 8 ? { ...shown, get: one, set: other } : { ...shown, writable: Boolean(flags & 1), value: one });
      at += flags >= 8 ? 4 : 3;
    }
    if (kind !== 'B' && kind !== 'N') this.changeProperties(value, kind, wanted);
    if (integrity && kind !== 'N') [preventExtensions, seal, freeze][Math.min(integrity, 3) - 1]?.(value);
    if (!this.bare.has(value)) this.agree(number, this.parts(number));
  }

  changeContents(value, kind, contents, number) {
    if (kind === 'A') {
      value.length = contents.length;
      contents.forEach((one, at) => {
        if (one === HOLE) deleteProperty(value, at);
        else defineProperty(value, at, { value: one, writable: true, enumerable: true, configurable: true });
      });
    } else if (kind === 'M') {
      apply(Map.prototype.clear, value, []);
      for (let at = 0; at + 1 < contents.length; at += 2) apply(Map.prototype.set, value, [contents[at], contents[at + 1]]);
    } else if (kind === 'S') {
      apply(Set.prototype.clear, value, []);
      for (const one of contents) apply(Set.prototype.add, value, [one]);
    } else if (kind === 'D') apply(Date.prototype.setTime, value, [Number(contents[0])]);
    else if (kind === 'B') bytesOf(value).set(bufferOf(String(contents[0]), 'base64').subarray(0, value.byteLength));
    else if (kind === 'N') this.exported(value, contents, number);
    else if (contents.length) throw new Breach('an object has contents that it cannot have');
  }

  changeProperties(value, kind, wanted) {
    for (const key of ownKeys(value)) {
      const isKept = (kind === 'A' && (key === 'length' || (typeof key === 'string' && /^\d+$/.test(key)))) ||
        isSkipped(kind, key) || (kind === 'E' && key === 'stack');
      if (!isKept && !wanted.has(key)) deleteProperty(value, key);
    }
    for (const [key, descriptor] of wanted) defineProperty(value, key, descriptor);
  }

  exported(value, contents) {
    for (let at = 0; at + 1 < contents.length; at += 2) {
      defineProperty(value, contents[at], { value: contents[at + 1], writable: true, enumerable: true, configurable: true });
    }
  }

  // requests

  request(what, ...operands) {
    this.before(what);
    this.count++;
    this.depth++;
    let outcome, value;
    try {
      const turn = `${this.depth}.${randomInt(1e9)}`; // an answer that was sent too early cannot know it
      this.send('q', turn, what, operands);
      [outcome, value] = this.wait(turn);
    } catch (error) {
      if (error instanceof CannotCross) throw this.failed(error);
      this.lost(error);
    } finally {
      this.depth--;
    }
    if (outcome === 'ok') return value;
    if (outcome === 'raised') throw value;
    return this.cannotReturn(String(value).slice(0, 2000));
  }

  cannotReturn(reason) { throw new CannotCross(reason); }

  wait(own) {
    for (;;) {
      const message = this.wire.receive();
      if (!isArray(message) || message.length !== 9) throw new Breach('a message is malformed');
      const [type, turn, head] = message;
      if (type === 'r' && turn === own) {
        const operands = this.take(message);
        if (operands.length !== 1 || !['ok', 'raised', 'cannot'].includes(head)) throw new Breach('an answer is malformed');
        return [head, operands[0]];
      }
      if (type !== 'q' || !`${turn}`.startsWith(`${this.depth + 1}.`)) throw new Breach('a message came out of turn');
      this.depth++;
      try {
        this.answer(message);
      } finally {
        this.depth--;
      }
    }
  }

  answer(message) {
    const operands = this.take(message);
    this.check(message[2], message[3]);
    const [outcome, value] = this.perform(message[2], operands);
    this.reply(message[1], outcome, value);
  }

  reply(turn, outcome, value) {
    try {
      this.send('r', turn, outcome, [value]);
    } catch (error) {
      if (!(error instanceof CannotCross)) throw error;
      this.couldNotReturn(error.message);
      this.send('r', turn, 'cannot', [error.message]);
    }
  }

  couldNotReturn(reason) {}
  check(what, encoded) {}

  perform(what, operands) {
    try {
      return ['ok', this[`do_${what}`](...operands)];
    } catch (error) {
      return ['raised', this.caught(error)];
    }
  }

  caught(error) { return error; }
  do_call(value, self, ...args) { return apply(value, self, args); }
  do_new(value, target, ...args) { return construct(value, args, target ?? value); }
  do_step(value, name, ...args) { return value[name](...args); }
}

/** The receiver of a call: a module object means nothing to the functions that it holds. */
function receiver(value) {
  return value === globalThis || (isRecord(value) && types.isModuleNamespaceObject(value)) ? undefined : value;
}
