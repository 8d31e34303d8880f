// Starts the subject (`node -e`): reads its modules from memory, says that it is there, and serves on an inherited socket.
const { closeSync, readFileSync, writeSync } = require('node:fs');
const [file, line] = process.argv.slice(1).map(Number);
const parts = JSON.parse(readFileSync(file, 'utf8'));
closeSync(file);
process.argv.length = 1;
process.execArgv.length = 0;
delete process._eval;
const hooks = require('node:module').registerHooks({
  resolve: (name, context, next) => (
    Object.hasOwn(parts, name) ? { url: `${parts.scheme}:${name}`, shortCircuit: true } : next(name, context)),
  load: (url, context, next) => (url.startsWith(`${parts.scheme}:`)
    ? { format: 'module', source: parts[url.slice(parts.scheme.length + 1)], shortCircuit: true } : next(url, context)),
});
import('subject').then(({ main }) => {
  hooks.deregister();
  writeSync(1, '\u0001');
  main(line);
});
