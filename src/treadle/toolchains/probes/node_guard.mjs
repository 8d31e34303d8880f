// Loaded before any code of a project: keeps what decides about verdicts from being exchanged, and writes down, where
// the project does not look, how each test of `node --test` ended and what else was exchanged. Each line is signed.
import assert from 'node:assert';
import { createHmac } from 'node:crypto';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import * as runner from 'node:test';
import { isMainThread } from 'node:worker_threads';

const [folder, key] = (process.env.TREADLE_WITNESS ?? '').split('|');
const isTested = Boolean(folder && process.env.NODE_TEST_CONTEXT);
const write = fs.writeSync;
const { stringify } = JSON;
const { getOwnPropertyDescriptor, getOwnPropertyDescriptors, defineProperty } = Object;
const out = folder ? fs.openSync(join(folder, `${process.pid}-${process.hrtime.bigint()}.jsonl`), 'wx') : -1;

function tell(what) {
  if (out < 0) return;
  const line = stringify(what);
  write(out, `${createHmac('sha256', key).update(line).digest('hex')} ${line}\n`);
}

// Honest code has no reason to exchange these, and may do so to everything else (`process.exit`, clocks, consoles).
function keep(owner, name) {
  const { value, writable, configurable } = getOwnPropertyDescriptor(owner, name) ?? {};
  if (typeof value === 'function' && (writable || configurable)) {
    defineProperty(owner, name, { writable: false, configurable: false });
  }
}
for (const owner of [assert, assert.strict, runner.default]) {
  for (const name of Reflect.ownKeys(owner)) if (name !== 'prototype') keep(owner, name);
}
for (const name of Reflect.ownKeys(assert.AssertionError.prototype)) keep(assert.AssertionError.prototype, name);
keep(Object, 'is');
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

// Workers of vitest are ended from outside: what they are told, they are told before that.
const isWorker = Boolean(process.env.VITEST && (process.channel || !isMainThread));
if (isWorker && process.channel) process.on('message', look);
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
