// What a process refuses to start with, beyond the tests of whole processes (test/app/roles).
import { describe, expect, it } from 'vitest';
import { refusePooler } from '../../src/app/start-checks.ts';

describe('a start behind a pooler', () => {
  it('is refused in one line that names the setting', async () => {
    const database = { findPoolerFault: async () => 'leads to a pooler' };
    await expect(refusePooler(database)).rejects.toMatchObject({
      name: 'ConfigError',
      message: 'DATABASE_URL: leads to a pooler',
    });
  });

  it('goes on without one', async () => {
    await expect(refusePooler({ findPoolerFault: async () => undefined })).resolves.toBeUndefined();
  });
});
