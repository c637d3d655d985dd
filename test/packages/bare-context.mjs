// Runs a scenario in a context without anything of Node: ECMAScript, and the web interfaces named below. Started with
// --experimental-vm-modules; arguments: a folder, the package in it, the scenario, its input as JSON. Prints the result
// as JSON.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import vm from 'node:vm';

const [folder, name, scenario, input] = process.argv.slice(2);
const context = vm.createContext({
  ...{
    TextEncoder,
    TextDecoder,
    Headers,
    Request,
    Response,
    URL,
    URLSearchParams,
    AbortController,
    DOMException,
  },
  ...{ atob, btoa, crypto, console, setTimeout, clearTimeout },
});
const loaded = new Map();

/** Loads a module by its address; each once. */
function load(url) {
  const known = loaded.get(url) ?? read(url);
  loaded.set(url, known);
  return known;
}

async function read(url) {
  return new vm.SourceTextModule(await readFile(fileURLToPath(url), 'utf8'), { context, identifier: url });
}

function link(specifier, { identifier }) {
  if (!specifier.startsWith('.')) throw new Error(`${identifier} imports ${specifier}`);
  return load(new URL(specifier, identifier).href);
}

async function evaluate(url) {
  const module = await load(url);
  await module.link(link);
  await module.evaluate();
  return module.namespace;
}

const entry = createRequire(pathToFileURL(`${folder}/`)).resolve(name);
const published = await evaluate(pathToFileURL(entry).href);
const { runScenario } = await evaluate(pathToFileURL(scenario).href);
const result = await runScenario(published, JSON.parse(input));
process.stdout.write(JSON.stringify({ ...result, modules: loaded.size }));
