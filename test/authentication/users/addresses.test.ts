// The filter of the audit log by address: entries about a user are found while the user is not forgotten.
import { expect, it } from 'vitest';
import { appendEntries, prepareEntries } from '../../../src/audit/audit.service.ts';
import { AuditReadingService } from '../../../src/audit/audit-reading.service.ts';
import { sealAddress } from '../../../src/authentication/users/user.service.ts';
import { UserForgettingService } from '../../../src/authentication/users/user-forgetting.service.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { createTestTenant } from '../../identity/agents/agent-rooms.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createDelegationRooms } from '../delegations/delegation-rooms.ts';

const { database } = await useTestDatabase();
const rooms = createDelegationRooms(database);
const { users } = rooms;
const forgetting = new UserForgettingService({ ...rooms, tokens: rooms.revocations });
const reading = new AuditReadingService({ database, accesses: { note: () => undefined }, users });
const context = await createTestTenant(rooms);

let addresses = 0x1000;
const newAddress = () => {
  addresses += 1;
  return `2001:db8::${addresses.toString(16)}`;
};
const newSubject = () => ({ issuer: 'https://idp.example', sub: newId() });
const keep = (subject = newSubject()) =>
  database.transaction({}, (unit) => users.keep(unit, context.tenant.id, subject));

/** Appends entries about a user, or about nobody, from an address. @returns their ids, the newest first */
async function act(address: string, user?: Awaited<ReturnType<typeof keep>>, times = 1): Promise<string[]> {
  const at = { ...context, address };
  const entry = {
    action: 'delegation.created',
    outcome: 'success',
    data: user && { subject_id: user.id },
  } as const;
  const records = prepareEntries(
    user === undefined ? at : sealAddress(at, user),
    Array.from({ length: times }, () => entry),
  );
  await appendEntries(database, records);
  return records.map(({ id }) => id).reverse();
}

/** Reads all pages. @returns the ids, and how many entries each page had */
async function find(address: string, limit = 50) {
  const ids: string[] = [];
  const pages: number[] = [];
  for (let cursor: string | undefined | null; cursor !== null; ) {
    const page = await reading.list(context, { limit, cursor, address });
    ids.push(...page.data.map(({ id }) => id));
    pages.push(page.data.length);
    cursor = page.nextCursor;
  }
  return { ids, pages };
}

it('finds entries about users beside others, of the asked address alone, in pages without a gap', async () => {
  const [ada, eve, address] = [await keep(), await keep(), newAddress()];
  const expected = [
    ...(await act(address, ada, 2)),
    ...(await act(address)),
    ...(await act(address, eve, 2)),
  ].sort();
  await act(newAddress(), ada, 3);
  await act(newAddress());
  expect(await find(address)).toEqual({ ids: expected.toReversed(), pages: [5] });
  expect(await find(address, 2)).toEqual({ ids: expected.toReversed(), pages: [2, 2, 1] });
});

it('goes on behind 200 entries about users from elsewhere', async () => {
  const [ada, address] = [await keep(), newAddress()];
  const expected = await act(address, ada);
  await act(newAddress(), ada, 200);
  expect(await find(address)).toEqual({ ids: expected, pages: [0, 1] });
});

it('finds a forgotten user no more, and the other one as before', async () => {
  const subject = newSubject();
  const [ada, eve, address] = [await keep(subject), await keep(), newAddress()];
  await act(address, ada);
  const expected = await act(address, eve);
  await forgetting.forget(context, subject);
  expect((await find(address)).ids).toEqual(expected);
});
