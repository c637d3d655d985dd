// `countersign doctor`: examines the service and prints the findings. With --json, stdout has only the report.
import type { Command } from 'commander';
import { type CommandOutput, createProgress, useServices } from '../../platform/command-services.ts';
import { readIntent, withName } from '../operators/operator.commands.ts';
import type { OperatorActService } from '../operators/operator-act.service.ts';
import type { OperatorIntent } from '../operators/operator-act.ts';
import type { DoctorService } from './doctor.service.ts';
import { type CheckReport, type Finding, isWell, type Outcome } from './finding.ts';

export type OpenDoctor = () => Promise<{
  doctor: DoctorService;
  acts: Pick<OperatorActService, 'recordAlone'>;
  close: () => Promise<void>;
}>;

type Options = { fix?: true; issuers?: true; json?: true; as?: string; reason?: string };

/** The most findings in the JSON answer, and the most that are printed for one check; all are counted. */
const MOST = { listed: 1_000, shown: 20 } as const;

/** Fills in `doctor`. */
export function registerDoctorCommand(
  doctor: Command,
  { open, print, tell, fail }: CommandOutput<OpenDoctor>,
): void {
  withName(doctor)
    .option('--fix', 'mend what can be mended')
    .option('--issuers', 'ask the issuers that tenants trust for their keys too')
    .option('--json', 'print the report only')
    .action(async (options: Options) => {
      const intent = readIntent({ reason: 'countersign doctor --fix', ...options });
      await useServices(open, async (services) => {
        const fix = options.fix === true;
        const listed: (Finding & { outcome: Outcome })[] = [];
        const shown = new Map<string, number>();
        const progress = createProgress(tell);
        const reports = await services.doctor.examine(
          { fix, issuers: options.issuers === true },
          {
            onFinding: (finding, outcome) => {
              if (listed.length < MOST.listed) listed.push({ ...finding, outcome });
              const count = (shown.get(finding.check) ?? 0) + 1;
              shown.set(finding.check, count);
              if (options.json === undefined && count <= MOST.shown) print(describeFinding(finding, outcome));
            },
            onProgress: ({ check, looked }) => progress(() => `${check.name}: ${looked} looked at`),
            onCheck: (report, { title }) => {
              if (options.json === undefined) for (const line of describeReport(report, title)) print(line);
            },
          },
        );
        await recordMends(services.acts, intent, reports);
        const well = isWell(reports);
        if (options.json) print(JSON.stringify({ well, checks: reports, findings: listed.map(present) }));
        else print(conclude(reports, fix));
        if (!well) fail(1);
      });
    });
}

/** Records the changes of a run as an operator act, where there are any. */
export async function recordMends(
  acts: Pick<OperatorActService, 'recordAlone'>,
  intent: OperatorIntent,
  reports: readonly CheckReport[],
): Promise<void> {
  const data = summarize(reports);
  if (data.mended + data.asked === 0) return;
  await acts.recordAlone(intent, {
    action: 'service.mended',
    target: { type: 'service', id: 'doctor' },
    data,
  });
}

/** The changes of a run, for the log of operator acts. */
function summarize(reports: readonly CheckReport[]) {
  const changed = reports.filter(({ mended, asked }) => mended + asked > 0);
  return {
    mended: changed.reduce((total, { mended }) => total + mended, 0),
    asked: changed.reduce((total, { asked }) => total + asked, 0),
    checks: Object.fromEntries(changed.map(({ check, mended, asked }) => [check, mended + asked])),
  };
}

const OUTCOMES: Readonly<Record<Outcome, string>> = {
  mended: ' (mended)',
  asked: ' (asked for; not seen yet)',
  left: '',
};

/** A line of a finding. */
export function describeFinding({ code, subject, tenantId, detail }: Finding, outcome: Outcome): string {
  const whose = tenantId === undefined ? '' : ` of tenant ${tenantId}`;
  return `  ${code}: ${subject}${whose}: ${detail}${OUTCOMES[outcome]}`;
}

function describeReport({ looked, found, mended, failure }: CheckReport, title: string): string[] {
  if (failure !== null) return [`✗ ${title}: could not look: ${failure}`];
  const more = found > MOST.shown ? [`  … ${found - MOST.shown} more (--json lists ${MOST.listed})`] : [];
  const done = mended === 0 ? '' : `, ${mended} mended`;
  return [...more, `${found === mended ? '✓' : '✗'} ${title}: ${looked} looked at, ${found} found${done}`];
}

function conclude(reports: readonly CheckReport[], fix: boolean): string {
  const sum = (read: (report: CheckReport) => number) =>
    reports.reduce((total, report) => total + read(report), 0);
  const [found, mended, asked] = [sum((r) => r.found), sum((r) => r.mended), sum((r) => r.asked)];
  const blind = reports.filter(({ failure }) => failure !== null).length;
  const unseen = blind === 0 ? '' : ` ${blind} of ${reports.length} checks could not look.`;
  if (found === 0) return blind === 0 ? 'All is well.' : `Nothing was found.${unseen}`;
  if (!fix) return `${found} found.${unseen} countersign doctor --fix mends what can be mended.`;
  return `${found} found, ${mended} mended, ${asked} asked for, ${found - mended - asked} left.${unseen}`;
}

const present = ({ check, code, subject, tenantId, detail, outcome }: Finding & { outcome: Outcome }) => ({
  check,
  code,
  subject,
  tenant_id: tenantId ?? null,
  detail,
  outcome,
});
