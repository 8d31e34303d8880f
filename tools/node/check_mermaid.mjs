// Parses Mermaid files with the real mermaid package: node check_mermaid.mjs FOLDER FILE...
// FOLDER is where tools/node/install.py put the packages. Exits 1 and names each file that does not parse.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...files] = process.argv.slice(2);
if (!folder || files.length === 0) {
  console.error("usage: node check_mermaid.mjs FOLDER FILE...");
  process.exit(2);
}
const { resolve: find } = createRequire(resolve(folder, "package.json"));
const load = (name) => import(pathToFileURL(find(name)));

// Mermaid sanitises labels with the DOM of a browser, and looks for it when it is imported.
const { JSDOM } = await load("jsdom");
globalThis.window = new JSDOM("").window;
globalThis.document = window.document;
const { default: mermaid } = await load("mermaid");

let broken = 0;
for (const file of files) {
  try {
    const { diagramType } = await mermaid.parse(readFileSync(file, "utf8"));
    console.log(`${file}: ${diagramType}`);
  } catch (error) {
    broken += 1;
    console.error(`${file}: ${error.message}`);
  }
}
process.exit(broken ? 1 : 0);
