// The Postgres cluster of a data folder. It is made once, with a random password; the cluster of another major version
// is refused.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { requireRoom } from './disk-space.ts';
import { asDiskFull, LocalStackError } from './local-stack-error.ts';
import { type PostgresPlace, preparePostgresPlace } from './postgres-place.ts';
import { readPrivateFile, writePrivateFile } from './private-file.ts';

export const POSTGRES_ROLE = 'countersign';

/** `postgres.json`: the passwords of owner and service role, and the last used `port`, which is tried first. */
export type ClusterRecord = { id: string; password: string; servicePassword: string; port?: number };

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
  const [major = ''] = place.binaries.version.split('.');
  if (version !== null && version.trim() !== major)
    throw new LocalStackError(
      `The data in ${place.cluster} are of Postgres ${version.trim()}, and this release brings ${major}: dump and restore them as docs/operations/backup.md says, or set DATA_DIR to another folder.`,
    );
  if (version === null) await initialise(place, record.password, dataDir);
  return { ...place, record };
}

/** Records the port for the next start. */
export async function keepPort(dataDir: string, record: ClusterRecord, port: number): Promise<void> {
  if (record.port !== port) await writeRecord(dataDir, { ...record, port });
}

async function readRecord(dataDir: string): Promise<ClusterRecord> {
  const text = await readPrivateFile(join(dataDir, 'postgres.json'));
  if (text !== null) return JSON.parse(text) as ClusterRecord;
  const secret = () => randomBytes(24).toString('base64url');
  const record = { id: randomBytes(12).toString('hex'), password: secret(), servicePassword: secret() };
  await writeRecord(dataDir, record);
  return record;
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
    if (place.user !== undefined)
      for (const path of [next, passwordFile]) await chown(path, place.user.uid, place.user.gid);
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
  const args = [
    `--pgdata=${folder}`,
    `--username=${POSTGRES_ROLE}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--data-checksums',
  ];
  const options = { ...place.user, cwd: '/', env: postgresEnvironment() };
  try {
    await promisify(execFile)(join(place.binaries.folder, 'bin', 'initdb'), args, options);
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    const said = stderr || message;
    const reason = said.split('\n').find((line) => /error|fatal|could not/i.test(line)) ?? said.trim();
    throw (
      asDiskFull(said, dirname(folder)) ??
      new LocalStackError(`Postgres could not make its data folder: ${reason}`)
    );
  }
}

/** @returns an environment without the operator's Postgres settings (PGDATA, PGPORT, locale) */
export function postgresEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
}
