// A report of `node --test` as JUnit file. Unlike node's own it says in which file a test is, so that two tests with
// one name in two files are two.
import { relative, resolve } from 'node:path';
import { inspect } from 'node:util';

const MOST = 2000;
const SIGNS = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\n': '&#10;', '\t': '&#9;' };

function text(value) {
  const plain = String(value).replace(/[^\n\t\u0020-\ud7ff\ue000-\ufffd]/gu, '\ufffd');
  return plain.replace(/[&<>"\n\t]/g, (sign) => SIGNS[sign]);
}

// A file whose tests could not be found says why nowhere but there.
function words(data, printed) {
  const error = data.details?.error;
  const said = error?.exitCode && data.file ? (printed.get(resolve(data.file)) ?? '').trim() : '';
  return said ? `${error.message}; it printed:\n${said}` : (error?.message ?? '');
}

function result(data, passed, printed) {
  const parts = [];
  if (data.skip !== undefined && data.skip !== false) parts.push('<skipped type="skipped"/>');
  if (data.todo !== undefined && data.todo !== false) parts.push('<skipped type="todo"/>');
  if (!passed) {
    const error = data.details?.error;
    const type = text(error?.failureType ?? 'error');
    parts.push(`<failure type="${type}" message="${text(words(data, printed))}">${text(inspect(error))}</failure>`);
  }
  return parts.join('');
}

export default async function* report(source) {
  const names = [];
  const printed = new Map();
  yield '<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n';
  for await (const { type, data } of source) {
    if (type === 'test:start') {
      names.length = data.nesting;
      names.push(data.name);
    } else if (type === 'test:stderr') {
      const file = resolve(data.file);
      printed.set(file, ((printed.get(file) ?? '') + data.message).slice(-MOST));
    } else if ((type === 'test:pass' || type === 'test:fail') && data.details?.type !== 'suite') {
      const file = data.file ? relative(process.cwd(), data.file) : '';
      const seconds = ((data.details?.duration_ms ?? 0) / 1000).toFixed(6);
      const above = names.slice(0, data.nesting);
      yield above.map((name) => `<testsuite name="${text(name)}">`).join('');
      yield `<testcase name="${text(data.name)}" file="${text(file)}" line="${data.line ?? 0}" time="${seconds}">`;
      yield `${result(data, type === 'test:pass', printed)}</testcase>${'</testsuite>'.repeat(above.length)}\n`;
    }
  }
  yield '</testsuites>\n';
}
