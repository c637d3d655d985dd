// A release has what a deployment runs beside the image, as committed, so that a changed script is refused as well.
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../app/local/temporary-folder.ts';

const {
  packDeployment,
  signRelease,
}: {
  packDeployment(root: string, folder: string, version: string): void;
  signRelease(folder: string, key: KeyObject, origin: object): void;
} = await import(resolve('scripts/sign-release.mjs'));
const { verifyRelease }: { verifyRelease(folder: string, publicKey: string): { faults: string[] } } =
  await import(resolve('scripts/verify-release.mjs'));

function packed() {
  const folder = temporaryFolder();
  packDeployment('.', folder, '0.2.0');
  const [name = ''] = readdirSync(folder);
  return { folder, name, bytes: readFileSync(join(folder, name)) };
}

it('has compose, its settings, scripts, units, rules and the chart, the same bytes each time', () => {
  const { folder, name, bytes } = packed();
  expect(name).toBe('countersign-deployment-0.2.0.tar');
  const listed = execFileSync('tar', ['tf', join(folder, name)], { encoding: 'utf8' });
  for (const file of [
    ...['docker-compose.yml', '.env.example', 'deploy/backup/backup.sh', 'deploy/gateway/nginx.conf'],
    ...[
      'deploy/helm/countersign/Chart.yaml',
      'deploy/prometheus/rules.yml',
      'deploy/systemd/countersign-api.service',
    ],
  ])
    expect(listed).toContain(`countersign-deployment-0.2.0/${file}\n`);
  expect(packed().bytes.equals(bytes)).toBe(true);
});

it('is refused when a line of it was changed', () => {
  const { folder, name, bytes } = packed();
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  signRelease(folder, privateKey, {
    commit: 'a',
    lockfile: Buffer.from('{}'),
    builder: 'urn:test',
    tools: {},
  });
  const verify = () =>
    verifyRelease(folder, publicKey.export({ format: 'pem', type: 'spki' }).toString()).faults;
  expect(verify()).toEqual([]);
  const changed = bytes.toString('latin1').replace('cap_drop: [ALL]', 'cap_drop: [AUX]');
  writeFileSync(join(folder, name), changed, 'latin1');
  expect(verify()).toEqual([`${name}: was changed`]);
});
