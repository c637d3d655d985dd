// Helm renders the chart, and the schemas of Kubernetes itself judge what came out, strictly: a misspelt field must
// fail.
import { join } from 'node:path';
import { INSTALLATIONS, MISSPELT, render, renderMisspelt, validate } from '../../deploy/rendered-chart.mjs';
import { run } from '../standard-webhooks.mjs';

const HELM = 'v3.18.6';
const VALIDATOR = '1.37.0';

export const judge = {
  name: 'kubernetes-validate, Helm',
  version: `${VALIDATOR}, ${HELM}`,
  what: 'the chart, with few and with all values: strict schemas of Kubernetes 1.37; misspelt fields fail',
  needs: ['go', 'python3'],

  /** @param {{ say: (line: string) => void, folder: string }} context */
  async run({ say, folder }) {
    say('building Helm');
    const env = { ...process.env, GOFLAGS: '-mod=mod', GOBIN: folder };
    await run('go', ['install', `helm.sh/helm/v3/cmd/helm@${HELM}`], { env });
    await run('python3', ['-m', 'venv', join(folder, 'python')]);
    const bin = join(folder, 'python', 'bin');
    await run(join(bin, 'pip'), ['install', '--quiet', `kubernetes-validate==${VALIDATOR}`]);
    const helm = join(folder, 'helm');
    const validator = join(bin, 'kubernetes-validate');
    const result = { passed: 0, failed: 0, warnings: [] };
    const fail = (...faults) => {
      result.failed += faults.length;
      result.warnings.push(...faults);
    };
    for (const [name, values] of Object.entries(INSTALLATIONS)) {
      const { text, error } = render(helm, values);
      const { passed, faults } = validate(validator, text);
      result.passed += passed;
      if (passed === 0) fail(`${name}: nothing was rendered: ${error}`);
      else fail(...faults);
    }
    for (const fault of MISSPELT) {
      const { faults } = validate(validator, renderMisspelt(helm, INSTALLATIONS.least, fault).text);
      if (faults.length > 0) result.passed += 1;
      else fail(`${fault[2]} passed`);
    }
    return result;
  },
};
