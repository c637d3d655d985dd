// The invariants of the service: the one list of what must be true of the rows. The sweep, `countersign doctor`,
// `countersign status`, the metrics and with them the alerts, and `countersign restore-check` read it. A new mechanism
// gets a row, its statement in the store that owns the rows, and a heading in docs/operations/alerts.md.
import { findUnsealed } from '../../audit/checkpoint.store.ts';
import { findOldestOpen } from '../../audit/open-transaction.store.ts';
import { findUnswept } from '../../authentication/challenges/challenge-expiry.store.ts';
import * as delegationStore from '../../authentication/delegations/delegation-expiry.store.ts';
import * as issuerKeyStore from '../../authentication/issuer/key-schedule.store.ts';
import * as anchorStore from '../../identity/anchors/anchor-check.store.ts';
import * as rotationStore from '../../identity/keys/rotation.store.ts';
import * as tenantEndStore from '../../operations/erasure/tenant-end.store.ts';
import * as clusterStore from '../../operations/invariants/cluster.store.ts';
import type { Invariant } from '../../operations/invariants/invariant.ts';
import { SealedSecretService } from '../../operations/master-keys/sealed-secret.service.ts';
import type { Config } from '../../platform/config.ts';
import { ensurePartitions, findMissingPartitions } from '../../platform/database/partitions.ts';
import * as commandStore from '../../platform/temporal/workflow-command.store.ts';
import * as accountStore from '../../webhooks/accounts/account.store.ts';
import { findUntaken } from '../../webhooks/backlog/backlog.store.ts';
import * as inspection from '../../webhooks/relay/delivery-inspection.store.ts';
import * as mends from '../../webhooks/relay/stuck-delivery.service.ts';
import * as secretStore from '../../webhooks/subscriptions/signing-secret.store.ts';
import { SEALED_COLUMNS } from './sealed-columns.ts';

/** Seconds. */
const MINUTE = 60;

