// Loaded before any code of a project: keeps what decides about verdicts from being exchanged, and writes down, where
// the project does not look, how each test of `node --test` ended and what else was exchanged. Each line is signed.
import assert from 'node:assert';
import { createHmac } from 'node:crypto';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import * as runner from 'node:test';
import { isMainThread, MessagePort } from 'node:worker_threads';

const [folder, key] = (process.env.TREADLE_WITNESS ?? '').split('|');
const isTested = Boolean(folder && process.env.NODE_TEST_CONTEXT);
const write = fs.writeSync;
const { stringify } = JSON;
const { apply } = Reflect;
const { captureStackTrace } = Error;
const { getOwnPropertyDescriptor, getOwnPropertyDescriptors, defineProperty } = Object;
const out = folder ? fs.openSync(join(folder, `${process.pid}-${process.hrtime.bigint()}.jsonl`), 'wx') : -1;

function tell(what) {
  if (out < 0) return;
  const line = stringify(what);
  write(out, `${createHmac('sha256', key).update(line).digest('hex')} ${line}\n`);
}

// Honest code has no reason to exchange these, and may do so to everything else (`process.exit`, clocks, consoles).
function keep(owner, name, place) {
  const { value, writable, configurable, enumerable } = getOwnPropertyDescriptor(owner, name) ?? {};
  if (typeof value !== 'function' || !configurable) return;
  const get = () => value;
  function set(other) {
    if (this !== owner) return defineProperty(this, name, { value: other, writable, configurable, enumerable });
    const what = `${place}.${String(name)}`;
    tell({ tried: what });
    const error = new TypeError(`${what} decides about tests and cannot be exchanged`);
    captureStackTrace(error, set);
    throw error;
  }
  defineProperty(owner, name, { get, set, enumerable, configurable: false });
}
const { AssertionError } = assert;
const KEPT = { assert, 'assert.strict': assert.strict, test: runner.default };
for (const [place, owner] of Object.entries(KEPT)) {
  for (const name of Reflect.ownKeys(owner)) if (name !== 'prototype') keep(owner, name, place);
}
for (const name of Reflect.ownKeys(AssertionError.prototype)) {
  keep(AssertionError.prototype, name, 'AssertionError.prototype');
}
keep(Object, 'is', 'Object');
syncBuiltinESMExports();

const OWNERS = { Object, Array, Number, JSON, Math, Reflect, 'Array.prototype': Array.prototype,
  'Object.prototype': Object.prototype, 'String.prototype': String.prototype, 'Number.prototype': Number.prototype,
  'Map.prototype': Map.prototype, 'Set.prototype': Set.prototype };
const known = [];
for (const [place, owner] of Object.entries(OWNERS)) {
  for (const [name, { value, get }] of Object.entries(getOwnPropertyDescriptors(owner))) {
    if (typeof (value ?? get) === 'function' && `${place}.${name}` !== 'Math.random') {
      known.push({ place, owner, name, was: value ?? get });
    }
  }
}

function look() {
  for (const { place, owner, name, was } of known) {
    const { value, get } = getOwnPropertyDescriptor(owner, name) ?? {};
    if ((value ?? get) !== was) tell({ changed: `${place}.${name}` });
  }
}

// Workers of vitest are ended from outside, so the look is taken before each word that they send. To listen to what they
// are told would not do: the first listener takes words away that came before the worker's own.
const isWorker = Boolean(process.env.VITEST && (process.channel || !isMainThread));
function lookBefore(owner, name) {
  const send = owner[name];
  owner[name] = function (...words) {
    look();
    return apply(send, this, words);
  };
}
if (isWorker) {
  if (process.send) lookBefore(process, 'send');
  else lookBefore(MessagePort.prototype, 'postMessage');
}
// What a test starts is none of our business.
if (isTested || isWorker) {
  delete process.env.TREADLE_WITNESS;
  delete process.env.NODE_OPTIONS;
}
tell({ began: isTested });
if (isTested) {
  runner.afterEach((test) => {
    look();
    tell({ test: test.name, passed: test.passed ?? null });
  });
}
process.on('exit', look);
