// A database of a version before 0.2.0: it is refused, and loses nothing.
import { afterAll, describe, expect, it } from 'vitest';
import { migrate, pendingMigrations } from '../../../src/platform/database/migrate.ts';
import { createEmptyDatabase } from '../../setup/database.ts';
import { makeFormer } from './former-database.ts';

const { database, url, drop } = await createEmptyDatabase();
await makeFormer(url);
afterAll(drop);

const REFUSAL = {
  name: 'ConfigError',
  message: expect.stringMatching(/^DATABASE_URL: a version before 0\.2\.0 made this database/),
};
const read = async () => {
  const { rows } = await database.query(
    `SELECT table_name AS name, (SELECT array_agg(name ORDER BY name) FROM schema_migrations) AS migrations,
       (SELECT array_agg(slug) FROM tenants) AS tenants
     FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name`,
  );
  return rows;
};

describe('a database of a version before 0.2.0', () => {
  it('is not migrated, and stays as it is', async () => {
    const before = await read();
    expect(before).toHaveLength(2);
    for (let tries = 0; tries < 2; tries += 1) await expect(migrate(url)).rejects.toMatchObject(REFUSAL);
    expect(await read()).toEqual(before);
  });

  it('is not said to lack migrations', async () => {
    await expect(pendingMigrations(database)).rejects.toMatchObject(REFUSAL);
  });

  it('is known by its first step, where nothing more was done', async () => {
    const { url: other, drop: forget } = await createEmptyDatabase();
    try {
      await makeFormer(other, ['0001-general#1']);
      await expect(migrate(other)).rejects.toMatchObject(REFUSAL);
    } finally {
      await forget();
    }
  });
});

it('an empty database lacks all migrations, and asking for them changes nothing', async () => {
  const empty = await createEmptyDatabase();
  try {
    expect(await pendingMigrations(empty.database)).toContain('0001-initial');
    const { rows } = await empty.database.query("SELECT to_regclass('schema_migrations') AS there");
    expect(rows).toEqual([{ there: null }]);
  } finally {
    await empty.drop();
  }
});
