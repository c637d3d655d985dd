// The digest of an image is read of what an engine saves, in the layouts of engines before and after Docker 25, and a
// release is verified with it.
import { execFileSync } from 'node:child_process';
import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createReadStream, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../app/local/temporary-folder.ts';

type Image = { name: string; digest: string };
type Origin = { commit: string; lockfile: Buffer; builder: string; tools: object; image?: Image | undefined };
const { signRelease }: { signRelease(folder: string, key: KeyObject, origin: Origin): void } = await import(
  resolve('scripts/sign-release.mjs')
);
const {
  verifyRelease,
  readImage,
}: {
  verifyRelease(folder: string, publicKey: string, image?: string): { faults: string[] };
  readImage(archive: AsyncIterable<Buffer>): Promise<string>;
} = await import(resolve('scripts/verify-release.mjs'));

const CONFIG = '{"rootfs":{"type":"layers","diff_ids":["sha256:00"]}}';
const digest = createHash('sha256').update(CONFIG).digest('hex');
const pair = generateKeyPairSync('ed25519');
const publicKey = pair.publicKey.export({ format: 'pem', type: 'spki' }).toString();

/** @returns the digest that is read of an archive with these files, in this order, in chunks of so many bytes */
function digestOf(files: Record<string, string | Buffer>, highWaterMark = 65_536): Promise<string> {
  const folder = temporaryFolder();
  const archive = join(temporaryFolder(), 'image.tar');
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  execFileSync('tar', ['--format=ustar', '-C', folder, '-cf', archive, ...Object.keys(files)]);
  return readImage(createReadStream(archive, { highWaterMark }));
}

const manifest = (...configs: string[]) => JSON.stringify(configs.map((Config) => ({ Config, Layers: [] })));

function faultsOf({ signed, given }: { signed?: string; given?: string }): string[] {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'countersign-0.2.0.tgz'), 'packed');
  signRelease(folder, pair.privateKey, {
    ...{ commit: 'a'.repeat(40), lockfile: Buffer.from('{}'), builder: 'urn:test', tools: {} },
    image: signed === undefined ? undefined : { name: 'countersign:1.0.0', digest: signed },
  });
  return verifyRelease(folder, publicKey, given).faults;
}

it.each([1, 512, 65_536])(
  'the digest of an image is that of its config, by chunks of %i bytes',
  async (size) => {
    const layer = Buffer.alloc(size === 1 ? 100 : 1_500_001, 'manifest.json');
    const blob = `blobs/sha256/${digest}`;
    expect(
      await digestOf({ 'a/layer.tar': layer, [blob]: CONFIG, 'manifest.json': manifest(blob) }, size),
    ).toBe(digest);
    const file = `${digest}.json`;
    expect(
      await digestOf({ 'manifest.json': manifest(file), [file]: CONFIG, 'b/layer.tar': layer }, size),
    ).toBe(digest);
  },
);

it('a config that has the name of another is known by its bytes', async () =>
  expect(
    await digestOf({ [`${digest}.json`]: `${CONFIG} `, 'manifest.json': manifest(`${digest}.json`) }),
  ).not.toBe(digest));

it.each<[string, Record<string, string>]>([
  ['two images', { 'a.json': CONFIG, 'b.json': CONFIG, 'manifest.json': manifest('a.json', 'b.json') }],
  ['a config that is missing', { 'manifest.json': manifest('a.json') }],
  ['no manifest', { 'a.json': CONFIG }],
])('an archive with %s is refused', (_what, files) =>
  expect(digestOf(files)).rejects.toThrow('no archive of one image'),
);

it('a release is verified with its image, and without', () => {
  expect(faultsOf({ signed: digest, given: digest })).toEqual([]);
  expect(faultsOf({ signed: digest })).toEqual([]);
});

it('another image is refused, and one where none was signed', () => {
  expect(faultsOf({ signed: digest, given: 'b'.repeat(64) })).toEqual([
    'countersign:1.0.0: is another image',
  ]);
  expect(faultsOf({ given: digest })).toEqual(['the image: is not part of the release']);
});
