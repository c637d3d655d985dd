// The package `@countersign/agent`, used as others use it: from its tarball in another folder, against the whole
// service.

import { readFileSync } from 'node:fs';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { generateKey } from '../../../packages/agent/src/index.ts';
import { startTenants, type Tenants } from '../../isolation/tenants-server.ts';
import { installPackage, run } from '../packed-package.ts';
import { newAgent, newEnrollment } from './live-agent.ts';

let consumer: Awaited<ReturnType<typeof installPackage>>;
let service: Tenants;
beforeAll(async () => {
  [consumer, service] = await Promise.all([installPackage('agent'), startTenants()]);
});
afterAll(async () => {
  await service?.close();
  await consumer?.close();
});

it('is one package: the build, its types, and a page', () => {
  const own = /^(package\.json|README\.md|dist\/[\w-]+(\.d\.ts|\.js))$/;
  expect(consumer.files.filter((path) => !own.test(path))).toEqual([]);
  const lock = JSON.parse(readFileSync(join(consumer.folder, 'package-lock.json'), 'utf8'));
  expect(Object.keys(lock.packages)).toEqual(['', 'node_modules/@countersign/agent']);
});

it.each(['docs/agents.md', 'packages/agent/README.md'])(
  'takes an agent from an enrollment to an answer by the lines of %s',
  async (file) => {
    const page = readFileSync(file, 'utf8');
    const [, program = ''] = /^```js agent\.mjs\n([\s\S]*?)^```$/m.exec(page) ?? [];
    await writeFile(join(consumer.folder, 'agent.mjs'), program);
    await rm(join(consumer.folder, 'agent.json'), { force: true });
    const { owner } = service;
    const enrollment = await newEnrollment(owner, await newAgent(owner, { name: 'of the guide' }));
    const start = (variables: Record<string, string>) => {
      const env = { ...process.env, ISSUER: owner.credentials.issuer_url, ...variables };
      return run(process.execPath, ['agent.mjs'], consumer.folder, env);
    };
    expect(await start({ HANDED: JSON.stringify(enrollment) })).toBe('200 of the guide\n');
    expect(await start({})).toBe('200 of the guide\n');
  },
);

it('needs @noble/curves for keys on secp256k1 only', async () => {
  const program = `
    const { secp256k1Signer } = await import('@countersign/agent/secp256k1');
    const { createAgent } = await import('@countersign/agent');
    const key = secp256k1Signer('bip340', new Uint8Array(32).fill(7));
    console.log((await createAgent({ issuer: 'https://id.example', key })).fingerprint.length);`;
  const start = () => run(process.execPath, ['--input-type=module', '--eval', program], consumer.folder);
  await expect(start()).rejects.toThrow(/Cannot find package '@noble\/curves'/);
  await mkdir(join(consumer.folder, 'node_modules/@noble'));
  await symlink(resolve('node_modules/@noble/curves'), join(consumer.folder, 'node_modules/@noble/curves'));
  expect(await start()).toBe('64\n');
});

it('has types for a strict compiler that knows no Node', async () => {
  const source = (dpop: string) => `
    import { type AgentToken, createAgent, type Signer } from '@countersign/agent';
    export async function token(key: Signer | string): Promise<AgentToken> {
      const agent = await createAgent({ issuer: 'https://id.example', key, dpop: ${dpop} });
      const answer: Response = await agent.fetch('https://vault.example/', { method: 'POST' }, { scope: 'openid' });
      return answer.ok ? agent.getToken() : agent.getToken({ resource: 'https://vault.example' });
    }`;
  const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2022', '--types', ''];
  const compile = async (dpop: string) => {
    const file = join(consumer.folder, 'consumer.mts');
    await writeFile(file, source(dpop));
    const args = [resolve('node_modules/typescript/bin/tsc'), ...options, '--lib', 'es2022,dom', file];
    return run(process.execPath, args, consumer.folder);
  };
  await compile('true');
  await expect(compile('7')).rejects.toThrow(/number/);
});

it('runs without anything of Node, and leads to no module of Node', async () => {
  const [script, scenario] = ['../bare-context.mjs', 'portable-scenario.mjs'].map((file) =>
    fileURLToPath(new URL(file, import.meta.url)),
  );
  const flags = ['--experimental-vm-modules', '--no-warnings', script ?? ''];
  const input = JSON.stringify({ key: await generateKey() });
  const args = [...flags, consumer.folder, '@countersign/agent', scenario ?? '', input];
  expect(JSON.parse(await run(process.execPath, args, consumer.folder))).toMatchObject({
    requests: [
      'POST /auth/agent/challenge false',
      'POST /auth/agent/verify true',
      'POST /auth/agent/verify true',
      'GET /items true',
    ],
    ...{ accessToken: 'a.b.c', status: 200, fingerprint: 64, made: 'P-256' },
    node: Array(4).fill('undefined'),
  });
});
