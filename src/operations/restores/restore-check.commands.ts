// `countersign restore-check`: does and verifies what a restored database needs, a line for each part.
import type { Command } from 'commander';
import { z } from 'zod';
import type { AuditVerificationService } from '../../audit/audit-verification.service.ts';
import type { Anchor } from '../../audit/verification.ts';
import type { TenantService } from '../../identity/tenants/tenant.service.ts';
import { parseInput } from '../../platform/command-input.ts';
import { type CommandOutput, createProgress, useServices } from '../../platform/command-services.ts';
import { describeFinding, type OpenDoctor, recordMends } from '../doctor/doctor.commands.ts';
import { isWell } from '../doctor/finding.ts';
import { describeFinding as describeAuditFinding, readAnchors } from '../operators/audit.commands.ts';
import { readIntent, withName } from '../operators/operator.commands.ts';
import type { Preparation, RestoreCheckService } from './restore-check.service.ts';

type Services = {
  restores: RestoreCheckService;
  tenants: Pick<TenantService, 'list'>;
  auditVerification: AuditVerificationService;
  close: () => Promise<void>;
};

type Runtime = CommandOutput<() => Promise<Services>> & { readonly openDoctor: OpenDoctor };

type Options = {
  since?: string;
  usedUntil?: string;
  checkpoint?: string;
  as?: string;
  reason?: string;
  json?: true;
};

/** How a part stands: in order, left to a person, or to be done when a worker runs. */
type Standing = 'well' | 'left' | 'later';
type Part = {
  readonly part: 'preparation' | 'workflows' | 'audit';
  readonly standing: Standing;
  readonly lines: readonly string[];
};

const askedSchema = z.object({
  since: z
    .string()
    .refine((text) => !Number.isNaN(Date.parse(text)), 'is no time')
    .transform((text) => new Date(text))
    .optional(),
  usedUntil: z
    .string()
    .regex(/^\d{1,15}$/, 'is no transaction id')
    .transform(Number)
    .optional(),
});
const NAMES = { since: '--since', usedUntil: '--used-until' };

/** The most findings of a part that are printed; all are counted. */
const MOST_SHOWN = 20;

/** Fills in `restore-check`. */
export function registerRestoreCheckCommand(command: Command, runtime: Runtime): void {
  withName(command)
    .option('--since <time>', 'until when the restored database has everything; read from it unless given')
    .option('--used-until <xid>', 'the last transaction id of before the restore; estimated unless given')
    .option('--checkpoint <file>', 'checkpoints of the audit log that were kept elsewhere; - for stdin')
    .option('--json', 'print the object only')
    .action(async (options: Options) => {
      const { since, usedUntil } = options;
      const asked = parseInput(askedSchema, { since, usedUntil }, NAMES);
      const intent = readIntent({ reason: 'countersign restore-check', ...options });
      const anchors = options.checkpoint === undefined ? [] : await readAnchors(options.checkpoint);
      const { print, tell, fail, open, openDoctor } = runtime;
      const parts: Part[] = [];
      const add = (part: Part) => {
        parts.push(part);
        if (!options.json) for (const line of part.lines) print(line);
      };
      await useServices(open, async (services) => {
        const progress = createProgress(tell);
        const prepared = await services.restores.prepare(intent, asked, (done, of) =>
          progress(() => `transaction ids: ${done} of ${of} consumed`),
        );
        add({ part: 'preparation', standing: 'well', lines: describePreparation(prepared) });
        if (await services.restores.hasWorker()) {
          add(await useServices(openDoctor, (examination) => mendWorkflows(examination, intent)));
          add(await verifyLog(services, anchors));
        } else
          add({
            part: 'workflows',
            standing: prepared.doneAt === undefined ? 'later' : 'left',
            lines: LATER,
          });
      });
      const well = parts.every(({ standing }) => standing !== 'left');
      if (options.json) print(JSON.stringify({ well, parts }));
      if (!well) fail(1);
    });
}

const LATER = [
  '– workflows and audit log: start api and one worker, and run this again, until it ends with 0.',
];

function describePreparation({ restoredTo, doneAt, ids, tenants, codes }: Preparation): string[] {
  const moment = restoredTo.toISOString();
  if (doneAt !== undefined)
    return [`✓ restored to ${moment}; ids and single use were done at ${doneAt.toISOString()}.`];
  return [
    `Restored to ${moment}. What came later is gone.`,
    `✓ transaction ids: ${ids} consumed, so that no cursor of the lost time is ahead.`,
    `✓ single use: challenges, refresh tokens, enrollment tokens, assertions, DPoP proofs and console sessions of before now are refused (${tenants} ${tenants === 1 ? 'tenant' : 'tenants'}), ${codes} console links ended.`,
    `! access tokens, and what was revoked, suspended, removed or forgotten since ${moment}, cannot be known: do it again before the gateway serves.`,
  ];
}

async function mendWorkflows(
  { doctor, acts }: Awaited<ReturnType<OpenDoctor>>,
  intent: ReturnType<typeof readIntent>,
): Promise<Part> {
  const lines: string[] = [];
  const reports = await doctor.examine(
    { fix: true },
    { onFinding: (finding, outcome) => lines.push(describeFinding(finding, outcome)) },
  );
  await recordMends(acts, intent, reports);
  const blind = reports.flatMap(({ check, failure }) => (failure === null ? [] : `${check}: ${failure}`));
  const well = isWell(reports);
  const left = well ? '' : ' Run this again; what stays is for a person: docs/operations/doctor.md.';
  return {
    part: 'workflows',
    standing: well ? 'well' : 'left',
    lines: [
      ...shorten(lines),
      ...blind.map((line) => `  could not look: ${line}`),
      `${well ? '✓' : '✗'} rows and workflows: ${lines.length} found.${left}`,
    ],
  };
}

async function verifyLog(
  { tenants, auditVerification }: Services,
  anchors: readonly Anchor[],
): Promise<Part> {
  const slugs = new Map((await tenants.list()).map(({ id, slug }) => [id, slug]));
  const lines: string[] = [];
  const onFinding = (finding: Parameters<typeof describeAuditFinding>[0]) =>
    void lines.push(`  ${describeAuditFinding(finding, slugs)}`);
  const { findings, rows } = await auditVerification.verifyAuditLog({ anchors, onFinding });
  const well = findings === 0;
  const compared =
    anchors.length === 0
      ? ' No checkpoint kept elsewhere was given (--checkpoint), and only one shows that the log was taken back.'
      : '';
  return {
    part: 'audit',
    standing: well ? 'well' : 'left',
    lines: [
      ...shorten(lines),
      `${well ? '✓' : '✗'} audit log: ${findings} findings in ${rows} rows.${compared}`,
    ],
  };
}

const shorten = (lines: readonly string[]): string[] =>
  lines.length <= MOST_SHOWN
    ? [...lines]
    : [...lines.slice(0, MOST_SHOWN), `  … ${lines.length - MOST_SHOWN} more`];
