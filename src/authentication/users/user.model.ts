// The tables of users.
import {
  bytes,
  defineTable,
  given,
  primaryKey,
  sealed,
  text,
  time,
  uuid,
} from '../../platform/database/table.ts';

export const USER = defineTable('users', {
  id: primaryKey(uuid()),
  tenantId: uuid(),
  digest: text(),
  name: bytes(),
  keySealed: sealed(bytes()),
  createdAt: given(time()),
});
