// Calls the published orchestrator: node drive.mjs PACKAGE SCRATCH < cases.json > answers.json
//
// A case is {"state": …, "files": {path: text}, "calls": [["dispatch"], ["approveReview", "note"], …]}. Each has a project
// of its own below SCRATCH; its answer is what each call returned, and the STATE.json that it left. The call ["=", {…}] is
// an executor that writes fields of STATE.json.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const [, , folder, scratch] = process.argv;
const core = createRequire(import.meta.url)(folder);
console.error = () => {};

function play({ state, files = {}, calls }, n) {
  const root = join(scratch, String(n));
  for (const [path, text] of Object.entries({ ".ai/STATE.json": JSON.stringify(state), ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const file = join(root, ".ai/STATE.json");
  const results = calls.map(([name, ...words]) => {
    if (name === "=") {
      writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf-8")), ...words[0] }));
      return null;
    }
    try {
      return core[name](root, ...words);
    } catch (error) {
      return { type: "thrown", message: error.message };
    }
  });
  return { results, state: JSON.parse(readFileSync(file, "utf-8")) };
}

const cases = JSON.parse(readFileSync(0, "utf-8"));
const answers = cases.map(play);
process.stdout.write(JSON.stringify({ answers, rules: core.STEP_RULES, modes: [0, 1, 2].map((n) => core.getDispatchMode("M", n)) }));
