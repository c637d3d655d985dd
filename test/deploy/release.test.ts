// A release verifies offline, and nothing of it can be changed unseen. `npm run nightly -- two-builds` makes whole
// ones.
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../app/local/temporary-folder.ts';

type Origin = { commit: string; lockfile: Buffer; builder: string; tools: Record<string, string> };
const { signRelease }: { signRelease(folder: string, key: KeyObject, origin: Origin): void } = await import(
  resolve('scripts/sign-release.mjs')
);
const { verifyRelease }: { verifyRelease(folder: string, publicKey: string): { faults: string[] } } =
  await import(resolve('scripts/verify-release.mjs'));

const COMMIT = 'a'.repeat(40);
const SBOM = 'countersign.cdx.json';
const STATEMENT = 'provenance.dsse.json';
const pair = generateKeyPairSync('ed25519');
const stranger = generateKeyPairSync('ed25519');

function makeRelease({ privateKey } = pair): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'countersign-0.2.0.tgz'), 'packed');
  writeFileSync(join(folder, SBOM), '{"bomFormat":"CycloneDX"}');
  const tools = { node: 'v24.0.0', npm: '11.0.0', arch: 'x64' };
  signRelease(folder, privateKey, {
    commit: COMMIT,
    lockfile: Buffer.from('{}'),
    builder: 'urn:test',
    tools,
  });
  return folder;
}

const verify = (folder: string) =>
  verifyRelease(folder, pair.publicKey.export({ format: 'pem', type: 'spki' }).toString());

/** Changes what the statement says, and leaves its signature. */
function forge(folder: string, from: string, to: string): void {
  const file = join(folder, STATEMENT);
  const envelope = JSON.parse(readFileSync(file, 'utf8')) as { payload: string };
  const said = Buffer.from(envelope.payload, 'base64').toString();
  expect(said).toContain(from);
  const payload = Buffer.from(said.replaceAll(from, to)).toString('base64');
  writeFileSync(file, JSON.stringify({ ...envelope, payload }));
}

it('a release that nobody changed is verified, with its commit', () =>
  expect(verify(makeRelease())).toMatchObject({
    faults: [],
    statement: { predicate: { buildDefinition: { externalParameters: { commit: COMMIT } } } },
  }));

it('the program that verifies needs nothing but itself and Node.js', () => {
  const imports = [
    ...readFileSync('scripts/verify-release.mjs', 'utf8').matchAll(/^import .* from '(.+)';$/gm),
  ];
  expect(imports.length).toBeGreaterThan(2);
  for (const [, from] of imports) expect(from).toMatch(/^node:/);
});

it('the statement of the same files is the same', () => {
  const [one, other] = [makeRelease(), makeRelease()].map((folder) => readFileSync(join(folder, STATEMENT)));
  expect(one).toEqual(other);
});

describe('a release is refused', () => {
  it.each<[string, (folder: string) => void, string]>([
    [
      'with a changed artefact',
      (folder) => writeFileSync(join(folder, 'countersign-0.2.0.tgz'), 'packet'),
      'countersign-0.2.0.tgz: was changed',
    ],
    ['with a changed SBOM', (folder) => writeFileSync(join(folder, SBOM), '{}'), `${SBOM}: was changed`],
    ['without its SBOM', (folder) => rmSync(join(folder, SBOM)), `${SBOM}: is missing`],
    [
      'with a file more',
      (folder) => writeFileSync(join(folder, 'install.sh'), ''),
      'install.sh: is not part of the release',
    ],
    [
      'with another commit in its statement',
      (folder) => forge(folder, COMMIT, 'b'.repeat(40)),
      `${STATEMENT}: is not signed by this key`,
    ],
    [
      'with the statement of a stranger',
      (folder) => copyFileSync(join(makeRelease(stranger), STATEMENT), join(folder, STATEMENT)),
      `${STATEMENT}: is not signed by this key`,
    ],
    [
      'with a statement that is none',
      (folder) => writeFileSync(join(folder, STATEMENT), 'x'),
      `${STATEMENT}: is not signed by this key`,
    ],
  ])('%s', (_what, change, line) => {
    const folder = makeRelease();
    change(folder);
    expect(verify(folder).faults).toEqual([line]);
  });
});
