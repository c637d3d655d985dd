// Counts the house: lines by wing and by role, wiring, histories, and functions longer than a hundred lines. Prints one
// JSON document, so that two commits can be compared: `node scripts/count-house.mjs [folder of a clone]`.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript-5';

const LONG = 100;
const folder = process.argv[2] ?? '.';
const files = execFileSync('git', ['-C', folder, 'ls-files'], { encoding: 'utf8' })
  .split('\n')
  .filter(Boolean);
const text = (file) => readFileSync(join(folder, file), 'utf8');
const linesOf = (file) => text(file).split('\n').length - 1;
const sum = (chosen) => chosen.reduce((all, file) => all + linesOf(file), 0);
const below = (...roots) => files.filter((file) => roots.some((root) => file.startsWith(`${root}/`)));

const source = below('src', 'workflows', 'activities');
const typescript = source.filter((file) => /\.tsx?$/.test(file));
const tests = below('test').filter((file) => /\.tsx?$|\.mjs$|\.py$/.test(file));

const roleOf = (file) =>
  file.endsWith('/wire.ts') ? 'wire' : (/\.([a-z-]+)\.ts$/.exec(file)?.[1] ?? 'none');
const wingOf = (file) => (file.startsWith('src/') ? file.split('/')[1] : file.split('/')[0]);

function group(chosen, keyOf) {
  const keys = [...new Set(chosen.map(keyOf))];
  const counted = keys.map((key) => [key, sum(chosen.filter((file) => keyOf(file) === key))]);
  return Object.fromEntries(counted.sort(([, one], [, other]) => other - one));
}

/** The functions of a file whose text has more than a hundred lines; one within another counts, too. */
function longFunctions(file) {
  const parsed = ts.createSourceFile(file, text(file), ts.ScriptTarget.Latest, true);
  const found = [];
  const visit = (node) => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const [from, to] = [node.getStart(), node.end].map(
        (at) => parsed.getLineAndCharacterOfPosition(at).line,
      );
      const holder = /** @type {{ name?: ts.Node } | undefined} */ (node.parent);
      const name = node.name?.getText() ?? holder?.name?.getText() ?? 'function';
      if (to - from + 1 > LONG) found.push(`${file}: ${name} ${to - from + 1}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(parsed);
  return found;
}

const long = typescript.flatMap(longFunctions).sort();
const histories = below('test/replay/histories').filter((file) => file.endsWith('.json'));
process.stdout.write(
  `${JSON.stringify(
    {
      source: sum(source),
      packages: sum(below('packages').filter((file) => /\.(ts|tsx|mjs|py)$/.test(file))),
      bench: sum(below('bench')),
      scripts: sum(below('scripts')),
      tests: sum(tests),
      histories: sum(histories),
      wiring: sum(source.filter((file) => roleOf(file) === 'wire' || file.startsWith('src/app/wiring/'))),
      longFunctions: { count: long.length, list: long },
      byWing: group(source, wingOf),
      byRole: group(typescript, roleOf),
      testFiles: tests.filter((file) => file.endsWith('.test.ts')).length,
    },
    null,
    2,
  )}\n`,
);
