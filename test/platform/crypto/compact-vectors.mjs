// Writes the Wycheproof files in test/platform/crypto/vectors anew from an unpacked release of that project: only what
// the tests read, a case a line. Usage: node test/platform/crypto/compact-vectors.mjs <folder of
// github.com/c2sp/wycheproof> <its version>
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILES = [
  'ed25519_test.json',
  'ecdsa_secp256r1_sha256_test.json',
  'ecdsa_secp256r1_sha256_p1363_test.json',
  'ecdsa_secp256k1_sha256_test.json',
  'ecdsa_secp256k1_sha256_p1363_test.json',
];

const [folder, version] = process.argv.slice(2);
if (version === undefined) throw new Error('usage: compact-vectors.mjs <folder> <version>');

for (const file of FILES) {
  const { testGroups, numberOfTests } = JSON.parse(
    readFileSync(join(folder, 'testvectors_v1', file), 'utf8'),
  );
  const groups = testGroups.map(({ publicKey, publicKeyDer, publicKeyJwk, tests }) => {
    const key = { raw: publicKey.pk ?? publicKey.uncompressed, der: publicKeyDer, jwk: publicKeyJwk };
    const cases = tests.map(({ tcId, comment, msg, sig, result }) =>
      JSON.stringify({ tcId, comment, msg, sig, result }),
    );
    return `{"key":${JSON.stringify(key)},"tests":[\n${cases.join(',\n')}\n]}`;
  });
  const head = `{"source":${JSON.stringify(`github.com/c2sp/wycheproof ${version}, testvectors_v1/${file}`)},"numberOfTests":${numberOfTests},"groups":[\n`;
  writeFileSync(join(import.meta.dirname, 'vectors', file), `${head}${groups.join(',\n')}\n]}\n`);
}
