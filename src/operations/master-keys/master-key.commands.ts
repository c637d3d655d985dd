// `countersign master-key …`: seals all secrets anew with the first key of MASTER_KEY. With --json, stdout has only the
// answer.
import type { Command } from 'commander';
import { readIntent, withName } from '../operators/operator.commands.ts';
import type { OperatorActService } from '../operators/operator-act.service.ts';
import type { ResealReport, SealedSecretService } from './sealed-secret.service.ts';

type Open = () => Promise<{
  sealedSecrets: Pick<SealedSecretService, 'reseal'>;
  acts: Pick<OperatorActService, 'recordAlone'>;
  close: () => Promise<void>;
}>;

const PROGRESS = 5_000;

/**
 * Fills in `master-key reseal`.
 * @param print writes one line to stdout
 * @param tell writes one line of progress to stderr
 * @param fail sets the exit code
 */
export function registerMasterKeyCommands(
  masterKey: Command,
  {
    open,
    print,
    tell,
    fail,
  }: {
    open: Open;
    print: (line: string) => void;
    tell: (line: string) => void;
    fail: (code: number) => void;
  },
): void {
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
      const services = await open();
      try {
        let told = performance.now();
        const report = await services.sealedSecrets.reseal((resealed) => {
          if (performance.now() - told < PROGRESS) return;
          told = performance.now();
          tell(`${resealed} sealed anew`);
        });
        if (report.resealed > 0)
          await services.acts.recordAlone(intent, {
            action: 'master_key.resealed',
            target: { type: 'service', id: report.keyId },
            data: { resealed: report.resealed, refused: report.refused },
          });
        if (options.json) print(JSON.stringify(present(report)));
        else for (const line of describe(report)) print(line);
        if (report.remaining.length > 0) fail(1);
      } finally {
        await services.close();
      }
    });
}

const present = ({ keyId, resealed, refused, remaining }: ResealReport) => ({
  master_key: keyId,
  resealed,
  refused,
  remaining: remaining.map((left) => ({
    table: left.table,
    column: left.column,
    master_key: left.keyId,
    secrets: left.secrets,
    missing: left.missing,
  })),
});

function describe({ keyId, resealed, refused, remaining }: ResealReport): string[] {
  const left = remaining.map(
    (column) =>
      `  ${column.table}.${column.column}: ${column.secrets} name the master key ${column.keyId}` +
      (column.missing ? ', which is not in MASTER_KEY' : ''),
  );
  return [
    `${resealed} secrets were sealed anew with the master key ${keyId}.`,
    ...(refused === 0
      ? []
      : [`${refused} do not open with their own master key: they were changed or moved.`]),
    ...(left.length === 0 ? ['Nothing names another master key.'] : ['Not all of them:', ...left]),
  ];
}
