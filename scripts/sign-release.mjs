// Writes the signed statement of a release: which files were built, of which commit and which lockfile, by whom.
import { spawnSync } from 'node:child_process';
import { createPublicKey, sign } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { IMAGE, PAYLOAD_TYPE, STATEMENT, sha256, toSigned } from './verify-release.mjs';

/** What a deployment runs beside the image: compose's file with its settings, the chart, rules, units and scripts. */
const DEPLOYMENT = ['docker-compose.yml', '.env.example', 'deploy'];

/**
 * Packs what a deployment runs beside the image, as the last commit has it; the same commit gives the same bytes.
 * @param {string} root the clone
 * @param {string} folder of the release
 * @param {string} version
 */
export function packDeployment(root, folder, version) {
  const name = `countersign-deployment-${version}`;
  const args = [
    'archive',
    '--format=tar',
    `--prefix=${name}/`,
    '--output',
    join(folder, `${name}.tar`),
    'HEAD',
  ];
  const { status, stderr } = spawnSync('git', [...args, ...DEPLOYMENT], { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git archive failed: ${stderr}`);
}

/**
 * Signs all files of a folder. No time is in it, so the same files give the same bytes.
 * @param {string} folder of the release, without a statement
 * @param {import('node:crypto').KeyObject} key private, Ed25519
 * @param {{ commit: string, lockfile: Buffer, builder: string, tools: Record<string, string>,
 *   image?: { name: string, digest: string } }} origin
 */
export function signRelease(folder, key, { commit, lockfile, builder, tools, image }) {
  const digestOf = (bytes) => ({ sha256: sha256(bytes) });
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [
      ...readdirSync(folder)
        .sort()
        .map((name) => ({ name, digest: digestOf(readFileSync(join(folder, name))) })),
      ...(image === undefined
        ? []
        : [{ name: image.name, digest: { sha256: image.digest }, mediaType: IMAGE }]),
    ],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:countersign:build:npm-run-release:v1',
        externalParameters: { commit },
        internalParameters: tools,
        resolvedDependencies: [
          { name: 'source', digest: { gitCommit: commit } },
          { name: 'package-lock.json', digest: digestOf(lockfile) },
        ],
      },
      runDetails: { builder: { id: builder } },
    },
  };
  const payload = Buffer.from(JSON.stringify(statement));
  const keyid = sha256(createPublicKey(key).export({ format: 'der', type: 'spki' }));
  const sig = sign(null, toSigned(payload), key).toString('base64');
  const signed = {
    payloadType: PAYLOAD_TYPE,
    payload: payload.toString('base64'),
    signatures: [{ keyid, sig }],
  };
  writeFileSync(join(folder, STATEMENT), `${JSON.stringify(signed)}\n`);
}
