// The package `@countersign/receiver`, used as others use it: from another folder, by another compiler run, without
// Node, in a browser.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installPackage, run } from '../packed-package.ts';
import { SECRET, signedDelivery } from './delivery-request.ts';

const scenario = fileURLToPath(new URL('portable-scenario.mjs', import.meta.url));

let consumer: Awaited<ReturnType<typeof installPackage>>;
beforeAll(async () => {
  consumer = await installPackage('receiver');
});
afterAll(() => consumer?.close());

/** A genuine delivery that can be handed to another process. */
function genuine() {
  const { headers, body } = signedDelivery();
  return { secret: SECRET, headers, body: new TextDecoder().decode(body) };
}

const EXPECTED = {
  answers: [
    '401 {"error":"invalid_signature"}',
    '401 {"error":"invalid_signature"}',
    '200 {"status":"processed"}',
    '200 {"status":"ignored"}',
  ],
  handled: ['auth.login.success e-1'],
  records: ['processed'],
  verified: true,
  unverified: false,
};

describe('the packed package', () => {
  it('has the build and its types, and nothing that is not for others', () => {
    expect(consumer.files).toEqual(expect.arrayContaining(['dist/index.js', 'dist/index.d.ts', 'README.md']));
    const own = /^(package\.json|README\.md|dist\/[\w-]+(\.d\.ts|\.js))$/;
    expect(consumer.files.filter((path) => !own.test(path))).toEqual([]);
  });

  it('is imported as @countersign/receiver, and by no other way in', async () => {
    const program = `
      const receiver = await import('@countersign/receiver');
      const other = await import('@countersign/receiver/dist/receive.js').catch(({ code }) => code);
      process.stdout.write(JSON.stringify([Object.keys(receiver), other]));`;
    const args = ['--input-type=module', '--eval', program];
    const [names, other] = JSON.parse(await run(process.execPath, args, consumer.folder)) as [
      string[],
      string,
    ];
    expect(other).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED');
    expect(names).toEqual(
      expect.arrayContaining([
        ...['verifyDelivery', 'receive', 'createMemoryDeliveryLog', 'RetryLater', 'RejectDelivery'],
        ...['createKoaReceiver', 'createExpressReceiver', 'createFetchReceiver'],
      ]),
    );
  });

  it('has types for a strict compiler that knows neither Node nor a web framework', async () => {
    const source = (secrets: string) => `
      import { createFetchReceiver, createMemoryDeliveryLog, type DeliveryLog, RetryLater } from '@countersign/receiver';
      const log: DeliveryLog = createMemoryDeliveryLog({ limit: 10 });
      export const receive: (request: Request) => Promise<Response> = createFetchReceiver({
        secrets: ${secrets},
        log,
        handler: async ({ deliveryId, payload }) => {
          if (payload === null) throw new RetryLater(deliveryId.length);
        },
      });`;
    const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2022', '--types', ''];
    const compile = async (secrets: string) => {
      const file = join(consumer.folder, 'consumer.mts');
      await writeFile(file, source(secrets));
      const compiler = resolve('node_modules/typescript/bin/tsc');
      const args = [compiler, ...options, '--lib', 'es2022,dom', file];
      return run(process.execPath, args, consumer.folder);
    };
    await compile(`['whsec_a', 'whsec_b']`);
    await expect(compile('7')).rejects.toThrow(/number/);
  });

  it('runs without anything of Node, and leads to no module of Node', async () => {
    const script = fileURLToPath(new URL('../bare-context.mjs', import.meta.url));
    const flags = ['--experimental-vm-modules', '--no-warnings'];
    const args = [
      ...flags,
      script,
      consumer.folder,
      '@countersign/receiver',
      scenario,
      JSON.stringify(genuine()),
    ];
    const result = JSON.parse(await run(process.execPath, args, consumer.folder)) as { modules: number };
    expect(result).toMatchObject({ ...EXPECTED, node: Array(4).fill('undefined') });
    expect(result.modules).toBeGreaterThan(10);
  });
});

describe('a browser', () => {
  const browser = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'].find(
    (name) => spawnSync(name, ['--version']).status === 0,
  );

  it('receives, too', async ({ skip }) => {
    // Not every machine has a browser; that nothing of Node is needed is shown above on each.
    if (browser === undefined) skip('no Chromium on the PATH');
    const profile = await mkdtemp(join(tmpdir(), 'countersign-browser-'));
    const page = await servePage();
    const flags = [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--no-first-run',
    ];
    const args = [...flags, '--remote-debugging-port=0', `--user-data-dir=${profile}`, page.url];
    const child = spawn(browser ?? '', args, { stdio: 'ignore' });
    try {
      const ended = new Promise<never>((_, reject) => {
        child.once('exit', (code) => reject(new Error(`the browser ended with ${code}`)));
      });
      expect(await Promise.race([page.result, ended])).toMatchObject({
        ...EXPECTED,
        node: Array(4).fill('undefined'),
      });
    } finally {
      child.removeAllListeners('exit');
      const gone = new Promise((resolve) => child.once('exit', resolve));
      if (child.exitCode === null && child.kill()) await gone;
      page.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 10 });
    }
  });
});

/** A page that imports the package as it is, without a bundler, and posts what came of the scenario. */
async function servePage() {
  const html = `<!doctype html><script type="importmap">${JSON.stringify({
    imports: { '@countersign/receiver': entryPath() },
  })}</script><script type="module">
    const post = (result) => fetch('/result', { method: 'POST', body: JSON.stringify(result) });
    try {
      const receiver = await import('@countersign/receiver');
      const { runScenario } = await import('/scenario.mjs');
      await post(await runScenario(receiver, ${JSON.stringify(genuine()).replaceAll('<', '\\u003c')}));
    } catch (error) {
      await post({ error: String(error) });
    }
  </script>`;
  let report: (result: unknown) => void = () => undefined;
  const result = new Promise<unknown>((resolve) => {
    report = resolve;
  });
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://page.test');
    const answer = (type: string, body: string | Buffer) =>
      response.writeHead(200, { 'content-type': type }).end(body);
    try {
      if (pathname === '/') answer('text/html; charset=utf-8', html);
      else if (pathname === '/scenario.mjs') answer('text/javascript', await readFile(scenario));
      else if (pathname === '/result') {
        let body = '';
        for await (const chunk of request) body += String(chunk);
        answer('text/plain', '');
        report(JSON.parse(body));
      } else answer('text/javascript', await readFile(join(consumer.folder, pathname)));
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, result, close };
}

function entryPath(): string {
  const place = 'node_modules/@countersign/receiver/';
  const { exports } = JSON.parse(readFileSync(join(consumer.folder, place, 'package.json'), 'utf8')) as {
    exports: { '.': { default: string } };
  };
  return new URL(exports['.'].default, `http://page.test/${place}`).pathname;
}
