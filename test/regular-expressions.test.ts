// Judges every regular expression of the service: none may take more than linear time for any text (ReDoS).
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isSafe } from 'redos-detector';
import { describe, expect, it, vi } from 'vitest';
import { parseAst } from 'vitest/node';

type Node = { readonly type: string; readonly start: number; readonly [key: string]: unknown };
type Found = { readonly file: string; readonly line: number; readonly regexp: RegExp };
type Source = { readonly literals: readonly Found[]; readonly computed: number };

const PACKAGES = readdirSync('packages')
  .filter((name) => existsSync(`packages/${name}/package.json`))
  .map((name) => `packages/${name}/src`);
const ROOTS = ['src', 'workflows', 'activities', ...PACKAGES];

/**
 * The detector refuses these, as it does whatever may begin anywhere and repeats; they are linear for the reason given.
 */
const LINEAR: Readonly<Record<string, string>> = {
  '/:\\d+$/': 'each colon begins one try, which ends at the next colon',
  '/"#\\/\\$defs\\/([^"]+)"/g': 'no quotation mark is read twice, and the text is our own document',
  '/(?:`[^`]*`|[^\\s`])+/g': 'a match consumes what it reads, and the text is our own documentation',
  '/"(?:[^"\\\\]|\\\\.)*"/g': 'each string of the text is known to end, and a match consumes what it reads',
  '/[=( ](?:@|%|-?\\d+\\.)/': 'digits are between its first character and the next one like it',
  '/[=( ]:([^:]*):/g': 'each colon begins one try, which ends at the next colon',
  '/(?<!\\/)\\/+$/': 'only the first slash of a run begins a try, and the text is a setting of the operator',
};

/** What makes the computed expressions of a file that has them inside functions. */
const CALLS: Readonly<Record<string, (module: Record<string, unknown>) => void>> = {
  'src/platform/http/tenant-locator.ts': ({ createTenantLocator }) => {
    const create = createTenantLocator as (options: object) => unknown;
    for (const tenantUrl of ['https://{tenant}.example.com/a', 'https://example.com/t/{tenant}/b'])
      create({ defaultTenant: 'a', tenantUrl });
  },
};

function listFiles(): string[] {
  const all = ROOTS.flatMap((root) =>
    readdirSync(root, { recursive: true, encoding: 'utf8' }).map((file) => join(root, file)),
  );
  return all.filter((file) => /\.(ts|mjs)$/.test(file)).sort();
}

/** The literals of a file, and how many expressions it makes with the constructor. */
function readSource(file: string, text: string): Source {
  const literals: Found[] = [];
  let computed = 0;
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { type, start, regex, callee } = value as Node & {
      regex?: { pattern: string; flags: string };
      callee?: { name?: string };
    };
    if (type === 'Literal' && regex !== undefined)
      literals.push({
        file,
        line: text.slice(0, start).split('\n').length,
        regexp: new RegExp(regex.pattern, regex.flags),
      });
    if ((type === 'NewExpression' || type === 'CallExpression') && callee?.name === 'RegExp') computed += 1;
    for (const child of Object.values(value)) walk(child);
  };
  walk(parseAst(text, { lang: file.endsWith('.ts') ? 'ts' : 'js' }));
  return { literals, computed };
}

/** Loads a file anew, and records what it makes with the constructor. */
async function recordComputed(file: string): Promise<Found[]> {
  const made: Found[] = [];
  const recording = new Proxy(RegExp, {
    construct: (target, args: [string, string?]) => {
      const regexp = new target(...args);
      if (new Error().stack?.includes(file)) made.push({ file, line: 0, regexp });
      return regexp;
    },
  });
  vi.stubGlobal('RegExp', recording);
  try {
    const module = (await import(/* @vite-ignore */ `../${file}?judged`)) as Record<string, unknown>;
    CALLS[file]?.(module);
  } finally {
    vi.unstubAllGlobals();
  }
  return made;
}

/** The detector reads no names of groups, which change nothing. */
const unnamed = ({ source, flags }: RegExp) =>
  new RegExp(source.replaceAll(/\(\?<[A-Za-z]\w*>/g, '('), flags);
const isLinear = ({ regexp }: Found) => isSafe(unnamed(regexp), { timeout: Number.POSITIVE_INFINITY }).safe;
const nameOf = ({ file, line, regexp }: Found) => `${file}:${line} ${regexp}`;

const files = listFiles();
const sources = files.map((file) => readSource(file, readFileSync(file, 'utf8')));
const literals = sources.flatMap((source) => source.literals);

describe('regular expressions', () => {
  it('are found', () => {
    expect(literals.length).toBeGreaterThan(100);
  });

  it('take linear time as literals', () => {
    const slow = literals.filter((found) => !isLinear(found));
    expect(slow.filter(({ regexp }) => LINEAR[String(regexp)] === undefined).map(nameOf)).toEqual([]);
    const needed = new Set(slow.map(({ regexp }) => String(regexp)));
    expect(
      Object.keys(LINEAR).filter((source) => !needed.has(source)),
      'exceptions without a use',
    ).toEqual([]);
  });

  it('take linear time when they are computed', async () => {
    for (const [index, file] of files.entries()) {
      const places = sources[index]?.computed ?? 0;
      if (places === 0) continue;
      const made = await recordComputed(file);
      expect(made.length, `${file} has ${places} places; see CALLS`).toBeGreaterThanOrEqual(places);
      expect(made.filter((found) => !isLinear(found)).map(nameOf)).toEqual([]);
    }
  });

  it.each([
    '/^(a+)+$/',
    '/\\s+$/',
    '/^(\\w+\\s?)*$/',
    '/(x+x+)+y/',
    '/^\\s*([\\w-]+)\\s*=\\s*((?:[^%]|%[0-9a-f]{2})*?)\\s*$/i',
  ])('would not pass with %s', (literal) => {
    const { literals: planted } = readSource('planted.ts', `export const slow: RegExp = ${literal};`);
    expect(planted.map(nameOf)).toEqual([`planted.ts:1 ${literal}`]);
    expect(planted.filter(isLinear)).toEqual([]);
  });

  it('would not pass unseen when they are computed', () => {
    expect(readSource('planted.ts', 'const a = (text: string) => new RegExp(text);').computed).toBe(1);
  });
});
