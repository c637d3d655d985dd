// Runs every command of Temporal's command line on the operators' pages: its words, its query and its flags are taken
// by a real server.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Connection } from '@temporalio/client';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { obtainTemporal } from '../../src/app/local/temporal-program.ts';
import { SEARCH_ATTRIBUTES } from '../../src/platform/temporal/names.ts';
import { ensureNamespace } from '../../src/platform/temporal/namespace.ts';
import { readCommands } from '../operations/operators/incident-page.ts';
import { listPages, readBlocks } from './pages.ts';
import { isOperationsPage } from './walked-pages.ts';

const ALIASES = [
  "alias t='temporal --address 127.0.0.1:7233 --namespace countersign' countersign='npx countersign'   # npm start",
  "# compose: alias t='docker compose run --rm --no-deps tools temporal'",
  "# compose: alias countersign='docker compose run --rm --no-deps api'",
];
/** Loops over many workflows, and what acts on all of them: the tests that ELSEWHERE names run those. */
const ELSEWHERE = /workflow signal --query|xargs|\|$|worker deployment|batch list/;
/** A server without the workflow, the schedule or its worker: the command was understood. */
const UNDERSTOOD = /not found|no rows|workflow execution already completed/i;

const pages = listPages().filter(isOperationsPage);
const commands = pages.flatMap((page) =>
  readCommands(page)
    .filter(({ line }) => line.startsWith('t ') && !ELSEWHERE.test(line))
    .map(({ line }) => [page, line.replaceAll(/<[a-z_ ]+>/g, randomUUID())] as const),
);

let definitions = '';
beforeAll(async () => {
  const address = inject('temporalAddress');
  const namespace = `pages-${randomUUID()}`;
  const connection = await Connection.connect({ address });
  await ensureNamespace(connection, { namespace });
  await connection.close();
  const say = () => undefined;
  const temporal = await obtainTemporal({
    binFolder: resolve('.data', 'bin'),
    path: process.env.PATH ?? '',
    say,
  });
  definitions = `t() { ${temporal} --address ${address} --namespace ${namespace} "$@"; }`;
});

/** @returns '' when the command was understood, otherwise what it said */
const complaintOf = (line: string) =>
  new Promise<string>((done) => {
    execFile('bash', ['-c', `${definitions}\n${line}`], (error, stdout, stderr) => {
      const said = `${stdout}${stderr}`;
      done(error === null || UNDERSTOOD.test(said) ? '' : said || error.message);
    });
  });

/** What a block uses and neither it nor a block before it on the page defines. */
function undefinedIn(blocks: readonly string[]): string[] {
  return blocks.flatMap((block, index) => {
    const before = blocks.slice(0, index + 1).join('\n');
    const programs = [...block.matchAll(/^ *(t|countersign) /gm)].map(([, name]) => name ?? '');
    const variables = [...block.matchAll(/(?<!\\)\$\{?([A-Z][A-Z_]+)/g)].map(([, name]) => name ?? '');
    return [
      ...programs.filter((name) => !new RegExp(`^alias .*\\b${name}='`, 'm').test(before)),
      ...variables.filter((name) => !new RegExp(`(?:^| )${name}=`, 'm').test(before)),
    ];
  });
}

describe('the operators’ pages', () => {
  it('define what their blocks use, on the same page, before it is used', () => {
    expect(undefinedIn(['t workflow list', 'alias t=\'x\'\ncountersign doctor\ncp "$PGDATA" x'])).toEqual([
      't',
      'countersign',
      'PGDATA',
    ]);
    for (const page of pages) expect(undefinedIn(readBlocks(page)), page).toEqual([]);
  });

  it('have commands that Temporal’s command line takes', async () => {
    expect(commands.length).toBeGreaterThan(40);
    const wrong = [];
    for (const [page, line] of commands) {
      const complaint = await complaintOf(line);
      if (complaint !== '') wrong.push({ page, line, complaint });
    }
    expect(wrong).toEqual([]);
  });

  it.each(Object.values(SEARCH_ATTRIBUTES).map(({ name }) => name))(
    'ask for the search attribute %s, and list who does',
    (name) => {
      const texts = pages.map((page) => readFileSync(page, 'utf8')).join('\n');
      const dashboard = readFileSync('deploy/grafana/countersign.json', 'utf8');
      expect(`${texts}${dashboard}`).toMatch(new RegExp(`\\b${name}(?:=|!=|>|%3D| STARTS_WITH)|'${name}'`));
      expect(readFileSync('docs/operations/README.md', 'utf8')).toContain(`\n| \`${name}\` |`);
    },
  );

  it('say how the command line is reached, under npm start and in compose', () => {
    for (const page of pages) {
      const aliases = readFileSync(page, 'utf8').match(/^(# compose: )?alias .*$/gm) ?? [];
      if (aliases.length > 0) expect(aliases, page).toEqual(ALIASES);
    }
    const withCommands = new Set(commands.map(([page]) => page));
    for (const page of withCommands) expect(readFileSync(page, 'utf8'), page).toContain(ALIASES.join('\n'));
  });
});
