// Joins what the command `countersign` is made of into few files: finding, reading and compiling one module for each
// source took a third of a start. What a command loads only when it needs it stays a file that is loaded then.
import { cpSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { build } from 'esbuild';

/** Each file of the program lies in a folder of the build, as the entry does. */
const ENTRY = 'src/main';
const CHUNKS = 'program/[name]-[hash]';

/**
 * Replaces `src/main.js` of a build by the program, whose other files come into `program`. Packages stay outside.
 * @param {string} dist folder of a build that the compiler has just made
 * @throws when a module asks for its place in a way that the program would answer wrongly
 */
export async function buildProgram(dist) {
  const { metafile } = await build({
    absWorkingDir: dist,
    entryPoints: { [ENTRY]: join(dist, `${ENTRY}.js`) },
    outdir: dist,
    allowOverwrite: true,
    bundle: true,
    splitting: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    chunkNames: CHUNKS,
    metafile: true,
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [keepPlaces(dist)],
  });
  for (const file of Object.keys(metafile.outputs))
    if (file.split('/').length !== 2) throw new Error(`${file} does not lie in a folder of the build.`);
}

/** Milliseconds within which the files of one build are written. */
const ONE_BUILD = 60_000;

/**
 * Copies the files of the last build's program into a new build: a process that runs goes on loading them. Those of
 * builds before the last are left behind.
 * @param {string} last folder of the last build @param {string} next folder of the new one
 */
export function keepLastProgram(last, next) {
  const [from, to] = [last, next].map((dist) => join(dist, 'program'));
  if (!existsSync(from)) return;
  const madeAt = statSync(join(last, `${ENTRY}.js`)).mtimeMs;
  for (const file of readdirSync(from)) {
    const isOfLast = Math.abs(statSync(join(from, file)).mtimeMs - madeAt) < ONE_BUILD;
    if (isOfLast && !existsSync(join(to, file)))
      cpSync(join(from, file), join(to, file), { preserveTimestamps: true });
  }
}

/** A module of the program goes on saying the place where the compiler has put it. */
function keepPlaces(dist) {
  return {
    name: 'keep-places',
    setup({ onLoad }) {
      onLoad({ filter: /\.js$/ }, ({ path }) => {
        const [first = '', ...rest] = readFileSync(path, 'utf8').split('import.meta.url');
        if ([first, ...rest].some((text) => text.includes('import.meta')))
          throw new Error(`${path}: only import.meta.url has an answer in the program.`);
        if (rest.length === 0) return undefined;
        const place = `new URL('../${relative(dist, path).split(sep).join('/')}', import.meta.url).href`;
        return { contents: [first, ...rest].join(place), loader: 'js' };
      });
    },
  };
}
