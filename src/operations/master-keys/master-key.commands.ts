// `countersign master-key …`: lists, makes and wraps keys, seals all secrets anew with the first of MASTER_KEY, and
// says how far that is. With --json, stdout has only the answer.
import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { type CommandOutput, createProgress, useServices } from '../../platform/command-services.ts';
import type { Purpose } from '../../platform/kms/key-service.client.ts';
import { readIntent, withName } from '../operators/operator.commands.ts';
import type { OperatorActService } from '../operators/operator-act.service.ts';
import type {
  KeyStanding,
  ListedKey,
  Remaining,
  ResealReport,
  SealedSecretService,
} from './sealed-secret.service.ts';

/** Wraps 32 bytes by the key service and the key of this text, for one setting. */
type WrapKey = (by: string, plain: Uint8Array, purpose: Purpose) => Promise<string>;

type Open = () => Promise<{
  sealedSecrets: Pick<SealedSecretService, 'list' | 'readStanding' | 'reseal'>;
  acts: Pick<OperatorActService, 'recordAlone'>;
  close: () => Promise<void>;
}>;

/** Fills in `master-key generate`, `wrap`, `list`, `status` and `reseal`. */
export function registerMasterKeyCommands(
  masterKey: Command,
  { open, print, tell, fail, wrapKey }: CommandOutput<Open> & { wrapKey: WrapKey },
): void {
  masterKey
    .command('generate')
    .description(
      'print a new key for MASTER_KEY: put it behind the old one, then first, then run master-key reseal',
    )
    .action(() => print(randomBytes(32).toString('base64')));

  masterKey
    .command('wrap <service:key>')
    .description(
      'print a new key that only AWS KMS or Vault can open: awskms:alias/countersign, vault:transit/countersign',
    )
    .option('--audit', 'for AUDIT_KEY, and not for MASTER_KEY')
    .action(async (by: string, options: { audit?: true }) =>
      print(await wrapKey(by, randomBytes(32), options.audit ? 'AUDIT_KEY' : 'MASTER_KEY')),
    );

  masterKey
    .command('list')
    .description(
      'the keys of MASTER_KEY and those that secrets are sealed with; ends with 1 when one is missing',
    )
    .option('--json', 'print the array only')
    .action(async (options: { json?: true }) => {
      await useServices(open, async (services) => {
        const keys = await services.sealedSecrets.list();
        if (options.json) print(JSON.stringify(keys.map(presentKey)));
        else for (const key of keys) print(describeKey(key));
        if (keys.some(({ missing }) => missing)) fail(1);
      });
    });

  masterKey
    .command('status')
    .description(
      'the key that seals new secrets, and how many secrets are left under another; ends with 1 while some are',
    )
    .option('--json', 'print the object only')
    .action(async (options: { json?: true }) => {
      await useServices(open, async (services) => {
        const standing = await services.sealedSecrets.readStanding();
        if (options.json) print(JSON.stringify(presentStanding(standing)));
        else for (const line of describeStanding(standing)) print(line);
        if (standing.remaining.length > 0) fail(1);
      });
    });

  withName(
    masterKey
      .command('reseal')
      .description(
        'seal everything anew with the first key of MASTER_KEY; ends with 1 while something names another key',
      ),
  )
    .option('--json', 'print the report only')
    .action(async (options: { json?: true; as?: string; reason?: string }) => {
      const intent = readIntent({ reason: 'countersign master-key reseal', ...options });
      await useServices(open, async (services) => {
        const progress = createProgress(tell);
        const report = await services.sealedSecrets.reseal((resealed) =>
          progress(() => `${resealed} sealed anew`),
        );
        if (report.resealed > 0)
          await services.acts.recordAlone(intent, {
            action: 'master_key.resealed',
            target: { type: 'service', id: report.keyId },
            data: { resealed: report.resealed, refused: report.refused },
          });
        if (options.json) print(JSON.stringify(present(report)));
        else for (const line of describe(report)) print(line);
        if (report.remaining.length > 0) fail(1);
      });
    });
}

const presentKey = ({ keyId, seals, missing, secrets }: ListedKey) => ({
  master_key: keyId,
  seals,
  missing,
  secrets,
});

function describeKey({ keyId, seals, missing, secrets }: ListedKey): string {
  const standing = missing
    ? 'is not in MASTER_KEY'
    : seals
      ? 'seals new secrets'
      : secrets > 0
        ? 'opens'
        : 'may be left out';
  return `${keyId}  ${secrets} secrets  ${standing}`;
}

const presentStanding = ({ keyId, secrets, remaining, unused }: KeyStanding) => ({
  master_key: keyId,
  secrets,
  remaining: remaining.map(presentRemaining),
  may_be_left_out: unused,
});

function describeStanding({ keyId, secrets, remaining, unused }: KeyStanding): string[] {
  const left = remaining.reduce((sum, column) => sum + column.secrets, 0);
  const missing = [...new Set(remaining.filter((column) => column.missing).map((column) => column.keyId))];
  return [
    `The master key ${keyId} seals new secrets, and has sealed ${secrets}.`,
    ...(left === 0
      ? ['Nothing names another master key.']
      : [`${left} are left under another master key:`, ...remaining.map(describeRemaining)]),
    ...(remaining.some((column) => !column.missing)
      ? [`Run countersign master-key reseal, which seals them with ${keyId}.`]
      : []),
    ...missing.map((id) => `Put ${id} back into MASTER_KEY, behind the first: without it they do not open.`),
    ...unused.map((id) => `${id} may be left out of MASTER_KEY.`),
  ];
}

const presentRemaining = (left: Remaining) => ({
  table: left.table,
  column: left.column,
  master_key: left.keyId,
  secrets: left.secrets,
  missing: left.missing,
});

const describeRemaining = (left: Remaining) =>
  `  ${left.table}.${left.column}: ${left.secrets} name the master key ${left.keyId}` +
  (left.missing ? ', which is not in MASTER_KEY' : '');

const present = ({ keyId, resealed, refused, remaining }: ResealReport) => ({
  master_key: keyId,
  resealed,
  refused,
  remaining: remaining.map(presentRemaining),
});

function describe({ keyId, resealed, refused, remaining }: ResealReport): string[] {
  const left = remaining.map(describeRemaining);
  return [
    `${resealed} secrets were sealed anew with the master key ${keyId}.`,
    ...(refused === 0
      ? []
      : [`${refused} do not open with their own master key: they were changed or moved.`]),
    ...(left.length === 0 ? ['Nothing names another master key.'] : ['Not all of them:', ...left]),
  ];
}
