// The build: TypeScript to `dist`, what is not TypeScript copied along, the command in few files, the workflows and
// the console as one bundle each, and the packages.
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildConsole } from './console.mjs';
import { root, run } from './prepare.mjs';
import { buildProgram, keepLastProgram } from './program.mjs';
import { buildReference } from './reference.mjs';
import { filesOf, hashReachable, hashSources, packagesOf, readOptional, STAMP } from './sources.mjs';

const dist = join(root, 'dist');
const consoleSource = join(root, 'src', 'console');

/**
 * Builds into a folder beside `dist` and puts it in place when it is whole; a running service keeps what it has loaded.
 */
export async function build() {
  const sources = hashSources(root);
  const next = join(root, `.dist-${process.pid}`);
  try {
    await compile(next);
    keepLastProgram(dist, next);
    replace(next);
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
  await bundleWorkflows();
  for (const folder of packagesOf(root)) await buildPackage(folder);
  writeFileSync(join(root, STAMP), sources);
}

async function compile(outDir) {
  await runCompiler('tsconfig.build.json', outDir);
  await buildConsole(consoleSource, join(outDir, 'console'));
  const rest = filesOf(join(root, 'src')).filter(
    (path) => !path.endsWith('.ts') && !path.startsWith(`${consoleSource}${sep}`),
  );
  for (const file of rest) {
    const copy = join(outDir, relative(root, file));
    mkdirSync(dirname(copy), { recursive: true });
    cpSync(file, copy);
  }
  const errors = join(outDir, 'src', 'platform', 'errors');
  const { ADVICE: advice } = await import(pathToFileURL(join(errors, 'advice.js')).href);
  const { publishErrors } = await import(pathToFileURL(join(errors, 'catalogue.js')).href);
  const document = JSON.parse(readFileSync(join(root, 'openapi.json'), 'utf8'));
  buildReference(join(outDir, 'reference'), { document, errors: publishErrors(), advice });
  // Commands of a tenant read it.
  cpSync(join(root, 'openapi.json'), join(outDir, 'openapi.json'));
  await buildProgram(outDir);
  // npx sets it when it first links the package, and never again after a new build.
  chmodSync(join(outDir, 'src', 'main.js'), 0o755);
}

/** Builds a package into its own `dist`, which other projects get. */
async function buildPackage(folder) {
  const next = join(folder, `.dist-${process.pid}`);
  try {
    await runCompiler(join(folder, 'tsconfig.json'), next);
    const current = join(folder, 'dist');
    if (existsSync(current)) renameSync(current, join(next, '.old'));
    renameSync(next, current);
    rmSync(join(current, '.old'), { recursive: true, force: true });
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
}

async function runCompiler(project, outDir) {
  const tsc = join('node_modules', 'typescript', 'bin', 'tsc');
  const code = await run(process.execPath, [tsc, '-p', project, '--outDir', outDir]);
  if (code === 0) return;
  rmSync(outDir, { recursive: true, force: true });
  process.exit(code);
}

function replace(next) {
  mkdirSync(dist, { recursive: true });
  rmSync(join(root, STAMP), { force: true });
  for (const entry of readdirSync(next)) {
    const old = join(next, `${entry}.old`);
    if (existsSync(join(dist, entry))) renameSync(join(dist, entry), old);
    renameSync(join(next, entry), join(dist, entry));
  }
}

/** Made anew only when a module of the workflows changed: it takes longer than all the rest. */
async function bundleWorkflows() {
  const entry = join(dist, 'workflows', 'index.js');
  const bundle = join(dist, 'workflow-bundle.js');
  if (!existsSync(entry)) return;
  const hash = hashReachable(root, entry);
  if (existsSync(bundle) && readOptional(`${bundle}.hash`) === hash) return;
  const { writeWorkflowBundle } = await import(
    pathToFileURL(join(dist, 'src', 'platform', 'temporal', 'bundle.js')).href
  );
  await writeWorkflowBundle(`${bundle}.new`, entry);
  renameSync(`${bundle}.new`, bundle);
  writeFileSync(`${bundle}.hash`, hash);
}
