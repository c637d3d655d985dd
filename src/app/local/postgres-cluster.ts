// The Postgres cluster of a data folder. It is made once, with a random password; the cluster of another major version
// is refused.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { requireRoom } from './disk-space.ts';
import { asDiskFull, LocalStackError } from './local-stack-error.ts';
import { type PostgresPlace, preparePostgresPlace } from './postgres-place.ts';
import { readPrivateFile, writePrivateFile } from './private-file.ts';

export const POSTGRES_ROLE = 'countersign';

/** The record of the cluster in the data folder; the last used `port` is tried first. */
const recordSchema = z.object({
  id: z.string(),
  password: z.string(),
  /** Of the role of api and worker; folders of earlier versions have none yet. */
  servicePassword: z.string().default(newPassword),
  port: z.number().optional(),
});
export type ClusterRecord = z.infer<typeof recordSchema>;

export type PostgresCluster = PostgresPlace & { readonly record: ClusterRecord };

/**
 * Finds or makes the cluster.
 * @param options.dataDir absolute; created when missing
 * @param options.say receives one line for each slow or unusual step
 * @throws LocalStackError when the disk lacks space, or the cluster belongs to another major version
 */
export async function prepareCluster(options: {
  dataDir: string;
  say: (line: string) => void;
}): Promise<PostgresCluster> {
  const { dataDir, say } = options;
  await requireRoom(dataDir, 64);
  const record = await readRecord(dataDir);
  const place = await preparePostgresPlace({ dataDir, id: record.id, say });
  const version = await readFile(join(place.cluster, 'PG_VERSION'), 'utf8').catch(() => null);
  if (version !== null && Number.parseInt(version, 10) !== place.binaries.major) {
    throw new LocalStackError(
      `The data in ${place.cluster} are of Postgres ${version.trim()}, and this release brings ${place.binaries.major}: dump and restore them as docs/operations/backup.md says, or set DATA_DIR to another folder.`,
    );
  }
  if (version === null) await initialise(place, record.password, dataDir);
  return { ...place, record };
}

/** Records the port for the next start. */
export async function keepPort(dataDir: string, record: ClusterRecord, port: number): Promise<void> {
  if (record.port !== port) await writeRecord(dataDir, { ...record, port });
}

async function readRecord(dataDir: string): Promise<ClusterRecord> {
  const text = await readPrivateFile(join(dataDir, 'postgres.json'));
  const known = text === null ? newRecord() : (JSON.parse(text) as object);
  const record = recordSchema.parse(known);
  if (text === null || !('servicePassword' in known)) await writeRecord(dataDir, record);
  return record;
}

function newRecord() {
  return { id: randomBytes(12).toString('hex'), password: newPassword() };
}

function newPassword(): string {
  return randomBytes(24).toString('base64url');
}

async function writeRecord(dataDir: string, record: ClusterRecord): Promise<void> {
  await writePrivateFile(join(dataDir, 'postgres.json'), `${JSON.stringify(record)}\n`);
}

/** Runs initdb in a temporary folder, so that an interrupted run leaves no incomplete cluster at the final path. */
async function initialise(place: PostgresPlace, password: string, dataDir: string): Promise<void> {
  await requireRoom(dirname(place.cluster), 256);
  const next = `${place.cluster}.new`;
  const passwordFile = `${next}.password`;
  await rm(next, { recursive: true, force: true });
  await rm(passwordFile, { force: true });
  try {
    await mkdir(next, { mode: 0o700 });
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
    if (place.user !== undefined) {
      await chown(next, place.user.uid, place.user.gid);
      await chown(passwordFile, place.user.uid, place.user.gid);
    }
    await runInitdb(place, next, passwordFile);
    await rename(next, place.cluster);
  } catch (error) {
    await rm(next, { recursive: true, force: true }).catch(() => undefined);
    throw asDiskFull(error instanceof Error ? error.message : '', dataDir) ?? error;
  } finally {
    await rm(passwordFile, { force: true });
  }
}

async function runInitdb(place: PostgresPlace, folder: string, passwordFile: string): Promise<void> {
  const child = spawn(
    join(place.binaries.folder, 'bin', 'initdb'),
    [
      `--pgdata=${folder}`,
      `--username=${POSTGRES_ROLE}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--data-checksums',
    ],
    { ...place.user, cwd: '/', env: postgresEnvironment(), stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code === 0) return;
  const reason = said.split('\n').find((line) => /error|fatal|could not/i.test(line)) ?? said.trim();
  throw (
    asDiskFull(said, dirname(folder)) ??
    new LocalStackError(`Postgres could not make its data folder: ${reason}`)
  );
}

/** @returns an environment without the operator's Postgres settings (PGDATA, PGPORT, locale) */
export function postgresEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
}