/** @param config.masterKeys with which stored secrets should be sealed */
export function listInvariants({
  masterKeys,
}: Pick<Config, 'masterKeys'>): readonly Invariant<mends.MendTools>[] {
  return [
    {
      name: 'partition_missing',
      says: 'partitions of the next days that are not there',
      subject: 'deliveries, attempts, events',
      severity: 'ticket',
      // They are made a week ahead, and three days of it are left then.
      late: 4 * 24 * 60 * MINUTE,
      find: findMissingPartitions,
      mend: ({ database }) => ensurePartitions(database),
    },
    {
      name: 'delivery_not_canceled',
      says: 'unfinished deliveries of deleted subscriptions',
      subject: 'deliveries',
      severity: 'ticket',
      late: 5 * MINUTE,
      find: inspection.findOfDeleted,
      mend: mends.cancelDeleted,
    },
    {
      name: 'work_not_removed',
      says: 'work of ended deliveries of deleted subscriptions',
      subject: 'outbox',
      severity: 'ticket',
      late: 5 * MINUTE,
      find: inspection.findLeft,
      mend: mends.removeLeft,
    },
    {
      name: 'delivery_not_woken',
      says: 'deliveries that wait for an endpoint which takes them, and that nothing wakes',
      subject: 'deliveries',
      severity: 'page',
      late: 0,
      find: inspection.findUnwoken,
      mend: mends.wakeParked,
    },
    {
      name: 'crowd_overdue',
      says: 'deliveries whose early retry the workflow of their endpoint has not let begin',
      subject: 'crowded_deliveries',
      severity: 'page',
      late: 5 * MINUTE,
      find: inspection.findCrowded,
      mend: mends.callCrowds,
    },
    {
      name: 'delivery_overdue',
      says: 'deliveries whose workflow has not begun the next attempt',
      subject: 'deliveries',
      severity: 'page',
      late: 5 * MINUTE,
      find: inspection.findOverdue,
      mend: mends.moveOverdue,
    },
    {
      name: 'relay_lag',
      says: 'queues of healthy endpoints from which no relay takes',
      subject: 'outbox',
      severity: 'page',
      late: MINUTE,
      find: findUntaken,
    },
    {
      name: 'intent_stuck',
      says: 'retries and cancellations that reached no delivery',
      subject: 'outbox',
      severity: 'page',
      late: 5 * MINUTE,
      find: inspection.findStuckCommands,
    },
    {
      name: 'claim_dead',
      says: 'deliveries that a relay took which is gone',
      subject: 'outbox',
      severity: 'ticket',
      late: MINUTE,
      find: inspection.findDeadClaims,
    },
    {
      name: 'command_stuck',
      says: 'changes without a signal to their workflow',
      subject: 'workflow_commands',
      severity: 'ticket',
      late: 5 * MINUTE,
      find: commandStore.findStuck,
    },
    ...(
      [
        ['agent_key_rotation', 'agent keys whose rotation', 'agent_keys', rotationStore],
        ['anchor_verification', 'anchors whose check', 'anchors', anchorStore],
        ['delegation_expiry', 'delegations whose end', 'delegations', delegationStore],
        ['issuer_key_rotation', 'tenants whose change of issuer keys', 'issuer_keys', issuerKeyStore],
        ['tenant_erasure', 'ended tenants whose erasure', 'tenant_ends', tenantEndStore],
        ['webhook_secret_rotation', 'subscriptions whose new secret', 'subscriptions', secretStore],
      ] as const
    ).map(([workflow, entities, subject, { findOverdue }]) => ({
      name: `${workflow}_overdue`,
      says: `${entities} is due, and its workflow has not acted`,
      subject,
      severity: 'ticket' as const,
      late: 5 * MINUTE,
      find: findOverdue,
    })),
    {
      name: 'sweep_behind',
      says: 'challenges that ended unused and are not marked',
      subject: 'challenges',
      severity: 'ticket',
      late: 5 * MINUTE,
      find: findUnswept,
    },
    {
      name: 'deliveries_lost',
      says: 'accepted deliveries that are not there',
      subject: 'delivery_accounts',
      severity: 'page',
      late: 0,
      find: accountStore.findLost,
    },
    {
      name: 'deliveries_stranded',
      says: 'unfinished deliveries that nothing moves',
      subject: 'delivery_accounts',
      severity: 'page',
      late: 0,
      find: accountStore.findStranded,
    },
    {
      name: 'deliveries_not_counted',
      says: 'accounts of deliveries that are not counted again',
      subject: 'delivery_account_days',
      severity: 'ticket',
      late: 120 * MINUTE,
      find: accountStore.findUncounted,
    },
    {
      name: 'audit_not_sealed',
      says: 'rows of the audit log without a seal',
      subject: 'audit_log',
      severity: 'page',
      late: 2 * MINUTE,
      find: findUnsealed,
    },
    {
      name: 'transaction_open',
      says: 'open transactions that keep the audit log from being sealed',
      subject: 'pg_stat_activity',
      severity: 'ticket',
      late: MINUTE,
      find: findOldestOpen,
    },
    {
      name: 'transaction_ids_behind',
      says: 'tables whose rows are of transactions that this cluster has not begun',
      subject: 'pg_current_snapshot',
      severity: 'page',
      late: 0,
      find: clusterStore.countAhead,
    },
    {
      name: 'wal_not_archived',
      says: 'files of the WAL that Postgres does not archive',
      subject: 'pg_stat_archiver',
      severity: 'page',
      late: 0,
      find: clusterStore.findUnarchived,
    },
    {
      name: 'database_role_too_strong',
      says: 'sessions of api or worker as a role that may change the audit log',
      subject: 'pg_stat_activity',
      severity: 'ticket',
      late: 0,
      find: clusterStore.findStrongSessions,
    },
    {
      name: 'master_key_missing',
      says: 'columns with secrets under a master key that is not in MASTER_KEY',
      subject: 'MASTER_KEY',
      severity: 'page',
      late: 0,
      find: (database) =>
        new SealedSecretService({ database, masterKeys, columns: SEALED_COLUMNS }).findMissingKeys(),
    },
  ];
}
