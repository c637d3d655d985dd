// The deployment driver without an engine: it says so, the pages have the lines that it runs, and its verdicts hold.
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../app/local/temporary-folder.ts';
import { readBlocks } from '../documentation/pages.ts';

type Run = { commands: { text: string; began: number; ended: number }[]; said: string };
const lines: {
  readBlock(page: string, words: string, language?: string): string;
  persist(block: string): string;
  commandOf(line: string): string;
  restoreToMinute(page: string): string;
  runLines(text: string, place: { cwd: string; env?: NodeJS.ProcessEnv }): Promise<Run>;
} = await import(resolve('test/deploy/driver/lines.mjs'));
const {
  figuresOf,
  faultsOf,
}: { figuresOf(...seen: object[]): object; faultsOf(...seen: object[]): string[] } = await import(
  resolve('test/deploy/driver/figures.mjs')
);

const UPGRADE = 'docs/operations/upgrade.md';
const HOST = 'docs/fresh-host.md';

it('is not run where there is no Docker engine, which is no success', () => {
  const env = { ...process.env, DOCKER_HOST: `unix://${temporaryFolder()}/none.sock` };
  const { status, stdout } = spawnSync(process.execPath, ['test/deploy/driver.mjs'], {
    env,
    encoding: 'utf8',
  });
  expect([status, stdout]).toEqual([77, 'not run: no Docker engine\n']);
});

describe('the lines of the pages', () => {
  it.each([
    [HOST, 'cp .env.example .env', 'sh'],
    [HOST, 'tenant create acme', 'sh'],
    [HOST, '17 3 * * *', 'crontab'],
    [HOST, '--wal', 'crontab'],
    [HOST, 'tar cf - -C', 'sh'],
    [HOST, 'lost-$now', 'sh'],
    [HOST, 'recovery.signal', 'sh'],
    [UPGRADE, 'set_version()', 'sh'],
    [UPGRADE, 'cp -p .env.former .env\n', 'sh'],
  ])('are in one block: %s, %j', (page, words, language) => {
    expect(readBlocks(page, language)).toContain(lines.readBlock(page, words, language));
  });

  it('have what a person repeats, and the command of cron', () => {
    expect(lines.persist(lines.readBlock(HOST, 'lost-$now'))).toContain(
      'if docker compose run --rm --no-deps worker restore-check; then',
    );
    expect(lines.commandOf(lines.readBlock(HOST, '17 3 * * *', 'crontab'))).toMatch(/^\/opt\/countersign\//);
  });

  it('for a minute come after the backup is unpacked, and before Postgres starts', () => {
    const minute = lines.readBlock(HOST, 'recovery.signal');
    const [unpacked = '', started = ''] = lines.restoreToMinute(HOST).split(minute);
    expect(unpacked).toContain('tar xzf - -C docker');
    expect(started).toMatch(/^docker compose up -d --wait postgres\n/);
    expect(unpacked + started).toBe(lines.readBlock(HOST, 'lost-$now'));
  });

  it('are run in one shell, each with its times, and not those within a function', async () => {
    const text = 'f() {\n  true\n  echo "$1"\n}\nf one   # a comment\nX=two; f "$X"\n';
    const { commands, said } = await lines.runLines(text, { cwd: '.' });
    expect(said).toBe('one\ntwo\n');
    expect(commands.map((one) => one.text)).toEqual(['f one', 'X=two', 'f "$X"']);
    for (const { began, ended } of commands) expect(ended).toBeGreaterThanOrEqual(began);
  });

  it('end at the first that fails, with what it said', async () => {
    await expect(lines.runLines('echo why; false; echo never', { cwd: '.' })).rejects.toThrow(
      /ended with 1: [\s\S]*\nwhy\n$/,
    );
  });
});

describe('the verdict of a step', () => {
  const request = (at: number, status = 200, more = {}) => ({
    ...{ kind: 'token', at, ms: 10, status, isRefused: status !== 200 },
    ...more,
  });
  const seen = {
    asked: [request(5), request(10), request(15, 503, { retryAfter: '1' }), request(20, 502), request(30)],
    accepted: new Map([
      [1, 5],
      [2, 10],
      [3, 20],
    ]),
    arrived: [
      { n: 1, at: 6 },
      { n: 2, at: 6_010 },
      { n: 2, at: 5_010 },
    ],
  };
  const figures = figuresOf(seen, { began: 10, ended: 30 });

  it('is of what began within its window', () => {
    expect(figures).toMatchObject({
      ...{ requests: 3, published: 2, lost: 1, repeated: 1, latest: 5_000 },
      refused: [{ status: 503 }, { status: 502 }],
    });
  });

  it.each([
    [{}, ['refused 2 requests', 'lost 1 events']],
    [{ refusesUntil: 15 }, ['refused 1 requests', 'lost 1 events']],
    [{ refusesUntil: 20, latest: 5_000 }, ['lost 1 events']],
    [{ refusesUntil: 20, latest: 4_999 }, ['lost 1 events', 'a delivery after 5.00 s']],
    [{ refusesUntil: 20, isPolite: true }, ['1 refusals were no 503 with Retry-After', 'lost 1 events']],
  ])('with the promise %j has the faults %j', (promise, faults) => {
    expect(faultsOf(figures, promise)).toEqual(faults);
  });

  it('is a fault where there was no load', () => {
    expect(faultsOf(figuresOf(seen, { began: 40, ended: 50 }), {})).toEqual(['there was no load']);
  });
});
