// Reads the statements of all stores: each table has one room that owns it, the list of other rooms that write it only
// gets shorter, and no room below reads it. docs/rows.md is the same for people.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** The tables of each room. */
const OWNED: Readonly<Record<string, string>> = {
  'identity/tenants': 'tenants',
  'identity/applications': 'applications application_secrets',
  'identity/agents': 'agents',
  'identity/keys': 'agent_keys key_rotations directory_signatures',
  'identity/enrollments': 'enrollment_tokens',
  'identity/anchors': 'anchors',
  'authentication/challenges': 'challenges challenge_sweep challenge_expiry_counts',
  'authentication/console': 'console_codes console_sessions',
  'authentication/delegations': 'delegations',
  'authentication/dpop': 'dpop_proofs',
  'authentication/issuer': 'issuer_keys event_keys',
  'authentication/tokens': 'client_assertions refresh_tokens revocations',
  'authentication/trusted-issuers': 'trusted_issuers',
  'authentication/users': 'users',
  'authentication/workload-issuers': 'workload_issuers workload_assertions',
  'operations/objectives': 'objective_counts',
  'operations/erasure': 'tenant_ends',
  'operations/operators': 'operator_acts operator_act_head',
  'webhooks/accounts': 'delivery_accounts delivery_account_days delivery_hours delivery_hour_counts',
  'webhooks/deliveries': 'attempts',
  'webhooks/endpoints': 'endpoints host_holds',
  'webhooks/intake': 'events published_events',
  'webhooks/receipts': 'receipts',
  'webhooks/relay': 'relays',
  'webhooks/replays': 'bulk_replays bulk_replay_parts',
  'webhooks/rows': 'crowded_deliveries deliveries outbox',
  'webhooks/streams': 'streams stream_exclusions',
  'webhooks/subscriptions': 'subscriptions subscription_filters',
  audit:
    'audit_log audit_head audit_beginning audit_checkpoints audit_seals audit_seal_parts audit_signing_keys audit_erasures',
  'platform/http': 'rate_limits idempotency_keys',
  'platform/temporal': 'workflow_commands',
};

/** Writes of a table that another room owns. */
const STRANGERS: readonly string[] = [
  'audit rate_limits',
  'authentication/challenges rate_limits',
  'webhooks/intake idempotency_keys',
];

const RANKS = [
  ['app'],
  ['authentication', 'operations'],
  ['identity'],
  ['webhooks'],
  ['events', 'audit'],
  ['platform'],
];
const rankOf = (room: string) => RANKS.findIndex((wings) => wings.includes(room.split('/')[0] ?? ''));

const owners = new Map(
  Object.entries(OWNED).flatMap(([room, tables]) => tables.split(' ').map((table) => [table, room] as const)),
);

type Use = { readonly room: string; readonly table: string; readonly writes: boolean };

/** The room is the folder: of a wing without rooms, the wing. */
function roomOf(file: string): string {
  const [, wing = '', room = ''] = file.split('/');
  return room.endsWith('.ts') || wing === 'audit' ? wing : `${wing}/${room}`;
}

function findUses(file: string, text: string): Use[] {
  const statements =
    /\b(INSERT INTO|UPDATE|DELETE FROM|FROM|JOIN)\s+(?:ONLY\s+)?([a-z_]+)|\b(?:deleteOldest|createUsedOnce)\('([a-z_]+)'/g;
  return [...text.matchAll(statements)].flatMap(([, verb = '', named = '', table = named]) =>
    owners.has(table) ? [{ room: roomOf(file), table, writes: verb !== 'FROM' && verb !== 'JOIN' }] : [],
  );
}

function listFiles(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? listFiles(path) : path.endsWith('.ts') ? [path] : [];
  });
}

const MIGRATIONS = 'src/platform/database/migrations/';
const files = listFiles('src');
const uses = files
  .filter((file) => !file.startsWith(MIGRATIONS))
  .flatMap((file) => findUses(file, readFileSync(file, 'utf8')));
const ownerOf = (table: string) => owners.get(table) ?? '';
const list = (found: readonly Use[]) =>
  [...new Set(found.map(({ room, table }) => `${room} ${table}`))].sort();
const strangers = list(uses.filter(({ room, table, writes }) => writes && room !== ownerOf(table)));
const upwards = list(
  uses.filter(({ room, table, writes }) => !writes && rankOf(room) > rankOf(ownerOf(table))),
);

describe('tables', () => {
  it('each have one room that owns them', () => {
    const created = files
      .filter((file) => file.startsWith(MIGRATIONS))
      .flatMap((file) => [
        ...readFileSync(file, 'utf8').matchAll(/CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?([a-z_]+)/g),
      ])
      .map(([, table = '']) => table)
      .filter((table) => !table.endsWith('_default'));
    expect([...new Set(created)].sort()).toEqual([...owners.keys()].sort());
    expect(Object.keys(OWNED).filter((room) => !statSync(`src/${room}`).isDirectory())).toEqual([]);
  });

  it('are written by their room; a writer that is gone leaves the list, too', () => {
    expect(strangers).toEqual([...STRANGERS].sort());
  });

  it('are read from rooms above or beside', () => {
    expect(upwards).toEqual([]);
  });

  it('would be found where another room wrote or read them', () => {
    const text =
      'WITH gone AS (DELETE FROM ONLY outbox o RETURNING id) SELECT 1 FROM gone JOIN relays r ON true';
    expect(findUses('src/webhooks/intake/x.store.ts', text)).toEqual([
      { room: 'webhooks/intake', table: 'outbox', writes: true },
      { room: 'webhooks/intake', table: 'relays', writes: false },
    ]);
    expect(findUses('src/webhooks/intake/x.store.ts', "deleteOldest('receipts', {")).toEqual([
      { room: 'webhooks/intake', table: 'receipts', writes: true },
    ]);
  });

  it('are in docs/rows.md with their writers', () => {
    const rows = [...owners].map(([table, room]) => {
      const others = strangers.filter((use) => use.endsWith(` ${table}`)).map((use) => use.split(' ')[0]);
      return `| \`${table}\` | ${room} | ${others.join(', ') || '–'} |`;
    });
    const page = readFileSync('docs/rows.md', 'utf8').split('## The life')[0]?.split('\n') ?? [];
    expect(page.filter((line) => line.startsWith('| `'))).toEqual(rows);
  });
});
