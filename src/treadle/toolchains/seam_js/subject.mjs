// The subject: runs the code under test, in a process without its tests. It answers the judge and has no secret.
//
// Code runs only while the judge waits. A request `pump` gives the event loop its turn: it returns to the loop until
// something happens that the judge should know, or the time is over.
import { createRequire, registerHooks } from 'node:module';
import { Stream } from 'node:stream';
import { HungUp, Lane } from 'lane';

const { setTimeout, clearTimeout, setImmediate, console, process } = globalThis;
const resources = process.getActiveResourcesInfo.bind(process);
const end = process.reallyExit.bind(process);
const require = createRequire('/');
const STREAMS = new Set(['PipeWrap', 'TTYWrap']); // its own output keeps no process alive
const SHOWN = ['log', 'info', 'warn', 'error', 'debug'];
const timer = setTimeout(() => {}, 0);
const OPAQUE = [timer.constructor, Stream]; // their fields lead to everything that node does
clearTimeout(timer);
const ROOTS = { globalThis, Math, Date, console, process, performance };

class SubjectLane extends Lane {
  constructor(file) {
    super(file, 1);
    this.imports = new Map();
    this.originals = new Map();
    this.lines = [];
  }

  lost() { end(70); }
  failed(error) { return new TypeError(error.message); }
  wake() { this.finish?.(); }
  news() { return this.depth === 1 ? resources().some((name) => !STREAMS.has(name)) : null; }

  refuse(value) {
    if (OPAQUE.some((kind) => value instanceof kind)) this.bare.add(value);
  }

  /** Answer until the judge asks for a turn of the event loop. */
  serve() {
    try {
      for (;;) {
        this.depth = 1;
        const message = this.wire.receive();
        if (message[2] === 'pump') return this.pump(message[1], ...this.take(message));
        this.answer(message);
      }
    } catch (error) {
      end(error instanceof HungUp ? 0 : 70);
    }
  }

  pump(turn, milliseconds, id) {
    let isOver = false;
    const over = () => {
      if (isOver) return;
      isOver = true;
      this.finish = undefined;
      clearTimeout(timer);
      const known = this.imports.get(id);
      this.depth = 1;
      try {
        this.reply(turn, known?.[0] ?? 'ok', known ? known[1] : undefined);
      } catch {
        end(70);
      }
      this.serve();
    };
    const timer = milliseconds ? setTimeout(over, milliseconds) : undefined;
    if (!milliseconds) setImmediate(over);
    this.finish = () => setImmediate(over);
  }

  do_require(path) { return require(path); }

  do_import(url, id) {
    const done = (outcome) => (value) => {
      this.imports.set(id, [outcome, value]);
      this.wake();
    };
    import(url).then(done('ok'), done('raised'));
  }

  /** Put a test's replacement into a builtin, or the original back. */
  do_patch(root, name, value, isOriginal) {
    const owner = ROOTS[root];
    const key = `${root}.${name}`;
    if (!this.originals.has(key)) this.originals.set(key, owner[name]);
    owner[name] = isOriginal ? this.originals.get(key) : value;
  }

  do_environment(...changed) {
    for (let at = 0; at < changed.length; at += 2) {
      if (changed[at + 1] === undefined) delete process.env[changed[at]];
      else process.env[changed[at]] = changed[at + 1];
    }
  }
}

export function main(file) {
  const lane = new SubjectLane(file);
  for (const name of SHOWN) {
    console[name] = { [name](...args) { return lane.request('console', name, ...args); } }[name];
  }
  setImmediate(() => lane.serve());
}
