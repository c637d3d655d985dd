// Starts the receiver written in Python, and sends requests to a receiver byte for byte as a test wants them.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('receiver.py', import.meta.url));

export type PythonRecord = {
  delivery_id: string;
  event_type: string;
  received_at: number;
  status: string;
  event_id: string;
};

/** What the receiver says about a refused request. */
export type PythonRefusal = {
  reason: string;
  status: number;
  final: boolean;
  message: string;
  delivery_id: string | null;
  skew_seconds: number | null;
};

/** Whether there is a Python. */
export function hasPython(): boolean {
  return spawnSync('python3', ['--version']).status === 0;
}

/** Starts receiver.py: Python 3.9 or newer, standard library only. @throws when there is none */
export async function startPythonReceiver(secrets: readonly string[]) {
  if (!hasPython()) throw new Error('python3 is needed on the PATH for this test');
  const folder = await mkdtemp(join(tmpdir(), 'countersign-python-'));
  const file = join(folder, 'secrets');
  await writeFile(file, secrets.join('\n'));
  const child = spawn('python3', [script, file], { stdio: ['ignore', 'pipe', 'pipe'] });
  // A delivery that meets lost secrets is a traceback by intent; every other one must be seen.
  let secretsLost = false;
  child.stderr.on('data', (text: Buffer) => {
    if (!secretsLost) process.stderr.write(text);
  });
  const records: PythonRecord[] = [];
  const refusals: PythonRefusal[] = [];
  const port = await new Promise<number>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const said = JSON.parse(line) as { port: number } | { refused: PythonRefusal } | PythonRecord;
      if ('port' in said) resolve(said.port);
      else if ('refused' in said) refusals.push(said.refused);
      else records.push(said);
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`receiver.py ended with ${code}`)));
  });
  return {
    port,
    url: `http://127.0.0.1:${port}/hook`,
    records,
    refusals,
    async setSecrets(all: readonly string[]) {
      await writeFile(file, all.join('\n'));
      secretsLost = false;
    },
    /** Until the next setSecrets every delivery meets a receiver in trouble. */
    async loseSecrets() {
      secretsLost = true;
      await rm(file);
    },
    close: async () => {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      if (child.exitCode === null && child.kill()) await gone;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A request as it goes over the wire; `headers` in order, each as often as it is to be sent. */
export type RawRequest = {
  method: string;
  headers: readonly (readonly [string, string])[];
  body: Uint8Array;
};

export type RawAnswer = { status: number; headers: IncomingMessage['headers']; body: string };

/** The headers as they were received, in their order and spelling. */
export function headersOf(rawHeaders: readonly string[]): [string, string][] {
  return rawHeaders.flatMap((name, at) =>
    at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ''] as [string, string]] : [],
  );
}

/** Sends a request with just those headers; only the length is made to fit the body. */
export function sendRaw(port: number, { method, headers, body }: RawRequest): Promise<RawAnswer> {
  const sent = headers.filter(([name]) => !/^(content-length|host|connection)$/i.test(name));
  const own: [string, string][] = [
    ['Host', `127.0.0.1:${port}`],
    ['Connection', 'close'],
    ['Content-Length', String(body.length)],
  ];
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      { host: '127.0.0.1', port, path: '/hook', method, agent: false, headers: [...own, ...sent].flat() },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('end', () => {
          const { statusCode: status = 0, headers: answered } = incoming;
          resolve({ status, headers: answered, body: Buffer.concat(chunks).toString() });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
