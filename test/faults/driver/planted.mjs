// Defects that are planted into a copy of the sources, one at a time: the driver is worth what it finds of them.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/**
 * `edits`: file, what is replaced, by what. `faults`: the kinds that bring the defect to light, when not any will;
 * `restores`: so often Postgres is lost and restored, instead.
 */
export const DEFECTS = {
  'a challenge is consumed without a look at its first use': {
    edits: [
      [
        'src/authentication/challenges/redemption.store.ts',
        'c.consumed_at IS NULL AND c.expired_at',
        'c.expired_at',
      ],
      [
        'src/authentication/challenges/redemption.store.ts',
        'WHERE challenges.id = decided.id AND consumed_at IS NULL AND',
        'WHERE challenges.id = decided.id AND',
      ],
    ],
    faults: ['cut'],
  },
  'a late record of a failure reopens a delivery that has ended': {
    edits: [
      [
        'src/webhooks/deliveries/failed-attempts.service.ts',
        'row?.generation === report.generation && isUnfinished(row.status)',
        'row?.generation === report.generation',
      ],
    ],
    faults: ['freeze'],
  },
  'an idempotency key keeps the last answer, without a lock': {
    edits: [
      [
        'src/webhooks/intake/event.store.ts',
        'WHERE pg_try_advisory_xact_lock(hashtextextended(lock, 0))',
        'WHERE lock IS NOT NULL',
      ],
      [
        'src/webhooks/intake/event.store.ts',
        "WHERE kept.created_at <= now() - interval '24 hours'",
        'WHERE true',
      ],
    ],
    faults: ['cut'],
  },
  'a refresh token is spent twice': {
    edits: [
      [
        'src/authentication/tokens/refresh-rotation.store.ts',
        'WHERE t.id = holder.id AND t.used_at IS NULL AND',
        'WHERE t.id = holder.id AND',
      ],
      [
        'src/authentication/tokens/refresh-rotation.store.ts',
        'AND t.used_at IS NULL AND t.revoked_at IS NULL AND t.family',
        'AND t.revoked_at IS NULL AND t.family',
      ],
    ],
    faults: ['cut'],
  },
  'a reader of the feed goes on beyond what a standby has got': {
    edits: [
      [
        'src/webhooks/intake/feed.service.ts',
        'return positionAfterPage(position, last, seen, end);',
        'return positionAfterAll(seen, end);',
      ],
    ],
    faults: ['promote'],
  },
  'the workflows of a build take another way than before': {
    edits: [['dist/workflow-bundle.js', 'let inTask = input.local;', 'let inTask = !input.local;']],
    faults: ['upgrade'],
  },
  'an outbox row is deleted when it is claimed, before the attempt': {
    edits: [
      [
        'src/webhooks/rows/outbox.ts',
        'UPDATE outbox SET claimed_by = $1, claim_epoch = $2 FROM',
        'DELETE FROM outbox USING',
      ],
    ],
    faults: ['kill'],
  },
  'what is accepted is not yet on disk': {
    edits: [
      [
        'src/platform/database/database.ts',
        "enable_seqscan: 'off',",
        "enable_seqscan: 'off', synchronous_commit: 'off',",
      ],
    ],
    restores: 1,
  },
};

/** Builds a copy of the sources with a defect, and gives its entry point to `use`. The copy goes away. */
export async function withDefect({ edits }, use) {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-planted-'));
  try {
    for (const part of [
      'src',
      'workflows',
      'activities',
      'dist',
      'package.json',
      'tsconfig.json',
      'tsconfig.build.json',
    ])
      cpSync(join(ROOT, part), join(folder, part), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    for (const [file, before, after] of edits) plant(join(folder, file), before, after);
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--noCheck', '--outDir', 'dist'], {
      cwd: folder,
    });
    return await use(join(folder, 'dist/src/main.js'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function plant(file, before, after) {
  const text = readFileSync(file, 'utf8');
  // A defect that is no longer planted would count as one that was not found.
  if (!text.includes(before))
    throw new Error(`${file} no longer has ${JSON.stringify(before)}: plant the defect elsewhere.`);
  writeFileSync(file, text.replaceAll(before, after));
}
