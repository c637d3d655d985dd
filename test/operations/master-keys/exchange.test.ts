// A master key is exchanged in four steps, each process at its own time: between two neighbouring steps every process
// opens what any other one seals, and knows a user whom any other one has named.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createDpopNonces } from '../../../src/authentication/dpop/dpop-nonce.ts';
import { createSuccessorDeriver } from '../../../src/authentication/tokens/refresh-successor.node.ts';
import { UserService } from '../../../src/authentication/users/user.service.ts';
import { sealingKeys } from '../../../src/platform/config-values.ts';
import { hashSecret } from '../../../src/platform/crypto/opaque-secret.node.ts';
import { type MasterKey, openSecret, sealSecret } from '../../../src/platform/crypto/secret-box.node.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import type { Transaction } from '../../../src/platform/database/transaction.ts';
import { createFeedCursors } from '../../../src/webhooks/intake/feed-cursor.node.ts';
import { FEED_START } from '../../../src/webhooks/intake/feed-cursor.ts';
import { createAccounts, provisionTenant } from '../../authentication/tokens/accounts.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { countLockWaits } from '../../setup/lock-waits.ts';

const { database } = await useTestDatabase();
const [older, newer] = sealingKeys.parse(
  [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64')).join(),
) as [MasterKey, MasterKey];

/** `MASTER_KEY` of the steps, in the order of docs/operations/issuer-key-rotation.md. */
const STEPS: MasterKey[][] = [[older], [older, newer], [newer, older], [newer]];
const between = STEPS.slice(1).flatMap((after, step) => {
  const before = STEPS[step] ?? [];
  const name = `${step} and ${step + 1}`;
  return [
    { name: `${name}: the process before seals`, sealing: before, opening: after },
    { name: `${name}: the process after seals`, sealing: after, opening: before },
  ];
});

describe('between the steps of an exchange', () => {
  it.each(between)(
    '$name, and the other one opens boxes, cursors, nonces and successors',
    ({ sealing, opening }) => {
      expect(
        openSecret(opening, 'context', sealSecret(sealing, 'context', Buffer.from('secret'))).toString(),
      ).toBe('secret');
      const [tenantId, now] = [newId(), 1_700_000_000_000];
      const cursor = createFeedCursors({ masterKeys: sealing }).seal(tenantId, FEED_START);
      expect(createFeedCursors({ masterKeys: opening }).open(tenantId, cursor)).toEqual(FEED_START);
      const nonce = createDpopNonces({ masterKeys: sealing }).issue(tenantId, now);
      expect(createDpopNonces({ masterKeys: opening }).isRecent(tenantId, nonce, now)).toBe(true);
      const made = createSuccessorDeriver({ masterKeys: sealing }).make('before', 'id');
      expect(
        createSuccessorDeriver({ masterKeys: opening }).remake('before', {
          id: 'id',
          hash: hashSecret(made),
        }),
      ).toBe(made);
    },
  );
  it.each(between)('$name, and the other one signs with a tenant’s keys', async ({ sealing, opening }) => {
    const { tenant } = await provisionTenant(
      createAccounts(database, { masterKeys: sealing }),
      `t-${newId()}`,
    );
    const { tokens } = createAccounts(database, { masterKeys: opening });
    const grant = { sub: tenant.id, clientId: tenant.id, audience: 'x', scopes: ['openid'] };
    expect((await tokens.issueAccessToken(tenant, grant)).tokenId).toBeDefined();
  });

  it.each(between)('$name, and a user whom both name together is one', async ({ sealing, opening }) => {
    const { tenant } = await provisionTenant(createAccounts(database), `t-${newId()}`);
    const [first, other] = [sealing, opening].map((masterKeys) => new UserService({ database, masterKeys }));
    const subject = { issuer: 'https://idp.example', sub: newId() };
    const keep = (unit: Transaction, users = first) => users?.keep(unit, tenant.id, subject);
    let later: Promise<string | undefined> | undefined;
    const id = await database.transaction({}, async (unit) => {
      const kept = await keep(unit);
      let hasEnded = false;
      later = database
        .transaction({}, async (theirs) => (await keep(theirs, other))?.id)
        .finally(() => {
          hasEnded = true;
        });
      // The other one waits for the end of this transaction, or has made another user.
      await expect.poll(async () => hasEnded || (await countLockWaits(database)) > 0).toBe(true);
      return kept?.id;
    });
    expect(await later).toBe(id);
    expect((await database.transaction({}, (unit) => keep(unit, other) ?? Promise.reject())).id).toBe(id);
  });
});
