// Programs of the standard libraries of Python and Go, written from the guides that the service serves: a receiver of
// each passes `countersign verify-receiver`, an agent of each logs in to the real service.
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Service, startService } from '../app/terminal/service.ts';
import { canRun as hasOpenSsl } from './walk.ts';

const SOURCES = join(import.meta.dirname, 'by-hand');
const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
/** Where the whole is judged, all of it must be there. */
const isRequired = Boolean(process.env.CI);
const hasPython = isRequired || (hasOpenSsl && spawnSync('python3', ['--version']).status === 0);
const hasGo = isRequired || spawnSync('go', ['version']).status === 0;

let service: Service;
let folder: string;
beforeAll(async () => {
  service = await startService();
  folder = await mkdtemp(join(tmpdir(), 'countersign-by-hand-'));
});
afterAll(async () => {
  await service?.close();
  await rm(folder, { recursive: true, force: true });
});

/** The words that run a program; one of Go is built, without a module. */
async function prepare(name: string): Promise<[program: string, ...words: string[]]> {
  const source = join(SOURCES, name);
  if (name.endsWith('.py')) return ['python3', source];
  const program = join(folder, name.replace('.go', ''));
  await promisify(execFile)('go', ['build', '-o', program, source], { cwd: folder });
  return [program];
}

/** Starts a receiver. @returns its port, and what ends it */
async function startReceiver([program, ...words]: [string, ...string[]]) {
  const env = { ...process.env, WEBHOOK_SECRET: SECRET };
  const child: ChildProcess = spawn(program, words, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await new Promise<string>((resolve, reject) => {
    if (child.stdout !== null) createInterface({ input: child.stdout }).once('line', resolve);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`the receiver ended with ${code}`)));
  });
  const close = async () => {
    const gone = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode === null && child.kill()) await gone;
  };
  return { port, close };
}

async function handOver(algorithm: string) {
  const created = await service.owner.send('POST', '/api/v1/agents', {
    name: `by hand, ${algorithm}`,
    scopes: ['openid'],
  });
  const path = `/api/v1/agents/${created.body.id}/enrollment-tokens`;
  const { body } = await service.owner.send('POST', path, {});
  return { agentId: created.body.id as string, handed: body as object };
}

describe.each([
  ['Python', '.py', hasPython],
  ['Go', '.go', hasGo],
])('what is written in %s from the served guides', (_, ending, isThere) => {
  it.skipIf(!isThere)('receives: verify-receiver finds no fault', async () => {
    const receiver = await startReceiver(await prepare(`receiver${ending}`));
    try {
      const url = `http://127.0.0.1:${receiver.port}/hooks`;
      const { lines } = await service.run(['verify-receiver', url, '--secret', SECRET]);
      expect(lines.filter((line) => line.startsWith('✗'))).toEqual([]);
      expect(lines.at(-1)).toBe('11 of 11: a receiver to rely on.');
    } finally {
      await receiver.close();
    }
  });

  const algorithms = ending === '.go' ? ['ed25519', 'es256'] : ['ed25519', 'es256', 'es256k'];
  it.skipIf(!isThere).each(algorithms)(
    'enrolls a key of %s, logs in, and reads what it is',
    async (algorithm) => {
      const { agentId, handed } = await handOver(algorithm);
      const env = {
        ...process.env,
        ISSUER: service.owner.credentials.issuer_url,
        HANDED: JSON.stringify(handed),
      };
      const [program, ...words] = await prepare(`agent${ending}`);
      const { stdout } = await promisify(execFile)(program, [...words, algorithm], { env });
      expect(JSON.parse(stdout)).toMatchObject({
        id: agentId,
        name: `by hand, ${algorithm}`,
        authenticated_key_id: expect.any(String),
      });
    },
  );
});
