// Reads the statements of all stores: the room with a table's model owns the table, the list of other rooms that write
// it only gets shorter, and no room below reads it.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

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
const find = (pattern: RegExp, among: readonly string[]) =>
  among.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(pattern)].map(([, table = '']) => [table, roomOf(file)] as const),
  );
/** The room of a table is the folder of its model. */
const models = find(
  /defineTable\('([a-z_]+)'/g,
  files.filter((file) => file.endsWith('.model.ts')),
);
const owners = new Map(models);

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
  it('each have one model', () => {
    const created = find(
      /CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?([a-z_]+)/g,
      files.filter((file) => file.startsWith(MIGRATIONS)),
    ).map(([table]) => table);
    const tables = new Set(created.filter((table) => !/_default$|^schema_migrations$/.test(table)));
    expect(models.map(([table]) => table).sort()).toEqual([...tables].sort());
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
});
