// Accounts of days and counts of hours: how many of the deliveries that were accepted then are in which state.
import {
  bigint,
  boolean,
  date,
  defineTable,
  given,
  integer,
  nullable,
  primaryKey,
  time,
  uuid,
} from '../../platform/database/table.ts';

export const DELIVERY_ACCOUNT = defineTable('delivery_accounts', {
  tenantId: primaryKey(uuid()),
  day: primaryKey(date()),
  accepted: bigint(),
  delivered: bigint(),
  waiting: bigint(),
  held: bigint(),
  failed: bigint(),
  canceled: bigint(),
  stranded: bigint(),
  difference: nullable(given(bigint())),
  countedAt: given(time()),
  goneAccepted: given(bigint()),
  goneDelivered: given(bigint()),
  goneFailed: given(bigint()),
  goneCanceled: given(bigint()),
  goneAt: nullable(time()),
});

export const DELIVERY_ACCOUNT_DAY = defineTable('delivery_account_days', {
  day: primaryKey(date()),
  countedAt: time(),
  tookMs: integer(),
});

export const DELIVERY_HOUR = defineTable('delivery_hours', {
  tenantId: primaryKey(uuid()),
  subscriptionId: primaryKey(uuid()),
  hour: primaryKey(time()),
  delivered: integer(),
  failed: integer(),
  canceled: integer(),
  unfinished: integer(),
});

export const DELIVERY_HOUR_COUNT = defineTable('delivery_hour_counts', {
  onlyOne: primaryKey(given(boolean())),
  dueAt: time(),
  countedAt: time(),
  allCountedAt: time(),
});
