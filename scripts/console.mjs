// Bundles the console for the browser: hashed names, minified, each file also compressed, and a page that names them.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

/** What the page is made of. Its addresses in index.html are replaced by those of the bundle. */
const ENTRIES = ['main.tsx', 'console.css'];
const BROWSERS = ['chrome120', 'firefox120', 'safari17'];

/**
 * @param {string} source the folder `src/console`
 * @param {string} outDir gets index.html and the folder `assets`
 */
export async function buildConsole(source, outDir) {
  const assets = join(outDir, 'assets');
  const { metafile, outputFiles } = await build({
    absWorkingDir: source,
    entryPoints: ENTRIES,
    outdir: assets,
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    format: 'esm',
    target: BROWSERS,
    entryNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.svg': 'file', '.woff2': 'file' },
    define: { 'process.env.NODE_ENV': '"production"' },
    legalComments: 'none',
  });
  mkdirSync(assets, { recursive: true });
  for (const { path, contents } of outputFiles) writeWithForms(join(assets, basename(path)), contents);
  writeFileSync(join(outDir, 'index.html'), namePage(source, metafile));
}

/** Writes a file, and what of it is compressed beside it. */
export function writeWithForms(file, contents) {
  writeFileSync(file, contents);
  writeFileSync(`${file}.br`, compress(contents));
  writeFileSync(`${file}.gz`, gzipSync(contents, { level: 9 }));
}

const compress = (contents) =>
  brotliCompressSync(contents, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });

function namePage(source, { outputs }) {
  const built = Object.entries(outputs).filter(([, { entryPoint }]) => entryPoint !== undefined);
  const page = readFileSync(join(source, 'index.html'), 'utf8');
  return ENTRIES.reduce((text, entry) => {
    const type = extname(entry) === '.css' ? '.css' : '.js';
    const [path] = built.find(([file, { entryPoint }]) => entryPoint === entry && file.endsWith(type)) ?? [];
    if (path === undefined || !text.includes(`"${entry}"`))
      throw new Error(`index.html does not name ${entry}.`);
    return text.replace(`"${entry}"`, `"%BASE%/console/assets/${basename(path)}"`);
  }, page);
}
