// The databases of the tests: as those of the service, but with more patience.
import { expect, it, onTestFinished } from 'vitest';
import { createPatientDatabase, useTestDatabase } from './database.ts';

const test = await useTestDatabase();

it('waits for a lock and for a statement longer than a busy machine makes them wait', async () => {
  const other = createPatientDatabase({ url: test.url, pool: 1, applicationName: 'other' });
  onTestFinished(() => other.close());
  for (const { query } of [test.database, other]) {
    const { rows } = await query(
      `SELECT current_setting('lock_timeout') AS lock, current_setting('statement_timeout') AS statement`,
    );
    expect(rows).toEqual([{ lock: '40s', statement: '100s' }]);
  }
});
