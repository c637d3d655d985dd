// `node verify-release.mjs <folder> <public key>`: says whether a release is what its builder signed. It asks no
// network, and needs nothing but Node.js: no clone, no dependency.
import { createHash, createPublicKey, verify } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The statement of a release: in-toto 1.0 with a predicate of SLSA 1.0, in an envelope of DSSE 1.0. */
export const STATEMENT = 'provenance.dsse.json';
export const PAYLOAD_TYPE = 'application/vnd.in-toto+json';

/** @param {Buffer} payload @returns {Buffer} what a signature of DSSE is over */
export const toSigned = (payload) =>
  Buffer.concat([Buffer.from(`DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${payload.length} `), payload]);

/** @param {Buffer} bytes @returns {string} lowercase hex */
export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/**
 * Compares a folder with the statement in it.
 * @param {string} folder of the release
 * @param {string} publicKey PEM, Ed25519; trusted, so it must have come another way than the folder
 * @returns {{ statement?: Record<string, any>, faults: string[] }} no faults: it is what was signed
 */
export function verifyRelease(folder, publicKey) {
  const envelope = parse(readFileSync(join(folder, STATEMENT), 'utf8'));
  const payload = Buffer.from(String(envelope?.payload), 'base64');
  const key = createPublicKey(publicKey);
  const isSigned = (envelope?.signatures ?? []).some(({ sig }) =>
    verify(null, toSigned(payload), key, Buffer.from(String(sig), 'base64')),
  );
  if (envelope?.payloadType !== PAYLOAD_TYPE || !isSigned)
    return { faults: [`${STATEMENT}: is not signed by this key`] };
  const statement = parse(payload.toString());
  const subjects = new Map(statement.subject.map(({ name, digest }) => [name, digest.sha256]));
  const present = readdirSync(folder).filter((name) => name !== STATEMENT);
  const faults = present.flatMap((name) => {
    if (!subjects.has(name)) return [`${name}: is not part of the release`];
    const isSame = sha256(readFileSync(join(folder, name))) === subjects.get(name);
    return isSame ? [] : [`${name}: was changed`];
  });
  for (const name of subjects.keys()) if (!present.includes(name)) faults.push(`${name}: is missing`);
  return { statement, faults };
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [folder, keyFile] = process.argv.slice(2);
  if (keyFile === undefined) {
    process.stderr.write('node verify-release.mjs <folder of the release> <file of the public key>\n');
    process.exit(2);
  }
  const { statement, faults } = verifyRelease(folder, readFileSync(keyFile, 'utf8'));
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  if (faults.length === 0) {
    const [source] = statement.predicate.buildDefinition.resolvedDependencies;
    process.stdout.write(`${statement.subject.length} files are as built of ${source.digest.gitCommit}.\n`);
  }
  process.exitCode = faults.length === 0 ? 0 : 1;
}
