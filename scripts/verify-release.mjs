// `node verify-release.mjs <folder> <public key> [--image]`: says whether a release, and an image that comes by standard
// input, are what its builder signed. It asks no network, and needs nothing but Node.js: no clone, no dependency.
import { createHash, createPublicKey, verify } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The statement of a release: in-toto 1.0 with a predicate of SLSA 1.0, in an envelope of DSSE 1.0. */
export const STATEMENT = 'provenance.dsse.json';
export const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
/** The subject that is no file: an image, by the hash of its config, which names each layer by its hash. */
export const IMAGE = 'application/vnd.oci.image.config.v1+json';
/** Bytes; no JSON of an image is larger, and every layer that matters is. */
const LARGEST_JSON = 2 ** 20;

/** @param {Buffer} payload @returns {Buffer} what a signature of DSSE is over */
export const toSigned = (payload) =>
  Buffer.concat([Buffer.from(`DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${payload.length} `), payload]);

/** @param {Buffer} bytes @returns {string} lowercase hex */
export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/**
 * Compares a folder with the statement in it.
 * @param {string} folder of the release
 * @param {string} publicKey PEM, Ed25519; trusted, so it must have come another way than the folder
 * @param {string} [image] digest of an image, from `readImage`; without one, that of the release is not compared
 * @returns {{ statement?: Record<string, any>, faults: string[] }} no faults: it is what was signed
 */
export function verifyRelease(folder, publicKey, image) {
  const envelope = parse(readFileSync(join(folder, STATEMENT), 'utf8'));
  const payload = Buffer.from(String(envelope?.payload), 'base64');
  const key = createPublicKey(publicKey);
  const isSigned = (envelope?.signatures ?? []).some(({ sig }) =>
    verify(null, toSigned(payload), key, Buffer.from(String(sig), 'base64')),
  );
  if (envelope?.payloadType !== PAYLOAD_TYPE || !isSigned)
    return { faults: [`${STATEMENT}: is not signed by this key`] };
  const statement = parse(payload.toString());
  const files = statement.subject.filter(({ mediaType }) => mediaType !== IMAGE);
  const subjects = new Map(files.map(({ name, digest }) => [name, digest.sha256]));
  const present = readdirSync(folder).filter((name) => name !== STATEMENT);
  const faults = present.flatMap((name) => {
    if (!subjects.has(name)) return [`${name}: is not part of the release`];
    const isSame = sha256(readFileSync(join(folder, name))) === subjects.get(name);
    return isSame ? [] : [`${name}: was changed`];
  });
  for (const name of subjects.keys()) if (!present.includes(name)) faults.push(`${name}: is missing`);
  const [signed] = imagesOf(statement);
  if (image !== undefined && image !== signed?.digest.sha256)
    faults.push(signed ? `${signed.name}: is another image` : 'the image: is not part of the release');
  return { statement, faults };
}

const imagesOf = (statement) => statement.subject.filter(({ mediaType }) => mediaType === IMAGE);

/**
 * @param {AsyncIterable<Buffer>} archive what `docker image save` writes of one image
 * @returns {Promise<string>} SHA-256 of the image's config, lowercase hex: the same in every engine and registry
 * @throws {Error} when it is no such archive
 */
export async function readImage(archive) {
  const files = await readSmallFiles(archive);
  const images = parse(String(files.get('manifest.json')));
  const config = files.get(images?.[0]?.Config);
  if (images?.length !== 1 || config === undefined) throw new Error('This is no archive of one image.');
  return sha256(config);
}

/** @returns {Promise<Map<string, Buffer>>} the files of a tar by name, without the large ones */
async function readSmallFiles(archive) {
  const files = new Map();
  let rest = Buffer.alloc(0);
  let skipped = 0;
  for await (const chunk of archive) {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const jump = Math.min(skipped, rest.length);
      rest = rest.subarray(jump);
      skipped -= jump;
      if (skipped > 0 || rest.length < 512) break;
      const [name, size] = headerOf(rest);
      const end = 512 + Math.ceil(size / 512) * 512;
      if (size <= LARGEST_JSON) {
        if (rest.length < end) break;
        files.set(name, Buffer.from(rest.subarray(512, 512 + size)));
      }
      skipped = end;
    }
  }
  return files;
}

/** @returns {[string, number]} name and size in bytes, of a header of ustar; the end of an archive has neither */
function headerOf(block) {
  const [name = '', size = ''] = [block.subarray(0, 100), block.subarray(124, 136)].map(
    (field) => field.toString('latin1').split('\0')[0],
  );
  return [name, Number.parseInt(size, 8) || 0];
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Node.js follows links for a module's place, and not for the path that it was called with. */
const [called = '', here] = [process.argv[1], fileURLToPath(import.meta.url)];
if (existsSync(called) && realpathSync(called) === realpathSync(here)) {
  const [folder, keyFile, more] = process.argv.slice(2);
  if (keyFile === undefined || (more ?? '--image') !== '--image') {
    process.stderr.write(
      'node verify-release.mjs <folder of the release> <file of the public key> [--image]\n',
    );
    process.exit(2);
  }
  const given = more === undefined ? undefined : await readImage(process.stdin);
  const { statement, faults } = verifyRelease(folder, readFileSync(keyFile, 'utf8'), given);
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  if (faults.length === 0) {
    const [source] = statement.predicate.buildDefinition.resolvedDependencies;
    const [image] = imagesOf(statement);
    const files = statement.subject.length - (image === undefined ? 0 : 1);
    process.stdout.write(`${files} files are as built of ${source.digest.gitCommit}.\n`);
    if (image !== undefined)
      process.stdout.write(`${image.name} ${given === undefined ? 'was not compared' : 'is that image'}.\n`);
  }
  process.exitCode = faults.length === 0 ? 0 : 1;
}
